// Package exchange copies requests and the replies to them as they go by, for
// whoever watches: what is recorded, and what is asked of the other side of a
// migration.
//
// # Principles
//
//  1. Who watches costs the client nothing: a watcher is told when the handler has
//     written the whole reply, and must not wait for anything.
//  2. Bodies are copied up to a bound, and only where a watcher wants them. A copy
//     that is not whole says so.
//  3. What went by is not changed by a byte.
//
// # How it is tested
//
// Over HTTP, with bodies around the bound, streams, replies that break off, and
// watchers that differ in what they want.
package exchange

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
)

// An Exchange is a request and its reply. Nothing in it may be changed.
type Exchange struct {
	contract.Address // of the request

	Start time.Time
	Took  time.Duration // from the headers of the request to the last byte of the reply
	// Scheme is http or https, as the client used it.
	Scheme string
	// Request is the request without its body, which has been read.
	Request     *http.Request
	RequestBody Copy

	Status      int // of the reply, 0 when there was none
	ReplyHeader http.Header
	ReplyBody   Copy
	// Broken: the reply has ended in the middle of its body.
	Broken bool

	// Role is the name of the caller's role, empty when the other side was asked,
	// which alone knows.
	Role string
	// Legacy: the old system has answered.
	Legacy bool
}

// A Copy is a body, or its beginning.
type Copy struct {
	Bytes []byte
	Cut   bool // there was more, or the body was not read to its end
}

// A Want says how much of an exchange a watcher wants.
type Want uint8

const (
	Nothing Want = iota
	Heads        // all but the bodies
	Bodies       // all
)

// A Watcher looks at exchanges. It is safe for concurrent use.
type Watcher interface {
	// Wants is asked before the request is served.
	Wants(r *http.Request, a *contract.Address) Want
	// Saw is told afterwards, if it wanted anything. It must not wait.
	Saw(*Exchange)
}

// Options are what [Tap] needs.
type Options struct {
	Table *contract.Table
	// Scheme tells how the client of a request speaks to the outermost server.
	Scheme func(*http.Request) string
	// MaxBody bounds the copy of a body, in bytes.
	MaxBody int
	Now     func() time.Time // nil is time.Now
}

// Tap returns next, watched. Requests outside the interface are not. Without
// watchers it is next itself.
func Tap(next http.Handler, o Options, watchers ...Watcher) http.Handler {
	if len(watchers) == 0 {
		return next
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &tap{next, o, watchers}
}

type tap struct {
	next http.Handler
	Options
	watchers []Watcher
}

// ServeHTTP serves r by the next handler and tells the watchers.
func (t *tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	address, ok := t.Table.Address(r.Method, r.URL.EscapedPath())
	if !ok {
		t.next.ServeHTTP(w, r)
		return
	}
	watching, most := make([]Watcher, 0, len(t.watchers)), Nothing
	for _, watcher := range t.watchers {
		if want := watcher.Wants(r, &address); want > Nothing {
			watching, most = append(watching, watcher), max(most, want)
		}
	}
	if most == Nothing {
		t.next.ServeHTTP(w, r)
		return
	}
	e := &Exchange{Address: address, Start: t.Now(), Scheme: t.Scheme(r), Request: r}
	kept := 0
	if most == Bodies {
		kept = t.MaxBody
	}
	served := r.WithContext(context.WithValue(r.Context(), key{}, e))
	body := &reading{ReadCloser: r.Body, most: kept}
	served.Body = body
	writer := &writing{ResponseWriter: w, exchange: e, most: kept}
	e.Broken = true // unless the handler returns
	defer func() {
		e.Took = t.Now().Sub(e.Start)
		if e.Status == 0 && !e.Broken { // the server answers in place of a silent handler
			e.Status, e.ReplyHeader = http.StatusOK, w.Header().Clone()
		}
		e.RequestBody = body.end(r.ContentLength == 0)
		for _, watcher := range watching {
			watcher.Saw(e)
		}
	}()
	t.next.ServeHTTP(writer, served)
	e.Broken = false
}

type key struct{}

// Tell completes the exchange that is being watched in ctx, if there is one, with
// what only who answers knows.
func Tell(ctx context.Context, role string, legacy bool) {
	if e, ok := ctx.Value(key{}).(*Exchange); ok {
		e.Role, e.Legacy = role, legacy
	}
}

// keep adds a piece of a body to its copy.
func (c *Copy) keep(piece []byte, most int) {
	room := most - len(c.Bytes)
	if len(piece) > room {
		piece, c.Cut = piece[:max(room, 0)], true
	}
	c.Bytes = append(c.Bytes, piece...)
}

// reading is the body of a request, copied while it is read. Who sends it on may
// read when the handler has long returned.
type reading struct {
	io.ReadCloser
	most int

	mu    sync.Mutex // held around what follows
	copy  Copy
	whole bool // the end has been read
	ended bool // the copy is handed over, and grows no more
}

// Read reads a piece of the body and copies it.
func (r *reading) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.copy.keep(p[:n], r.most)
		r.whole = r.whole || err == io.EOF
	}
	return n, err
}

// end returns the copy; empty says that there was nothing to read.
func (r *reading) end(empty bool) Copy {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.copy.Cut = r.copy.Cut || !r.whole && !empty
	return r.copy
}

// writing is where a reply is written, which is copied.
type writing struct {
	http.ResponseWriter
	exchange *Exchange
	most     int
}

// WriteHeader writes the status, and notes what the headers are.
func (w *writing) WriteHeader(status int) {
	if w.exchange.Status == 0 && status >= http.StatusOK {
		w.exchange.Status, w.exchange.ReplyHeader = status, w.Header().Clone()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a piece of the body and copies it.
func (w *writing) Write(p []byte) (int, error) {
	if w.exchange.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.exchange.ReplyBody.keep(p[:n], w.most)
	return n, err
}

// Flush sends what has been written, the headers at least.
func (w *writing) Flush() {
	if w.exchange.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the writer that is copied, for http.ResponseController.
func (w *writing) Unwrap() http.ResponseWriter { return w.ResponseWriter }
