package compare

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// A ShadowCount counts the reads of one call that were selected for comparison.
type ShadowCount struct {
	Call     string           `json:"call"`
	Outcomes map[string]int64 `json:"outcomes"` // see Outcomes
	// Fields counts the answers that differ in a field.
	Fields map[string]int64 `json:"fields,omitempty"`
	// Last is when the last comparison ended that found the answers the same or different,
	// LastDifferent when the last one found a difference. Both are zero if there was none.
	Last          time.Time `json:"last,omitzero"`
	LastDifferent time.Time `json:"last_different,omitzero"`
	// SameSince is the number of reads with the same answers after the last difference.
	SameSince int64 `json:"same_since"`
}

// counts holds the counts by call. Calls and fields come from tables, which bounds their
// number.
type counts struct {
	mu sync.Mutex
	of map[string]*ShadowCount
}

// call returns the count of a call. The caller holds c.mu.
func (c *counts) call(name string) *ShadowCount {
	count := c.of[name]
	if count == nil {
		count = &ShadowCount{Call: name, Outcomes: map[string]int64{}, Fields: map[string]int64{}}
		if c.of == nil {
			c.of = map[string]*ShadowCount{}
		}
		c.of[name] = count
	}
	return count
}

// count counts the outcome of a read.
func (s *Shadow) count(call, outcome string) {
	s.counts.add(call, outcome)
	s.Count(call, outcome)
}

func (c *counts) add(call, outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := c.call(call)
	count.Outcomes[outcome]++
	switch now := time.Now().UTC(); outcome {
	case ShadowSame:
		count.Last = now
		count.SameSince++
	case Different:
		count.Last, count.LastDifferent, count.SameSince = now, now, 0
	}
}

func (c *counts) addField(call, field string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.call(call).Fields[field]++
}

// Counts returns the counts of all calls since Since, ordered by call.
func (s *Shadow) Counts() []ShadowCount {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	all := []ShadowCount{}
	for _, name := range slices.Sorted(maps.Keys(s.counts.of)) {
		count := *s.counts.of[name]
		count.Outcomes, count.Fields = maps.Clone(count.Outcomes), maps.Clone(count.Fields)
		all = append(all, count)
	}
	return all
}

// Since returns when the process began to compare.
func (s *Shadow) Since() time.Time { return s.began }

// Outcomes of a read that was selected for comparison. The two answers were compared for the
// first three.
const (
	ShadowSame   = "same"
	Different    = "different"
	Inconclusive = "unsure"       // different, but a write was in progress meanwhile
	failed       = "failed"       // the other system could not answer
	dropped      = "dropped"      // the queue was full
	incomparable = "incomparable" // the client's reply was too long, incomplete, a 304, or a 503
)

// ShadowOutcomes returns all outcomes, so that metrics can start all of them at 0.
func ShadowOutcomes() []string {
	return []string{ShadowSame, Different, Inconclusive, failed, dropped, incomparable}
}

// A ShadowSample is one observed difference.
type ShadowSample struct {
	Time   time.Time `json:"time"`
	Call   string    `json:"call"`
	Field  string    `json:"field"`
	Target string    `json:"target"` // of the request
	// Consumer is the name of the consumer that the request claims, "" if it is not known.
	Consumer string `json:"consumer,omitempty"`
	Record   string `json:"record,omitempty"`
	// Values of the two systems; nil means absent.
	Legacy    *string `json:"legacy"`
	Candidate *string `json:"candidate"`
}

// samples holds the latest few samples per call and field. Calls and fields come from
// tables, which bounds their number.
type samples struct {
	most int
	mu   sync.Mutex
	of   map[[2]string][]ShadowSample
}

// limit changes the maximum number of samples per call and field, and drops the oldest ones
// beyond it.
func (s *samples) limit(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = most
	for key, kept := range s.of {
		if len(kept) > most {
			s.of[key] = slices.Clone(kept[len(kept)-most:])
		}
	}
}

// keep stores a difference as a sample. It replaces the oldest sample of the same call and
// field if there are too many.
func (s *Shadow) keep(e *proxy.Exchange, d *Difference) {
	shown := d.Masked()
	sample := ShadowSample{
		Time: e.Start.UTC(), Call: e.Name(), Field: d.Field, Target: s.Target(e), Record: shown.Record, Legacy: shown.Legacy, Candidate: shown.Candidate,
	}
	if s.Consumer != nil {
		sample.Consumer = s.Consumer(e)
	}
	s.samples.mu.Lock()
	defer s.samples.mu.Unlock()
	if s.samples.most == 0 {
		return
	}
	if s.samples.of == nil {
		s.samples.of = map[[2]string][]ShadowSample{}
	}
	key := [2]string{sample.Call, sample.Field}
	kept := s.samples.of[key]
	if len(kept) == s.samples.most {
		kept = slices.Delete(kept, 0, 1)
	}
	s.samples.of[key] = append(kept, sample)
}

// Samples returns the stored samples, ordered by call, field and time.
func (s *Shadow) Samples() []ShadowSample {
	s.samples.mu.Lock()
	defer s.samples.mu.Unlock()
	all := []ShadowSample{}
	for _, kept := range s.samples.of {
		all = append(all, kept...)
	}
	slices.SortFunc(all, func(a, b ShadowSample) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Field, b.Field), a.Time.Compare(b.Time))
	})
	return all
}

// ServeHTTP responds with the samples as JSON.
func (s *Shadow) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(s.Samples()) // fails only if the client has disconnected
}
