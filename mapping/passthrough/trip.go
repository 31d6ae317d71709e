package passthrough

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/portico-commerce/portico/adapter"
)

// A trip is the way of one request to the old system, and of the reply back.
type trip struct {
	*System
	call  *Call
	body  *requestBody
	reply *replyBody // nil before there is one
}

// RoundTrip sends a request and returns the reply once its headers are there.
func (t *trip) RoundTrip(r *http.Request) (response *http.Response, err error) {
	resource, operation := t.call.resource(), t.call.operation()
	err = t.Guard(r.Context(), resource, operation, func(limited context.Context) error {
		// The context ends with the body of the reply, and limited before.
		ctx, cancel := context.WithCancelCause(r.Context())
		stop := context.AfterFunc(limited, func() { cancel(context.Cause(limited)) })
		defer stop()
		var err error
		response, err = t.transport.RoundTrip(r.WithContext(ctx))
		if err == nil && response.StatusCode == http.StatusSwitchingProtocols {
			err = errors.Join(errNoReply, response.Body.Close()) // nobody asked for that
		}
		if err == nil {
			t.reply = &replyBody{ReadCloser: response.Body, end: cancel}
			response.Body = t.reply
			return nil
		}
		cancel(err)
		if failed := t.body.failed.Load(); failed != nil {
			return fmt.Errorf("passthrough: %w: %w", ErrRequestBody, *failed)
		}
		if err := r.Context().Err(); err != nil {
			return err
		}
		return &adapter.Error{Kind: adapter.Unavailable, Op: operation + " " + resource, Err: printable(err)}
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

// broken returns why the reply ended too early, nil when it did not.
func (t *trip) broken() error {
	if t.reply == nil {
		return nil
	}
	return t.reply.failed
}

var errNoReply = errors.New("what it sent is no reply")

// printable returns an error fit for the log: one that quotes what came in place of a
// reply could show anything.
func printable(err error) error {
	var (
		network net.Error
		trust   *tls.CertificateVerificationError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &network), errors.As(err, &trust), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &record):
		return errors.New("it does not speak TLS")
	default:
		return errNoReply
	}
}

// requestBody is the body of a request, which the transport reads.
type requestBody struct {
	io.ReadCloser
	failed atomic.Pointer[error]
}

// Read reads a piece, and notes what went wrong.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.failed.Store(&err)
	}
	return n, err
}

// replyBody is the body of a reply.
type replyBody struct {
	io.ReadCloser
	end    context.CancelCauseFunc // of the context of the request
	failed error
}

// Read reads a piece, and notes what went wrong.
func (b *replyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.failed = err
	}
	return n, err
}

// Close ends the request. A body that has not been read to its end takes its
// connection with it.
func (b *replyBody) Close() error {
	err := b.ReadCloser.Close()
	b.end(nil)
	return err
}
