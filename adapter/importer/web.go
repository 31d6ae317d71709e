package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"

	"github.com/portico-commerce/portico/config/buildinfo"
)

const (
	// Limits of requests to the web server of the legacy store. parallelRequests is low, as
	// the server still has the shop to serve.
	parallelRequests = 8
	fileTimeout      = time.Minute
	headerTimeout    = 20 * time.Second
	// attempts is the number of requests for a file that the server does not return for a
	// transient reason.
	attempts     = 4
	firstBackoff = 200 * time.Millisecond
	maxRedirects = 3
)

// A web is a media folder that a web server serves.
type web struct {
	resty     *resty.Client
	transport *http.Transport
	base      string
	inFlight  chan struct{}
	backoff   time.Duration // before the second attempt; each further one waits four times as long
}

// openWeb sends nothing.
func openWeb(location string) (*web, error) {
	base, err := url.Parse(location)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the media folder cannot be parsed") // it could hold a password
	case base.Host == "", base.RawQuery != "", base.Fragment != "":
		return nil, errors.New("the URL of the media folder must be like https://shop.example/media")
	}
	w := &web{
		base:     strings.TrimRight(base.String(), "/"),
		inFlight: make(chan struct{}, parallelRequests),
		backoff:  firstBackoff,
		transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  headerTimeout,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    parallelRequests,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true, // or a small reply could become a large file
		},
	}
	if !strings.HasSuffix(w.base, "/"+Folder) {
		w.base += "/" + Folder
	}
	w.resty = resty.New().
		SetTransport(w.transport).
		SetTimeout(fileTimeout).
		SetDoNotParseResponse(true). // resty has no limit on responses
		SetDisableWarn(true).
		SetLogger(discardLogger{}).
		SetHeader("User-Agent", buildinfo.UserAgent("portico")).
		SetCookieJar(nil).
		SetRedirectPolicy(resty.FlexibleRedirectPolicy(maxRedirects), resty.DomainCheckRedirectPolicy(base.Hostname()))
	return w, nil
}

// read implements files. It tries again when the server is busy or fails.
func (w *web) read(ctx context.Context, name string, max int64) ([]byte, error) {
	select {
	case w.inFlight <- struct{}{}:
		defer func() { <-w.inFlight }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	backoff := w.backoff
	for attempt := 1; ; attempt++ {
		content, err := w.readOnce(ctx, name, max)
		if err == nil || errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil || attempt == attempts {
			return content, err
		}
		select {
		case <-time.After(backoff):
			backoff *= 4
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readOnce sends one request. A 4xx status counts as a missing file, except 401, 408 and 429,
// after which the file may still come.
func (w *web) readOnce(ctx context.Context, name string, max int64) ([]byte, error) {
	response, err := w.resty.R().SetContext(ctx).Get(w.base + "/" + escapePath(name))
	if err != nil {
		if response != nil && response.RawResponse != nil {
			_ = response.RawBody().Close()
		}
		return nil, fmt.Errorf("fetch %q: %w", name, withoutURL(err))
	}
	defer func() { _ = response.RawBody().Close() }()
	status := response.StatusCode()
	switch {
	case status == http.StatusOK && strings.HasSuffix(response.RawResponse.Request.URL.Path, "/"):
		return nil, fmt.Errorf("fetch %q: it is a folder: %w", name, fs.ErrNotExist)
	case status == http.StatusOK:
		content, err := readAtMost(response.RawBody(), max)
		if err != nil {
			return nil, fmt.Errorf("fetch %q: %w", name, err)
		}
		return content, nil
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout && status != http.StatusUnauthorized:
		return nil, fmt.Errorf("fetch %q: the server answers %d: %w", name, status, fs.ErrNotExist)
	default:
		return nil, fmt.Errorf("fetch %q: the server answers %d", name, status)
	}
}

// escapePath returns a path in the form that a URL has.
func escapePath(name string) string {
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}

// withoutURL returns an error of an HTTP client without the URL, which could hold a password.
func withoutURL(err error) error {
	if fault, ok := errors.AsType[*url.Error](err); ok {
		return fault.Err
	}
	return err
}

func (w *web) Close() error {
	w.transport.CloseIdleConnections()
	return nil
}

// discardLogger disables resty's log.
type discardLogger struct{}

func (discardLogger) Errorf(string, ...any) {}
func (discardLogger) Warnf(string, ...any)  {}
func (discardLogger) Debugf(string, ...any) {}
