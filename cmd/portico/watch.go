package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/compare"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/exchange"
	"github.com/portico-commerce/portico/mapping/mask"
	"github.com/portico-commerce/portico/mapping/passthrough"
	"github.com/portico-commerce/portico/mapping/shadow"
)

// comparedBody bounds the bodies of answers that are compared, in bytes.
const comparedBody = 1 << 20

// errBusy is for a side that says itself that it cannot answer now.
var errBusy = errors.New("the other side cannot answer now")

// A watch is what looks at exchanges: what records them, and what asks the other side.
type watch struct {
	service  *mapping.Service
	old      *legacy
	config   *config.Config
	watchers []exchange.Watcher
	shadow   *shadow.Shadow // nil where no route is shadowed
	closing  closers
}

// newWatch starts what cfg wants watched.
func newWatch(cfg *config.Config, service *mapping.Service, old *legacy, registry prometheus.Registerer, log *slog.Logger) (*watch, error) {
	w := &watch{service: service, old: old, config: cfg}
	masker := newMasker(service.Table())
	recorders, closing, err := newRecording(cfg, masker, registry, log)
	if err != nil {
		return nil, err
	}
	w.watchers = recorders
	w.closing.add(closing)
	if !slices.ContainsFunc(old.rules, func(r passthrough.Rule) bool { return r.Shadow }) {
		return w, nil
	}
	s := cfg.Shadow
	reads, differences, err := newShadowCounts(service.Table(), registry)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	w.shadow = shadow.New(shadow.Options{
		Rules: old.rules, Ask: w.ask, Bases: w.bases,
		Compare: compare.Options{Unordered: s.Unordered, Clock: s.Clock, Ignore: s.Ignore},
		Sample:  s.Sample, MaxInFlight: s.MaxInFlight, Queue: s.Queue, Timeout: s.Timeout, Samples: s.Samples,
		Target: func(e *exchange.Exchange) string { return maskedTarget(masker, e) },
		Count:  func(call, outcome string) { reads.WithLabelValues(call, outcome).Inc() },
		Differ: func(call, field string) { differences.WithLabelValues(call, field).Inc() },
		Log:    log,
	})
	w.watchers = append(w.watchers, w.shadow)
	w.closing.add(w.shadow.Close)
	return w, nil
}

// newShadowCounts returns the metrics of what is asked of the other side. Those of
// reads are there before the first one, which otherwise would be no increase.
func newShadowCounts(table *contract.Table, registry prometheus.Registerer) (reads, differences *prometheus.CounterVec, err error) {
	reads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_shadow_reads_total",
		Help: "Reads on shadowed routes, by call and by what became of the comparison with the other side: " + strings.Join(shadow.Outcomes(), ", ") + ".",
	}, []string{"call", "outcome"})
	differences = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_shadow_differences_total",
		Help: "Differences between the answers of the two sides, by call and field.",
	}, []string{"call", "field"})
	for _, r := range table.Routes() {
		for _, outcome := range shadow.Outcomes() {
			if call := r.Calls[contract.GET]; call != "" {
				reads.WithLabelValues(call, outcome)
			}
		}
	}
	return reads, differences, errors.Join(registry.Register(reads), registry.Register(differences))
}

// around returns api, watched.
func (w *watch) around(api http.Handler, scheme func(*http.Request) string) http.Handler {
	most := int(w.config.Record.BodyBytes)
	if w.shadow != nil {
		most = max(most, comparedBody)
	}
	watched := exchange.Tap(api, exchange.Options{Table: w.service.Table(), Scheme: scheme, MaxBody: most}, w.watchers...)
	if w.shadow != nil {
		watched = w.shadow.PrioritizeClients(watched)
	}
	return watched
}

// samples serves the differences that were seen, and is nil where nobody looks for
// any.
func (w *watch) samples() http.Handler {
	if w.shadow == nil {
		return nil
	}
	return w.shadow
}

// close ends what watches, when nothing is served any more.
func (w *watch) close() error { return w.closing.close() }

// ask asks the side that has not answered e.
func (w *watch) ask(ctx context.Context, e *exchange.Exchange) (*compare.Answer, error) {
	r := e.Request.WithContext(mapping.WithShadowRead(ctx))
	r.Body = http.NoBody
	ask := w.askLegacy
	if e.Legacy {
		ask = w.askPortico
	}
	answer, err := ask(r, e)
	if err == nil && (answer.Status == http.StatusServiceUnavailable || answer.Status == http.StatusTooManyRequests) {
		err = errBusy
	}
	return answer, err
}

func (w *watch) askLegacy(r *http.Request, e *exchange.Exchange) (*compare.Answer, error) {
	ctx := r.Context()
	call := passthrough.Call{Address: e.Address, Scheme: e.Scheme}
	admission, refusal, ok := w.service.AuthorizeLegacy(ctx, r, e.Scheme, nil)
	if !ok {
		return &compare.Answer{Status: refusal.Status, ContentType: refusal.ContentType, Body: refusal.Body}, nil
	}
	call.Sign = admission.Sign
	answer, err := w.old.system.Fetch(ctx, r, call, comparedBody)
	if err != nil {
		return nil, err
	}
	return &compare.Answer{
		Status: answer.Status, ContentType: answer.Header.Get("Content-Type"), Location: answer.Header.Get("Location"), Body: answer.Body,
	}, nil
}

func (w *watch) askPortico(r *http.Request, e *exchange.Exchange) (*compare.Answer, error) {
	ctx := r.Context()
	response := w.service.Serve(ctx, r, e.Scheme, nil)
	if response.Stream != nil {
		var body bounded
		if _, err := response.Stream(ctx, &body); err != nil {
			return nil, err
		}
		response.Body = body.Bytes()
	}
	return &compare.Answer{Status: response.Status, ContentType: response.ContentType, Location: response.Location, Body: response.Body}, nil
}

// bases returns the base URLs that the answers of the two sides to e may hold. Where
// clients' signatures are kept both sides are the one that clients know.
func (w *watch) bases(e *exchange.Exchange) [2]string {
	public := w.config.PublicURL
	if public == "" {
		public = e.Scheme + "://" + e.Request.Host
	}
	if w.old.auth == mapping.UnchangedSignature {
		return [2]string{public, public}
	}
	return [2]string{w.config.Legacy.URL, public}
}

// maskedTarget returns the target of a request without what tells of a person.
func maskedTarget(masker *mask.Masker, e *exchange.Exchange) string {
	target := masker.Path(e.Route, e.Request.URL.EscapedPath())
	if query := masker.Query(e.Route, e.Request.URL.RawQuery); query != "" {
		target += "?" + query
	}
	return target
}

// bounded keeps a body that is compared.
type bounded struct{ bytes.Buffer }

// Write keeps a piece, unless the body is too long by that.
func (b *bounded) Write(piece []byte) (int, error) {
	if b.Len()+len(piece) > comparedBody {
		return 0, io.ErrShortBuffer
	}
	return b.Buffer.Write(piece)
}
