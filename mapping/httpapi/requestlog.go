package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/redact"
)

// Names of attributes that all lines about a request have in common.
const (
	requestIDKey = "request_id"
	traceIDKey   = "trace_id"
)

// A trail holds the ids that all log lines of a request share, and the meter of the time that its
// upstreams take. Work that goes on after the request may use it.
type trail struct {
	id, trace string
	upstream  guard.Meter
}

type trailKey struct{}

// leaveTrail gives the context of a request its trail, from which [NewLogHandler] takes the
// ids. Replies from the memory tier of the cache do without, because they call nothing that
// logs, except that a failed round trip to Redis is logged at level debug without ids.
func leaveTrail(c *gin.Context, s *state) {
	if s.trail == nil {
		s.trail = &trail{id: s.id, trace: s.trace}
		ctx := context.WithValue(c.Request.Context(), trailKey{}, s.trail)
		c.Request = c.Request.WithContext(guard.WithMeter(ctx, &s.trail.upstream))
	}
	s.request.HTTP = c.Request
}

// NewLogHandler returns a handler that adds the ids of the request and of its trace to the lines
// that are logged with the context of a request, and passes them on to next. With lines,
// the log of requests formats its own lines, and writes them where next does; nil leaves all to next.
func NewLogHandler(next slog.Handler, lines *LogLines) slog.Handler { return logHandler{next, lines} }

type logHandler struct {
	slog.Handler
	lines *LogLines
}

// withIDs returns a logger whose lines have the ids of requests, and the handler below it.
func withIDs(handler slog.Handler) (log *slog.Logger, below logHandler) {
	below, ok := handler.(logHandler)
	if !ok {
		below = logHandler{handler, nil}
	}
	return slog.New(below), below
}

// Handle adds the ids and passes the record on.
func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	if t, ok := ctx.Value(trailKey{}).(*trail); ok {
		record = record.Clone()
		record.AddAttrs(slog.String(requestIDKey, t.id))
		if t.trace != "" {
			record.AddAttrs(slog.String(traceIDKey, t.trace))
		}
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs returns a handler whose lines also have attributes.
func (h logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attributes), nil}
}

// WithGroup returns a handler whose attributes are in a group.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name), nil}
}

// A lineKind holds the attributes that many lines of the request log share.
type lineKind struct {
	call, method, role, cache string
	status                    int
}

// A requestLog logs answered requests. It formats the shared attributes of each kind of lines once:
// there are few kinds, because the numbers of calls, methods, roles and statuses are limited.
type requestLog struct {
	next      slog.Handler      // for lines that have the ids already
	lines     *LogLines         // nil if next formats all lines
	resources map[string]string // by call
	kinds     atomic.Pointer[map[lineKind]*preparedKind]
	adding    sync.Mutex // serializes changes of kinds, each of which replaces the map
}

// A preparedKind holds what the lines of a kind share.
type preparedKind struct {
	handler slog.Handler
	shared  string // the result of LogLines.shared
}

func newRequestLog(h logHandler, resources map[string]string) *requestLog {
	l := &requestLog{next: h.Handler, lines: h.lines, resources: resources}
	l.kinds.Store(&map[lineKind]*preparedKind{})
	return l
}

// prepared returns what the lines of a kind share.
func (l *requestLog) prepared(kind lineKind) *preparedKind {
	if k := (*l.kinds.Load())[kind]; k != nil {
		return k
	}
	l.adding.Lock()
	defer l.adding.Unlock()
	attributes := []slog.Attr{slog.String("call", kind.call), slog.String("method", kind.method), slog.Int("status", kind.status), slog.String("role", kind.role)}
	for _, optional := range []slog.Attr{slog.String("resource", l.resources[kind.call]), slog.String("cache", kind.cache)} {
		if optional.Value.String() != "" {
			attributes = append(attributes, optional)
		}
	}
	more := maps.Clone(*l.kinds.Load())
	more[kind] = &preparedKind{l.next.WithAttrs(attributes), l.lines.shared(attributes)}
	l.kinds.Store(&more)
	return more[kind]
}

// log logs an answered request. ctx is the request's context from before it had a trail. log builds
// the record itself, because a Logger looks up the calling line each time, which costs as much as
// three attributes.
func (l *requestLog) log(ctx context.Context, s *state) {
	r, response := s.request.HTTP, &s.response
	var room [16]slog.Attr
	attributes := append(room[:0],
		slog.String(requestIDKey, s.id),
		slog.String("path", redact.Path(r.URL.EscapedPath())),
		slog.Int("bytes", max(s.Size(), 0)),
		slog.Duration("took", s.took),
		slog.String("client", s.request.Client),
	)
	add := func(name, value string) {
		if value != "" {
			attributes = append(attributes, slog.String(name, value))
		}
	}
	add("parameters", redact.ParameterNames(r.URL.RawQuery))
	add("consumer", s.consumer)
	if response.KeyID != 0 {
		attributes = append(attributes, slog.Int64("api_key", response.KeyID))
	}
	if s.trail != nil {
		if upstream := s.trail.upstream.Time(); upstream > 0 {
			attributes = append(attributes, slog.Duration("upstream", upstream))
		}
	}
	add("problem", cmp.Or(response.Problem, response.Refusal))
	if response.Legacy {
		add("side", "legacy")
	}
	if s.broken {
		attributes = append(attributes, slog.Bool("cut", true))
	}
	add(traceIDKey, s.trace)
	kind := l.prepared(lineKind{response.Call, contract.MethodLabel(r.Method), response.Role, xCache(response.CacheOutcome), response.Status})
	if l.lines.write(s.end, kind.shared, attributes) {
		return
	}
	record := slog.NewRecord(s.end, slog.LevelInfo, requestMessage, 0)
	record.AddAttrs(attributes...)
	_ = kind.handler.Handle(ctx, record) // there is no caller to report the error to
}

// logError logs a failure that concerns a request, with its ids.
func (a *API) logError(c *gin.Context, s *state, message string, attributes ...slog.Attr) {
	leaveTrail(c, s)
	a.Log.LogAttrs(c.Request.Context(), slog.LevelError, message, attributes...)
}
