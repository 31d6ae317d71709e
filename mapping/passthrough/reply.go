package passthrough

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
)

// reply is where the reply of the old system is written.
type reply struct {
	http.ResponseWriter
	header http.Header // of the reply, until it is written
	begun  bool
	failed error // of the client's side
}

// Header returns the headers of the reply; once they are written, its trailers.
func (w *reply) Header() http.Header {
	if w.begun {
		return w.ResponseWriter.Header()
	}
	return w.header
}

// WriteHeader writes the headers, and none that the old system has not sent. Interim
// replies are not passed on: the server sends its own 100 Continue.
func (w *reply) WriteHeader(status int) {
	if status < http.StatusOK {
		return
	}
	w.begun = true
	header := w.ResponseWriter.Header()
	for _, name := range [...]string{"Content-Type", "Date"} {
		header[name] = nil // the server adds none
	}
	maps.Copy(header, w.header)
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a piece of the body, and notes what went wrong.
func (w *reply) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err != nil {
		w.failed = err
	}
	return n, err
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// An Answer is a whole reply of the old system.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// sharedAgent is the User-Agent of requests whose reply is for several clients. Some
// firewalls refuse requests without one.
const sharedAgent = "portico"

// ErrLong is wrapped by the error of [System.Ask] for a reply over the bound.
var ErrLong = errors.New("the reply is too long")

// Ask sends r without its body, and returns the whole reply, whose body has at most so
// many bytes. Errors are those of [System.Serve].
func (s *System) Ask(ctx context.Context, r *http.Request, call Call, most int) (*Answer, error) {
	asked := r.WithContext(ctx)
	asked.Body, asked.ContentLength, asked.TransferEncoding, asked.Trailer = http.NoBody, 0, nil, nil
	w := &answerWriter{Answer: Answer{Header: http.Header{}}, most: most}
	if err := s.Serve(ctx, w, asked, call); err != nil {
		return nil, err
	}
	w.Answer.Body = w.body.Bytes()
	return &w.Answer, nil
}

// AskForAll is [System.Ask] for a reply that other clients get too. It depends on the
// method, target and Host of r, call.Scheme, [Call.ForwardedHost] and the headers named
// here, because nothing else is sent.
func (s *System) AskForAll(ctx context.Context, r *http.Request, call Call, headers []string, most int) (*Answer, error) {
	asked := r.WithContext(ctx)
	asked.Header = http.Header{"User-Agent": {sharedAgent}}
	for _, name := range append(headers, "X-Forwarded-Host") { // which is removed unless a trusted proxy says it
		if values := r.Header[name]; len(values) > 0 {
			asked.Header[name] = values
		}
	}
	call.shared = true
	return s.Ask(ctx, asked, call, most)
}

// answerWriter keeps a reply.
type answerWriter struct {
	Answer
	body bytes.Buffer
	most int
}

// Header returns the headers of the reply.
func (w *answerWriter) Header() http.Header { return w.Answer.Header }

// WriteHeader notes the status.
func (w *answerWriter) WriteHeader(status int) { w.Status = status }

// Write keeps a piece of the body, unless it is too long by that.
func (w *answerWriter) Write(p []byte) (int, error) {
	if w.body.Len()+len(p) > w.most {
		return 0, ErrLong
	}
	return w.body.Write(p)
}

// Flush has nothing to do.
func (w *answerWriter) Flush() {}
