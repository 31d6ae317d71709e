package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/portico-commerce/portico/cmd/portico/app/migrate"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/redact"
	"github.com/portico-commerce/portico/mapping/resource"
)

// errBusy is returned if the other system answers that it cannot serve the call now.
var errBusy = errors.New("the other system cannot answer now")

// A watching holds the parts that the watchers of all rule sets share.
type watching struct {
	legacy    *program.LegacySystem
	masker    *redact.Masker
	table     *contract.Table
	registry  *prometheus.Registry
	log       *slog.Logger
	recorders *recorderPool

	shadowReads        *compare.Shadow // of the latest rule set with a shadowed route
	reads, differences *prometheus.CounterVec
}

func newWatching(table *contract.Table, legacy *program.LegacySystem, registry *prometheus.Registry, log *slog.Logger) *watching {
	masker := newMasker(table)
	return &watching{
		legacy: legacy, masker: masker, table: table, registry: registry, log: log, recorders: newRecorderPool(masker, registry, log),
	}
}

// watchers observes the exchanges of one rule set: it records them, and repeats reads at the
// other system of the migration for comparison.
type watchers struct {
	*watching
	service     *mapping.Service
	config      *config.Config
	all         []proxy.Watcher
	outside     []proxy.Watcher // of requests outside the interface
	shadowReads *compare.Shadow // nil if no route is shadowed
	counted     *compare.Shadow // with the counts of the process; nil: no route was ever shadowed
}

// newWatchers starts the recorders and shadow reads that cfg configures for rules. It starts
// nothing if it fails. It must not be called concurrently.
func (shared *watching) newWatchers(cfg *config.Config, service *mapping.Service, rules proxy.Rules) (*watchers, error) {
	w := &watchers{watching: shared, service: service, config: cfg}
	shadowed := slices.ContainsFunc(rules, func(r proxy.Rule) bool { return r.Shadow })
	if shadowed && shared.reads == nil {
		shared.reads, shared.differences = newShadowMetrics(shared.table, shared.registry)
	}
	if cfg.Record.Dir != "" {
		r, err := shared.recorders.acquire(cfg)
		if err != nil {
			return nil, err
		}
		r.recorder.SetLimits(recordLimits(cfg))
		w.all, w.outside = append(w.all, r.counter, r.recorder), append(w.outside, r.counter)
	}
	if shadowed {
		w.shadowReads = w.startShadow(rules)
		w.all = append(w.all, w.shadowReads)
	}
	w.counted = shared.shadowReads
	return w, nil
}

// startShadow starts the shadow reads of a rule set. They continue the shadow reads of the previous
// rule sets.
func (w *watchers) startShadow(rules proxy.Rules) *compare.Shadow {
	s := w.config.Shadow
	options := compare.ShadowOptions{
		Rules: rules, Ask: w.fetchOther, Bases: w.baseURLs,
		Compare: compare.Options{Unordered: s.Unordered, Clock: s.Clock, Ignore: s.Ignore},
		Sample:  s.Sample, MaxInFlight: s.MaxInFlight, Queue: s.Queue, Timeout: s.Timeout, Samples: s.Samples,
		Target:   func(e *proxy.Exchange) string { return maskedTarget(w.masker, e) },
		Consumer: func(e *proxy.Exchange) string { return redact.Consumer(e.Request) },
		Count:    func(call, outcome string) { w.reads.WithLabelValues(call, outcome).Inc() },
		Differ:   func(call, field string) { w.differences.WithLabelValues(call, field).Inc() },
		Log:      w.log,
	}
	if w.watching.shadowReads == nil {
		w.watching.shadowReads = compare.NewShadow(options)
	} else {
		w.watching.shadowReads = w.watching.shadowReads.With(options)
	}
	return w.watching.shadowReads
}

// newShadowMetrics returns the metrics of shadow reads. It initializes the counters of
// reads, because rate functions would miss the first increase of a counter that is
// missing.
func newShadowMetrics(table *contract.Table, registerer prometheus.Registerer) (reads, differences *prometheus.CounterVec) {
	register := promauto.With(registerer)
	reads = register.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_shadow_reads_total",
		Help: "Reads on shadowed routes, by call and by the outcome of the comparison with the other system: " + strings.Join(compare.ShadowOutcomes(), ", ") + ".",
	}, []string{"call", "outcome"})
	differences = register.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_shadow_differences_total",
		Help: "Differences between the answers of the two systems, by call and field.",
	}, []string{"call", "field"})
	for _, r := range table.Routes() {
		for _, outcome := range compare.ShadowOutcomes() {
			if call := r.Calls[contract.GET]; call != "" {
				reads.WithLabelValues(call, outcome)
			}
		}
	}
	return reads, differences
}

// wrap returns api, with the watchers observing its exchanges.
func (w *watchers) wrap(api http.Handler, scheme func(*http.Request) string) http.Handler {
	maxBody := int(w.config.Record.BodyBytes)
	if w.shadowReads != nil {
		maxBody = max(maxBody, compare.MaxShadowBody)
	}
	watched := proxy.Tap(api, proxy.TapOptions{Table: w.service.Table(), Scheme: scheme, MaxBody: maxBody, Outside: w.outside}, w.all...)
	if w.shadowReads != nil {
		watched = w.shadowReads.PrioritizeClients(watched)
	}
	return watched
}

// serveShadow serves samples of differences, or 404 if no route is shadowed.
func (w *watchers) serveShadow(rw http.ResponseWriter, r *http.Request) {
	if w.shadowReads == nil {
		http.NotFound(rw, r)
		return
	}
	w.shadowReads.ServeHTTP(rw, r)
}

// serveMigration serves the Status as JSON.
func (w *watchers) serveMigration(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(w.status()) // fails only if the client has disconnected
}

// status returns the state of the migration as this process sees it.
func (w *watchers) status() migrate.Status {
	status := migrate.Status{Listen: w.config.Listen, Routes: program.DescribeRoutes(w.config.Routes), Follow: followStatus(w.registry)}
	if s := w.counted; s != nil {
		status.Shadow = &migrate.ShadowStatus{Since: s.Since().UTC(), Calls: s.Counts()}
	}
	return status
}

// finish stops the watchers after the last request of their rule set, once the queued
// comparisons have ended, or when ctx ends.
func (w *watchers) finish(ctx context.Context) error {
	if w.shadowReads != nil {
		stop := context.AfterFunc(ctx, func() { _ = w.shadowReads.Close() })
		defer stop()
		w.shadowReads.Finish()
	}
	return w.closeRecorders()
}

// close stops the watchers immediately. Requests that are still in progress are not observed.
func (w *watchers) close() error {
	if w.shadowReads != nil {
		return errors.Join(w.shadowReads.Close(), w.closeRecorders())
	}
	return w.closeRecorders()
}

func (w *watchers) closeRecorders() error {
	if w.config.Record.Dir == "" {
		return nil
	}
	return w.recorders.release(w.config)
}

// fetchOther repeats the read e at the system that has not answered it.
func (w *watchers) fetchOther(ctx context.Context, e *proxy.Exchange) (*compare.Answer, error) {
	r := e.Request.WithContext(pipeline.WithShadowRead(ctx))
	r.Body = http.NoBody
	r.Header = r.Header.Clone()
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return compare.ShortensReply(name) })
	fetch := w.fetchLegacy
	if e.Legacy {
		fetch = w.servePortico
	}
	answer, err := fetch(r, e)
	if err == nil && (answer.Status == http.StatusServiceUnavailable || answer.Status == http.StatusTooManyRequests) {
		err = errBusy
	}
	return answer, err
}

// fetchLegacy sends r to the legacy store and returns the answer. If Portico refuses to forward r,
// the refusal is the answer.
func (w *watchers) fetchLegacy(r *http.Request, e *proxy.Exchange) (*compare.Answer, error) {
	ctx := r.Context()
	call := proxy.Call{Address: e.Address, Scheme: e.Scheme}
	if w.config.PublicHTTPS() {
		call.Scheme = "https" // as for the requests that are forwarded
	}
	admission, refusal, ok := w.service.AuthorizeLegacy(ctx, &resource.Request{HTTP: r, Scheme: e.Scheme}, nil)
	if !ok {
		return &compare.Answer{Status: refusal.Status, ContentType: refusal.ContentType, Body: refusal.Body}, nil
	}
	call.Sign = admission.Sign
	answer, err := w.legacy.Client.Fetch(ctx, r, call, compare.MaxShadowBody)
	if err != nil {
		return nil, err
	}
	return &compare.Answer{
		Status: answer.Status, ContentType: answer.Header.Get("Content-Type"), Location: answer.Header.Get("Location"), Body: answer.Body,
	}, nil
}

// servePortico lets Portico answer r and returns the answer. It fails if a streamed body
// is longer than [compare.MaxShadowBody].
func (w *watchers) servePortico(r *http.Request, e *proxy.Exchange) (*compare.Answer, error) {
	ctx := r.Context()
	response := w.service.Serve(ctx, &resource.Request{HTTP: r, Scheme: e.Scheme}, nil)
	if response.Stream != nil {
		var body limitedBuffer
		if _, err := response.Stream(ctx, &body); err != nil {
			return nil, err
		}
		response.Body = body.Bytes()
	}
	return &compare.Answer{Status: response.Status, ContentType: response.ContentType, Location: response.Location, Body: response.Body}, nil
}

// baseURLs returns the base URLs that the answers of the two systems to e may contain: first the
// legacy store, then Portico. If clients' signatures are forwarded unchanged, both systems use the
// public URL.
func (w *watchers) baseURLs(e *proxy.Exchange) [2]string {
	public := w.config.PublicURL
	if public == "" {
		public = e.Scheme + "://" + e.Request.Host
	}
	if w.legacy.Auth == mapping.UnchangedSignature {
		return [2]string{public, public}
	}
	return [2]string{w.config.Legacy.URL, public}
}

// maskedTarget returns path and query of a request, with personal data masked.
func maskedTarget(masker *redact.Masker, e *proxy.Exchange) string {
	target := masker.Path(e.Route, e.Request.URL.EscapedPath())
	if query := masker.Query(e.Route, e.Request.URL.RawQuery); query != "" {
		target += "?" + query
	}
	return target
}

// A limitedBuffer collects a body of up to [compare.MaxShadowBody] bytes.
type limitedBuffer struct{ bytes.Buffer }

// Write appends piece, or fails with io.ErrShortBuffer if the body would become too long.
func (b *limitedBuffer) Write(piece []byte) (int, error) {
	if b.Len()+len(piece) > compare.MaxShadowBody {
		return 0, io.ErrShortBuffer
	}
	return b.Buffer.Write(piece)
}

// followStatus returns how far a process follows the legacy store, from its metrics, or nil if it
// does not.
func followStatus(registry prometheus.Gatherer) *plan.Follow {
	families, err := registry.Gather()
	if err != nil {
		return nil
	}
	gauges := map[string]float64{}
	for _, family := range families {
		if metrics := family.GetMetric(); len(metrics) == 1 && metrics[0].Gauge != nil {
			gauges[family.GetName()] = metrics[0].Gauge.GetValue()
		}
	}
	if gauges["portico_follow_leader"] != 1 {
		return nil
	}
	follow := &plan.Follow{LagSeconds: new(gauges["portico_follow_lag_seconds"])}
	if at := gauges["portico_follow_last_comparison_timestamp_seconds"]; at > 0 {
		follow.Compared = time.Unix(int64(at), 0).UTC()
	}
	return follow
}
