package console

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/config"
)

// A program is metrics of a program.
type program struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration prometheus.Histogram
	lookups  *prometheus.CounterVec
	shadow   *prometheus.CounterVec
}

func newProgram() *program {
	p := &program{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "portico_requests_total"}, []string{"call", "cause"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "portico_request_duration_seconds", Buckets: []float64{.01, .1, 1}}),
		lookups:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "portico_cache_lookups_total"}, []string{"tier", "outcome"}),
		shadow:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "portico_shadow_reads_total"}, []string{"call", "outcome"}),
	}
	p.registry.MustRegister(p.requests, p.duration, p.lookups, p.shadow)
	return p
}

// TestOverview: the page shows the rates of the last minute, the breakers and the settings.
func TestOverview(t *testing.T) {
	t.Parallel()
	p := newProgram()
	s := newSite(t, func(o *Options) {
		o.Gatherer = p.registry
		o.Ready = func(context.Context) (bool, string) { return false, "upstream unavailable" }
		o.Changed = func() []config.Row {
			return []config.Row{{Name: "ops.token", Value: "(set)", Source: "portico.yaml:3"}, {Name: "listen", Value: `<b>:1`, Default: ":2"}}
		}
		o.Breakers = func() []Breaker {
			return []Breaker{{Name: "sql", State: "open", Changes: []BreakerChange{{Time: time.Unix(0, 0), To: "open"}}}, {Name: "redis", State: "half_open"}}
		}
	})
	s.console.history.take()
	s.clock.advance(time.Minute)
	p.requests.WithLabelValues("getProduct", "").Add(57)
	p.requests.WithLabelValues("getProduct", "server").Add(3)
	p.requests.WithLabelValues("getProduct", "client").Add(60)
	for range 99 {
		p.duration.Observe(0.005)
	}
	p.duration.Observe(0.5)
	p.lookups.WithLabelValues("memory", "hit").Add(30)
	p.lookups.WithLabelValues("memory", "miss").Add(10)
	s.console.history.take()
	page := s.get("/").text
	for _, want := range []string{
		"upstream unavailable", "not ready", "<dd>2.0</dd>", "<dd>2.5%</dd>", "<dd>75%</dd>", "<dd>120</dd>", "half-open", "since 1970-01-01",
		"<code>ops.token</code>", "(set)", "&lt;b&gt;:1", "<polyline", "Requests a second in the last hour: 2.0 in the last minute, at most 2.0.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// TestQuantile: quantiles are interpolated within a bucket, as Prometheus does.
func TestQuantile(t *testing.T) {
	t.Parallel()
	none := sample{durations: []bucket{{.1, 0}, {1, 0}, {math.Inf(1), 0}}}
	some := sample{durations: []bucket{{.1, 50}, {1, 90}, {math.Inf(1), 100}}}
	for _, tt := range []struct {
		name     string
		from, to sample
		share    float64
		want     float64
		ok       bool
	}{
		{"nothing", none, none, .5, 0, false},
		{"no buckets", sample{}, sample{}, .5, 0, false},
		{"first bucket", none, some, .25, .05, true},
		{"upper edge", none, some, .5, .1, true},
		{"second bucket", none, some, .7, .55, true},
		{"beyond the last bound", none, some, .99, 1, true},
		{"from the start", sample{}, some, .5, .1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := quantile(tt.from, tt.to, tt.share); ok != tt.ok || math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("%g %t, want %g %t", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// TestHistoryIsBounded: the samples of the last hour remain.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Unix(0, 0)}
	h := newHistory(newProgram().registry, clock.Now)
	for range maxSamples + 10 {
		h.take()
		clock.advance(sampleEvery)
	}
	if len(h.samples) != maxSamples || h.samples[0].at != time.Unix(100, 0) {
		t.Errorf("%d samples since %v", len(h.samples), h.samples[0].at)
	}
}

// TestLatestSample: pages that are requested within a second show the same figures, which are
// gathered once.
func TestLatestSample(t *testing.T) {
	t.Parallel()
	clock, gathered := &clock{now: time.Unix(0, 0)}, 0
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "portico_requests_in_flight"}, func() float64 { gathered++; return float64(gathered) }))
	h := newHistory(registry, clock.Now)
	for i, after := range []time.Duration{0, latestAge / 2, latestAge / 2, latestAge} {
		clock.advance(after)
		samples := h.all()
		if want := []float64{1, 1, 2, 3}[i]; samples[len(samples)-1].inFlight != want {
			t.Errorf("look %d: %g, want %g", i, samples[len(samples)-1].inFlight, want)
		}
	}
}

// BenchmarkOverview: the first page, with an hour of samples.
func BenchmarkOverview(b *testing.B) {
	p := newProgram()
	s := newSite(b, func(o *Options) { o.Gatherer = p.registry })
	for range maxSamples {
		p.requests.WithLabelValues("getProduct", "").Add(57)
		p.duration.Observe(0.005)
		p.lookups.WithLabelValues("memory", "hit").Add(30)
		s.console.history.take()
		s.clock.advance(sampleEvery)
	}
	benchmarkPage(b, s.console, "/")
}

// TestCharts: a chart begins at the first known value, is interrupted at unknown ones, and fits
// into its area.
func TestCharts(t *testing.T) {
	t.Parallel()
	at := func(minute int, requests, failed float64) sample {
		return sample{at: time.Unix(int64(minute)*60, 0), requests: requests, failed: failed}
	}
	count := func(from, to sample) (float64, bool) { return rate(from, to, requestsOf), true }
	share := func(from, to sample) (float64, bool) { return ratio(from, to, failedOf, requestsOf) }
	for _, tt := range []struct {
		name    string
		samples []sample
		of      func(from, to sample) (float64, bool)
		points  string
		now     string
	}{
		{"nothing yet", []sample{at(60, 5, 0)}, count, "", "–"},
		{"a minute", []sample{at(59, 0, 0), at(60, 600, 0)}, count, "298.0,0.0 300.0,0.0", "10"},
		{"growing", []sample{at(58, 0, 0), at(59, 300, 0), at(60, 900, 0)}, count, "294.9,30.0 300.0,0.0", "10"},
		{"after a restart of a counter", []sample{at(58, 900, 0), at(59, 0, 0), at(60, 0, 0)}, count, "294.9,60.0 300.0,60.0", "0"},
		{"interrupted", []sample{at(57, 0, 0), at(58, 10, 5), at(59, 10, 5), at(60, 20, 15)}, share, "287.8,30.0 289.8,30.0|298.0,0.0 300.0,0.0", "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := newChart("x", tt.samples, tt.of, func(v float64) string { return fmt.Sprintf("%g", v) }, 0.01)
			if got.Points != tt.points || got.Now != tt.now {
				t.Errorf("%q, now %q", got.Points, got.Now)
			}
		})
	}
}

// TestEvents: a stream sends the figures immediately and ends with the session and with the
// console, and the number of streams is bounded.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, withToken)
	s.logIn()
	open := func() *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/console/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", eventStream)
		response, err := s.browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	var first *bufio.Scanner
	for i := range maxStreams {
		response := open()
		lines := bufio.NewScanner(response.Body)
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "data: ") || response.Header.Get("Content-Type") != eventStream {
			t.Fatalf("stream %d: %d %q", i, response.StatusCode, lines.Text())
		}
		if i == 0 {
			first = lines
		}
	}
	if got := open(); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", got.StatusCode)
	}
	s.console.Close()
	for first.Scan() { // to its end
		if line := first.Text(); line != "" && !strings.HasPrefix(line, "data: ") {
			t.Errorf("line %q", line)
		}
	}
	s.browser = newBrowser(t)
	if got := open(); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a session: %d", got.StatusCode)
	}
}
