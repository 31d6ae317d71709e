package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

const (
	resetTimeout = 2 * time.Minute
	shownOutput  = 1000 // bytes of what a reset that failed said last
)

// newReset returns what puts the store back: a POST to a URL, with the token if there
// is one, or a command of the shell.
func newReset(spec, token string, config *tls.Config) func(context.Context) error {
	reset := func(ctx context.Context) error { return command(ctx, spec) }
	if strings.HasPrefix(spec, "http://") || strings.HasPrefix(spec, "https://") {
		client := &http.Client{
			Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment},
			// Followed, a POST becomes a GET, which resets nothing.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		reset = func(ctx context.Context) error { return post(ctx, client, spec, token) }
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, resetTimeout)
		defer cancel()
		if err := reset(ctx); err != nil {
			return fmt.Errorf("--reset: %w", err)
		}
		return nil
	}
}

func post(ctx context.Context, client *http.Client, url, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(io.LimitReader(response.Body, shownOutput))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s answers %s: give its token in %sRESET_TOKEN", url, response.Status, environment)
	case response.StatusCode < 200 || response.StatusCode > 299:
		return fmt.Errorf("%s answers %s: %q", url, response.Status, strings.TrimSpace(string(said)))
	}
	return nil
}

func command(ctx context.Context, line string) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.WaitDelay = time.Second // for what the shell started and left behind
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %q", errors.Join(err, ctx.Err()), strings.TrimSpace(string(said.last)))
	}
	return nil
}

// A tail keeps the end of what is written to it.
type tail struct{ last []byte }

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.last = append(t.last, b...)
	t.last = t.last[max(0, len(t.last)-shownOutput):]
	return len(b), nil
}
