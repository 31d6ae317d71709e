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

	"github.com/portico-commerce/portico/config/buildinfo"
)

const (
	resetTimeout   = 2 * time.Minute
	maxOutputShown = 1000 // bytes shown of the last output of a failed reset
)

// newResetFunc returns the function that implements --reset. If spec is a URL, the
// function sends a POST with the bearer token, if any; otherwise it runs spec as a shell
// command.
func newResetFunc(spec, token string, config *tls.Config) func(context.Context) error {
	reset := func(ctx context.Context) error { return resetByCommand(ctx, spec) }
	if strings.HasPrefix(spec, "http://") || strings.HasPrefix(spec, "https://") {
		client := &http.Client{
			Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment},
			// Following a redirect would turn the POST into a GET, which resets nothing.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		reset = func(ctx context.Context) error { return resetByPost(ctx, client, spec, token) }
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

// resetByPost returns an error unless the reply to the POST has a 2xx status. Redirects
// are not followed.
func resetByPost(ctx context.Context, client *http.Client, url, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", buildinfo.UserAgent("contracttest"))
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	output, err := io.ReadAll(io.LimitReader(response.Body, maxOutputShown))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s answers %s: set its token in %sRESET_TOKEN", url, response.Status, envPrefix)
	case response.StatusCode < 200 || response.StatusCode > 299:
		return fmt.Errorf("%s answers %s: %q", url, response.Status, strings.TrimSpace(string(output)))
	}
	return nil
}

// resetByCommand runs a command with sh. Its error contains the end of the command's
// output.
func resetByCommand(ctx context.Context, line string) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.WaitDelay = time.Second // for background processes of the shell
	output := &tailBuffer{}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %q", errors.Join(err, ctx.Err()), strings.TrimSpace(string(output.last)))
	}
	return nil
}

// A tailBuffer keeps the last maxOutputShown bytes that are written to it.
type tailBuffer struct{ last []byte }

// Write never fails.
func (t *tailBuffer) Write(b []byte) (int, error) {
	t.last = append(t.last, b...)
	t.last = t.last[max(0, len(t.last)-maxOutputShown):]
	return len(b), nil
}
