package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
)

// An Exchange is a request and its reply. Watchers must not modify it.
type Exchange struct {
	contract.Address // of the request

	Start time.Time
	// Scheme is http or https, as the client used it.
	Scheme string
	// Request is the request without its body, which has been read.
	Request     *http.Request
	RequestBody ReplyCopy

	Status      int // of the reply, 0 when there was none
	ReplyHeader http.Header
	ReplyBody   ReplyCopy
	// Broken: the reply ended in the middle of its body.
	Broken bool

	// Role is the name of the caller's role. It is empty if the legacy store answered, because
	// Portico does not know the role then.
	Role string
	// Legacy: the legacy store answered.
	Legacy bool
}

// The errors of [Exchange.PlainReply].
var (
	errEncoding = errors.New("exchange: the content coding of the reply is unknown")
	errTooLong  = errors.New("exchange: the body of the reply is too long")
)

// PlainReply returns the body of the reply without its content coding, of at most most bytes.
func (e *Exchange) PlainReply(most int) ([]byte, error) {
	switch encoding := e.ReplyHeader.Get("Content-Encoding"); {
	case encoding == "" || len(e.ReplyBody.Bytes) == 0:
		return e.ReplyBody.Bytes, nil
	case !strings.EqualFold(encoding, "gzip"):
		return nil, errEncoding
	}
	unpacking, err := gzip.NewReader(bytes.NewReader(e.ReplyBody.Bytes))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(unpacking, int64(most)+1))
	if err == nil && len(body) > most {
		err = errTooLong
	}
	return body, err
}

// A ReplyCopy is a copy of a body or of its beginning.
type ReplyCopy struct {
	Bytes []byte
	Cut   bool // the copy is incomplete, or the body was not read to its end
}

// A CopyWant is the part of an exchange that a watcher wants.
type CopyWant uint8

// The parts of an exchange. Nothing is the zero Want.
const (
	WantNothing CopyWant = iota
	Heads                // everything except the bodies
	Bodies               // everything
)

// A Watcher observes exchanges. It must be safe for concurrent use.
type Watcher interface {
	// Wants is called before the request is served.
	Wants(r *http.Request, a *contract.Address) CopyWant
	// Observe is called after the reply if Wants returned more than Nothing. It must not
	// block.
	Observe(*Exchange)
}

// TapOptions are the settings of [Tap].
type TapOptions struct {
	Table *contract.Table
	// Outside are the watchers of requests outside the interface. The other watchers do not get
	// these requests.
	Outside []Watcher
	// Scheme returns the scheme that the client used to reach the outermost server.
	Scheme func(*http.Request) string
	// MaxBody is the maximum size of a copied body in bytes.
	MaxBody int
	Now     func() time.Time // nil is time.Now
}

// Tap returns a handler that serves requests with next and passes exchanges to the watchers.
// Requests outside the interface go to o.Outside instead. Without any watchers Tap returns next
// itself.
func Tap(next http.Handler, o TapOptions, watchers ...Watcher) http.Handler {
	if len(watchers)+len(o.Outside) == 0 {
		return next
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &tap{next, o, watchers}
}

type tap struct {
	next http.Handler
	TapOptions
	watchers []Watcher
}

// ServeHTTP serves r with the next handler and then calls the watchers.
func (t *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	address, ok := t.Table.Address(r.Method, r.URL.EscapedPath())
	watchers := t.watchers
	if !ok {
		watchers = t.Outside
	}
	watching, most := make([]Watcher, 0, len(watchers)), WantNothing
	for _, watcher := range watchers {
		if want := watcher.Wants(r, &address); want > WantNothing {
			watching, most = append(watching, watcher), max(most, want)
		}
	}
	if most == WantNothing {
		t.next.ServeHTTP(w, r)
		return
	}
	e := &Exchange{Address: address, Start: t.Now(), Scheme: t.Scheme(r), Request: r}
	kept := 0
	if most == Bodies {
		kept = t.MaxBody
	}
	served := r.WithContext(context.WithValue(r.Context(), key{}, e))
	body := &bodyCopier{ReadCloser: r.Body, most: kept}
	served.Body = body
	writer := &replyCopier{ResponseWriter: w, exchange: e, most: kept}
	e.Broken = true // until the handler returns normally
	defer func() {
		if e.Status == 0 && !e.Broken { // the server sends 200 if the handler writes nothing
			e.Status, e.ReplyHeader = http.StatusOK, w.Header().Clone()
		}
		e.RequestBody = body.end(r.ContentLength == 0)
		for _, watcher := range watching {
			watcher.Observe(e)
		}
	}()
	t.next.ServeHTTP(writer, served)
	e.Broken = false
}

type key struct{}

// SetResult adds facts that only the handler knows to the exchange that is being observed in
// ctx, if any: the name of the caller's role and whether the legacy store answered.
func SetResult(ctx context.Context, role string, legacy bool) {
	if e, ok := ctx.Value(key{}).(*Exchange); ok {
		e.Role, e.Legacy = role, legacy
	}
}

// add appends a piece of a body up to the limit.
func (c *ReplyCopy) add(piece []byte, most int) {
	room := most - len(c.Bytes)
	if len(piece) > room {
		piece, c.Cut = piece[:max(room, 0)], true
	}
	c.Bytes = append(c.Bytes, piece...)
}

// bodyCopier is the body of a request, copied while it is read. A handler that forwards the
// request may continue reading after it has returned.
type bodyCopier struct {
	io.ReadCloser
	most int

	mu    sync.Mutex // protects the fields below
	copy  ReplyCopy
	whole bool // the end has been read
	ended bool // the copy has been handed over and must not change
}

// Read reads a piece of the body and copies it.
func (r *bodyCopier) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.copy.add(p[:n], r.most)
		r.whole = r.whole || err == io.EOF
	}
	return n, err
}

// end returns the copy; empty means that the request has no body.
func (r *bodyCopier) end(empty bool) ReplyCopy {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.copy.Cut = r.copy.Cut || !r.whole && !empty
	return r.copy
}

// replyCopier is a response writer that copies the reply.
type replyCopier struct {
	http.ResponseWriter
	exchange *Exchange
	most     int
}

// WriteHeader writes the status and records the headers.
func (w *replyCopier) WriteHeader(status int) {
	if w.exchange.Status == 0 && status >= http.StatusOK {
		w.exchange.Status, w.exchange.ReplyHeader = status, w.Header().Clone()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a piece of the body and copies it.
func (w *replyCopier) Write(p []byte) (int, error) {
	if w.exchange.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.exchange.ReplyBody.add(p[:n], w.most)
	return n, err
}

// Flush sends the headers and everything that has been written.
func (w *replyCopier) Flush() {
	if w.exchange.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the underlying writer for http.ResponseController.
func (w *replyCopier) Unwrap() http.ResponseWriter { return w.ResponseWriter }
