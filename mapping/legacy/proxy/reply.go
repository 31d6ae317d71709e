package proxy

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
)

// clientWriter writes the reply of the legacy store to the client.
type clientWriter struct {
	http.ResponseWriter
	header http.Header // of the reply, until WriteHeader
	begun  bool
	status int   // of the reply; 0 before WriteHeader
	failed error // first write error of the client's connection
}

// Header returns the headers of the reply and, after WriteHeader, its trailers.
func (w *clientWriter) Header() http.Header {
	if w.begun {
		return w.ResponseWriter.Header()
	}
	return w.header
}

// WriteHeader writes exactly the headers that the legacy store sent. It ignores interim replies: the
// server sends its own 100 Continue.
func (w *clientWriter) WriteHeader(status int) {
	if status < http.StatusOK {
		return
	}
	w.begun, w.status = true, status
	header := w.ResponseWriter.Header()
	for _, name := range [...]string{"Content-Type", "Date"} {
		header[name] = nil // keeps the server from adding its own
	}
	maps.Copy(header, w.header)
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a piece of the body and records the error.
func (w *clientWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err != nil {
		w.failed = err
	}
	return n, err
}

// Unwrap returns the underlying writer for http.ResponseController.
func (w *clientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// An Answer is a complete reply of the legacy store.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// ErrReplyTooLong is wrapped by the error of [System.Fetch] for a reply over the limit.
var ErrReplyTooLong = errors.New("the reply is too long")

// Fetch sends r without its body and returns the complete reply, whose body has at most most bytes.
// Errors are as in [System.Serve].
func (s *System) Fetch(ctx context.Context, r *http.Request, call Call, most int) (*Answer, error) {
	asked := r.WithContext(ctx)
	asked.Body, asked.ContentLength, asked.TransferEncoding, asked.Trailer = http.NoBody, 0, nil, nil
	return s.collect(ctx, asked, call, most)
}

// Send sends a request of Portico's own to a path below the base URL, with a JSON body unless that is
// nil, and returns the complete reply, whose body has at most most bytes. Errors are as in
// [System.Serve]: a [*Broken] one says that the legacy store may have executed the request.
func (s *System) Send(ctx context.Context, method, path string, body []byte, call Call, most int) (*Answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.URL.Scheme+"://"+s.URL.Host+s.BasePath+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.RequestURI = s.BasePath + path
	r.Header = http.Header{"User-Agent": {s.agent}, "Accept": {"application/json"}}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	call.Scheme = s.URL.Scheme
	return s.collect(ctx, r, call, most)
}

// collect sends a request and collects the reply.
func (s *System) collect(ctx context.Context, asked *http.Request, call Call, most int) (*Answer, error) {
	w := &answerWriter{Answer: Answer{Header: http.Header{}}, most: most}
	if err := s.Serve(ctx, w, asked, call); err != nil {
		return nil, err
	}
	w.Answer.Body = w.body.Bytes()
	return &w.Answer, nil
}

// FetchShared is [System.Fetch] for a reply that is shared between clients. It sends only
// the method, target and Host of r, call.Scheme, [Call.ForwardedHost] and the named headers,
// so the reply cannot depend on anything else.
func (s *System) FetchShared(ctx context.Context, r *http.Request, call Call, headers []string, most int) (*Answer, error) {
	asked := r.WithContext(ctx)
	asked.Header = http.Header{"User-Agent": {s.agent}}
	for _, name := range append(headers, "X-Forwarded-Host") { // removed later unless a trusted proxy sent it
		if values := r.Header[name]; len(values) > 0 {
			asked.Header[name] = values
		}
	}
	call.shared = true
	return s.Fetch(ctx, asked, call, most)
}

// answerWriter collects a reply.
type answerWriter struct {
	Answer
	body bytes.Buffer
	most int
}

// Header returns the headers of the reply.
func (w *answerWriter) Header() http.Header { return w.Answer.Header }

// WriteHeader records the status.
func (w *answerWriter) WriteHeader(status int) { w.Status = status }

// Write appends a piece of the body. It fails if the body gets too long.
func (w *answerWriter) Write(p []byte) (int, error) {
	if w.body.Len()+len(p) > w.most {
		return 0, ErrReplyTooLong
	}
	return w.body.Write(p)
}

// Flush does nothing.
func (w *answerWriter) Flush() {}
