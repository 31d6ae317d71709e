package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/limits"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A state holds the data of one request that the middleware and the handler share. It is the
// request's gin.ResponseWriter, where they find it without a map. If the engine has other
// middleware, which may wrap the writer and ask for the state later, it is a value of gin's
// context, too.
type state struct {
	gin.ResponseWriter
	api      *API
	shared   bool // other middleware may use the state, even after the request
	id       string
	request  resource.Request
	isCall   bool              // the request is for the API
	response resource.Response // the reply, for the log and metrics
	broken   bool              // the body of the reply is incomplete
	end      time.Time         // of the reply
	took     time.Duration
	buffer   []byte // for the body; kept for other requests
	trail    *trail // nil until something that the request calls may log
	trace    string // id of the trace, "" for none
	sampled  bool   // the trace is recorded
	consumer string // name of the consumer that the request claims, "" without a signature
}

// stateKey is the key of the state among the values of gin's context.
type stateKey struct{}

// stateOf returns the state of a request, or nil if it has none yet.
func stateOf(c *gin.Context) *state {
	if s, ok := c.Writer.(*state); ok {
		return s
	}
	value, _ := c.Get(stateKey{})
	s, _ := value.(*state)
	return s
}

// AddressOf returns the address of a request: its route in the contract, the parameters of the path
// and the method. It is the zero Address for requests that are not calls of the contract.
// Middleware that [Mount] has found in its engine can use AddressOf after c.Next, all other
// middleware and handlers at any time, on copies of c as well.
func AddressOf(c *gin.Context) contract.Address {
	s := stateOf(c)
	if s == nil || !s.isCall {
		return contract.Address{}
	}
	return *s.api.service.Address(&s.request)
}

// Unwrap returns the underlying writer for http.ResponseController.
func (s *state) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// call returns the name of a request in the log and metrics.
func (s *state) call() string {
	if !s.isCall {
		return noCall
	}
	return s.api.service.Address(&s.request).Name()
}

// release makes s, or at least its buffer, available to other requests.
func (s *state) release() {
	a, buffer := s.api, s.buffer
	if s.shared {
		s.buffer = nil
		s = new(state)
	} else {
		*s = state{}
	}
	s.api, s.buffer = a, buffer
	a.states.Put(s)
}

// begin gives a request its state. If the reply is incomplete, begin breaks the connection.
func (a *API) begin(c *gin.Context) {
	s := a.states.Get().(*state)
	s.ResponseWriter, c.Writer = c.Writer, s
	if s.shared = a.isShared(); s.shared {
		c.Set(stateKey{}, s)
	}
	c.Next()
	role := s.response.Role
	if role == mapping.UnknownRole {
		role = ""
	}
	proxy.SetResult(c.Request.Context(), role, s.response.Legacy)
	c.Writer = s.ResponseWriter
	broken, shared := s.broken, s.shared
	s.release()
	if !broken {
		return
	}
	if shared { // gin.Recovery ends the panic: then the last chunk must not reach the client
		_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Unix(1, 0))
	}
	// The reply was sent without a length: only closing the connection early tells the client
	// that the body is incomplete.
	panic(http.ErrAbortHandler)
}

// requestID repeats the id that the client or a proxy gave a request, or gives it a new one.
func (a *API) requestID(c *gin.Context) {
	const most = 64
	id := c.Request.Header.Get("X-Request-Id")
	if id == "" || len(id) > most || strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.") != "" {
		id = newID() // the other is not safe to repeat in the reply and the log
	}
	stateOf(c).id = id
	c.Writer.Header()["X-Request-Id"] = []string{id}
}

// newID returns a unique id. It is not secret.
func newID() string {
	var random [16]byte
	binary.NativeEndian.PutUint64(random[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(random[8:], rand.Uint64())
	var room [2 * len(random)]byte
	return string(hex.AppendEncode(room[:0], random[:]))
}

// accessLog logs a request that measure has timed.
func (a *API) accessLog(c *gin.Context) {
	s, ctx := stateOf(c), c.Request.Context()
	c.Next()
	if a.Log.Enabled(ctx, slog.LevelInfo) {
		a.requestLog.log(ctx, s) // whose 2 KB are not on the stack while the request is answered
	}
}

// measure times a request and counts it.
func (a *API) measure(c *gin.Context) {
	start := time.Now()
	a.Metrics.inFlight.Inc()
	defer a.Metrics.inFlight.Dec()
	s := stateOf(c)
	s.trace, s.sampled = traceOf(c.Request)
	s.consumer = claimedConsumer(c.Request)
	c.Next()
	s.end = time.Now()
	s.took = s.end.Sub(start)
	if s.response.Status == 0 { // not answered by Portico
		s.response = resource.Response{Status: s.Status(), Call: s.call()}
	}
	exemplar := ""
	if s.sampled {
		exemplar = s.trace
	}
	a.Metrics.observe(&s.response, s.broken, s.took, exemplar)
	if s.isCall {
		a.Metrics.consumers.observe(s.consumer, &s.response)
	}
	if s.response.Problem != "" && a.Refused != nil {
		a.Refused(RefusedRequest{s.request.HTTP, s.request.Client, s.response.Call, s.response.Problem})
	}
}

// recovery logs a panic and answers with an internal error, or breaks the connection if the
// reply has begun. The service itself recovers from panics in the calls of the contract.
func (a *API) recovery(c *gin.Context) {
	s := stateOf(c)
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler { //nolint:errorlint // documented value
			s.broken = true
			return
		}
		a.logError(c, s, "panic", slog.String("call", s.call()), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		c.Writer = s
		if s.broken = s.Written(); s.broken {
			return
		}
		for _, name := range []string{"Content-Encoding", "Etag", "Last-Modified"} { // of the reply that is not sent
			delete(s.Header(), name)
		}
		s.Header()["X-Request-Id"] = []string{s.id} // which forwarding removes
		response := plain(http.StatusInternalServerError, "Internal error\n", s.buffer[:0])
		if s.isCall {
			response = a.service.ErrorResponse(c.Request.Context(), &s.request, pipeline.ErrPanicked, s.buffer[:0])
		}
		a.refuse(c, response)
	}()
	c.Next()
}

// closeWhileDraining asks clients to close their connections while the program drains, so that
// a load balancer directs their next requests to another server. It closes no connections
// itself, because an apparently idle connection may have a request on its way.
func (a *API) closeWhileDraining(c *gin.Context) {
	if a.Draining != nil && a.Draining() {
		c.Header("Connection", "close") // over HTTP/2, GOAWAY
	}
}

// match decides whether a request is a call of the contract. Its route is found when something
// asks for it, which a cached reply does not. match rejects requests outside the base path.
func (a *API) match(c *gin.Context) {
	s := stateOf(c)
	s.request.HTTP, s.request.Scheme, s.request.Client = c.Request, a.Scheme(c.Request), c.ClientIP()
	a.reportUnheard(c.Request)
	if a.isOutside(c.Request) {
		a.refuse(c, plain(http.StatusNotFound, notFound, s.buffer[:0]))
		return
	}
	s.isCall = resource.IsAPIRequest(c.Request)
	if s.shared {
		leaveTrail(c, s)              // for the lines of other middleware
		a.service.Address(&s.request) // before several goroutines ask for it
	}
}

// limitGuests rejects a call of a Guest whose network exceeds its rate.
func (a *API) limitGuests(c *gin.Context) {
	s := stateOf(c)
	if !a.guests.Active() || !s.isCall || !a.service.Anonymous(c.Request) {
		return
	}
	if wait, ok := a.guests.Take(limits.Network(s.request.Client)); !ok {
		exceeded := &pipeline.RateLimitError{RetryAfter: wait}
		a.refuse(c, a.service.ErrorResponse(c.Request.Context(), &s.request, exceeded, s.buffer[:0]))
	}
}

// refuse answers a request in place of the handlers that follow.
func (a *API) refuse(c *gin.Context, response resource.Response) {
	c.Abort()
	a.reply(c, stateOf(c), response)
}

// outsideBase is the context key that marks a request outside the base path.
type outsideBase struct{}

// Below returns the handler of a shop in a subdirectory. Requests below the base path, such
// as /shop, go to inside, which sees their paths without it; RequestURI, which clients sign,
// does not change. All other requests go to api, an engine on which Portico is mounted, which
// answers them with 404. Without a base path Below returns inside.
func Below(basePath string, inside, api http.Handler) http.Handler {
	if basePath == "" {
		return inside
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.EscapedPath(), basePath)
		if !ok || rest != "" && rest[0] != '/' {
			api.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), outsideBase{}, true)))
			return
		}
		below, address := r.WithContext(r.Context()), *r.URL
		if rest == "" {
			address.Path, address.RawPath = "/", ""
		} else {
			address.Path, address.RawPath = strings.TrimPrefix(address.Path, basePath), strings.TrimPrefix(address.RawPath, basePath)
		}
		below.URL = &address
		inside.ServeHTTP(w, below)
	})
}

// BehindScripts returns a handler that passes requests to next, those behind a script of dialect d as if
// their clients had called the interface itself. withCode: the code of a store view may stand in front.
func BehindScripts(d *contract.Dialect, withCode bool, next http.Handler) http.Handler {
	if !d.Scripts {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !resource.IsAPIRequest(r) {
			if script, behind := d.CutScript(r.URL.EscapedPath(), r.URL.RawQuery, withCode); script != "" {
				r = resource.CutScript(r, script, behind)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// isOutside reports whether r is not below the base path.
func (a *API) isOutside(r *http.Request) bool {
	return a.BasePath != "" && r.Context().Value(outsideBase{}) != nil
}
