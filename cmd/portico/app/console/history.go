package console

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

const (
	// sampleEvery is the time between two samples of the metrics.
	sampleEvery = 10 * time.Second
	// maxSamples covers an hour.
	maxSamples = int(time.Hour/sampleEvery) + 1
)

// A sample has the metrics of one moment. Counters count from the start of the process.
type sample struct {
	at               time.Time
	requests, failed float64 // failed by the fault of the server
	inFlight         float64
	durations        []bucket            // ordered by bound
	hits, lookups    float64             // of cached replies
	memory           float64             // bytes
	shadow           map[string]compared // by call; calls come from a table
}

// A bucket counts the requests that took at most so many seconds.
type bucket struct{ bound, count float64 }

// compared counts answers of two systems.
type compared struct{ answers, different float64 }

// A history has the samples of the last hour.
type history struct {
	gatherer prometheus.Gatherer
	now      func() time.Time

	mu      sync.Mutex
	samples []sample // the oldest first
	latest  sample   // for pages, at most latestAge old
}

// latestAge is the age up to which pages share a sample, so that many browsers cost no more than
// one.
const latestAge = time.Second

func newHistory(gatherer prometheus.Gatherer, now func() time.Time) *history {
	return &history{gatherer: gatherer, now: now}
}

// run takes samples until done is closed.
func (h *history) run(done <-chan struct{}) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		h.take()
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}

// take takes a sample. It lacks metrics that cannot be gathered.
func (h *history) take() {
	families, _ := h.gatherer.Gather()
	s := newSample(h.now(), families)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.samples) >= maxSamples {
		h.samples = slices.Delete(h.samples, 0, len(h.samples)-maxSamples+1)
	}
	h.samples = append(h.samples, s)
}

// all returns the samples, the oldest first, and the latest one at the end.
func (h *history) all() []sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.now(); h.latest.at.IsZero() || now.Sub(h.latest.at) >= latestAge {
		families, _ := h.gatherer.Gather()
		h.latest = newSample(now, families)
	}
	return append(slices.Clone(h.samples), h.latest)
}

// newSample returns the values that the pages show, from the metrics of a process.
func newSample(at time.Time, families []*dto.MetricFamily) sample {
	s := sample{at: at, shadow: map[string]compared{}}
	lookups := map[string]float64{}
	durations := map[float64]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch family.GetName() {
			case "portico_requests_total":
				s.requests += m.GetCounter().GetValue()
				if labelOf(m, "cause") == "server" {
					s.failed += m.GetCounter().GetValue()
				}
			case "portico_requests_in_flight":
				s.inFlight = m.GetGauge().GetValue()
			case "portico_request_duration_seconds":
				for _, b := range m.GetHistogram().GetBucket() {
					durations[b.GetUpperBound()] += float64(b.GetCumulativeCount())
				}
				durations[math.Inf(1)] += float64(m.GetHistogram().GetSampleCount())
			case "portico_cache_lookups_total":
				// A lookup counts once for each tier that it asks, and has its outcome in the last one.
				lookups[labelOf(m, "tier")] += m.GetCounter().GetValue()
				if slices.Contains([]string{"hit", "stale", "coalesced"}, labelOf(m, "outcome")) {
					s.hits += m.GetCounter().GetValue()
				}
			case "portico_shadow_reads_total":
				s.addShadow(m)
			case "process_resident_memory_bytes":
				s.memory = m.GetGauge().GetValue()
			}
		}
	}
	for _, n := range lookups {
		s.lookups = max(s.lookups, n)
	}
	for bound, count := range durations {
		s.durations = append(s.durations, bucket{bound, count})
	}
	slices.SortFunc(s.durations, func(a, b bucket) int {
		if a.bound < b.bound {
			return -1
		}
		return 1
	})
	return s
}

// addShadow adds the shadow reads of a call with an outcome.
func (s *sample) addShadow(m *dto.Metric) {
	n, call := m.GetCounter().GetValue(), labelOf(m, "call")
	if n == 0 {
		return
	}
	sum := s.shadow[call]
	switch labelOf(m, "outcome") {
	case "same":
		sum.answers += n
	case "different":
		sum.answers, sum.different = sum.answers+n, sum.different+n
	}
	s.shadow[call] = sum
}

func labelOf(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// since returns the latest sample that is at least the given time older than the last one, or the
// first sample.
func since(samples []sample, ago time.Duration) sample {
	last := samples[len(samples)-1].at
	for i := len(samples) - 1; i >= 0; i-- {
		if last.Sub(samples[i].at) >= ago {
			return samples[i]
		}
	}
	return samples[0]
}

// rate returns the increase per second between two samples of counters.
func rate(from, to sample, of func(*sample) float64) float64 {
	seconds := to.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return max(0, of(&to)-of(&from)) / seconds
}

// ratio returns the increase of part as a share of the increase of whole. ok is false if whole has
// not increased.
func ratio(from, to sample, part, whole func(*sample) float64) (share float64, ok bool) {
	all := whole(&to) - whole(&from)
	if all <= 0 {
		return 0, false
	}
	return max(0, part(&to)-part(&from)) / all, true
}

// quantile returns the quantile share of the durations, in seconds, of the requests between two
// samples. Within a bucket it interpolates. ok is false if there was no request.
func quantile(from, to sample, share float64) (seconds float64, ok bool) {
	before := map[float64]float64{}
	for _, b := range from.durations {
		before[b.bound] = b.count
	}
	var grown []bucket
	for _, b := range to.durations {
		grown = append(grown, bucket{b.bound, b.count - before[b.bound]})
	}
	if len(grown) == 0 || grown[len(grown)-1].count <= 0 {
		return 0, false
	}
	want := share * grown[len(grown)-1].count
	lower := bucket{}
	for _, b := range grown {
		if b.count >= want && b.count > lower.count {
			if math.IsInf(b.bound, 1) {
				return lower.bound, true
			}
			return lower.bound + (b.bound-lower.bound)*(want-lower.count)/(b.count-lower.count), true
		}
		lower = b
	}
	return lower.bound, true
}
