package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/portico-commerce/portico/config/buildinfo"
)

const (
	// attempts is the number of times that a batch is sent that the collector cannot take
	// yet.
	attempts = 3
	// defaultPause is the time between two attempts, unless the collector names another one,
	// which counts up to maxPause.
	defaultPause = time.Second
	maxPause     = 5 * time.Second
	// maxAnswer is the maximum length of the collector's answer that is read, in bytes.
	maxAnswer = 64 << 10
)

// A client posts spans to a collector. It implements otlptrace.Client.
type client struct {
	endpoint string
	header   http.Header
	pause    time.Duration // between two attempts
	http     *http.Client
}

func newClient(endpoint string, header http.Header) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost = 1
	return &client{endpoint, header, defaultPause, &http.Client{
		Transport: transport,
		// The header may hold credentials for the endpoint only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start does nothing.
func (c *client) Start(context.Context) error { return nil }

// Stop closes the connection.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. Its errors contain neither the endpoint nor the header.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// ExportTraceServiceRequest, which the protocol demands, has the same encoding, but its
	// package needs gRPC.
	message, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	packed := gzip.NewWriter(&body)
	if _, err := packed.Write(message); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		wait, err := c.post(ctx, body.Bytes())
		if err == nil || wait == 0 || attempt == attempts {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// post sends a body once. For a transient error it returns the time to wait before the next
// attempt.
func (c *client) post(ctx context.Context, body []byte) (wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the endpoint is not a URL")
	}
	request.Header = c.header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("User-Agent", buildinfo.UserAgent("portico"))
	response, err := c.http.Do(request)
	if err != nil {
		if inURL, ok := errors.AsType[*url.Error](err); ok {
			err = inURL.Err
		}
		return c.pause, err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection can be used again
	switch status := response.StatusCode; status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return retryAfter(response.Header, c.pause), fmt.Errorf("the collector answered %d", status)
	default:
		if status < 200 || status > 299 {
			return 0, fmt.Errorf("the collector answered %d", status)
		}
		return 0, nil
	}
}

// retryAfter returns the pause that an answer asks for, or otherwise the given one.
func retryAfter(header http.Header, pause time.Duration) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return pause
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, maxPause)
}
