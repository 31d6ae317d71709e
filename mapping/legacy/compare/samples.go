package compare

import (
	"cmp"
	"encoding/json"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"net/http"
	"slices"
	"sync"
	"time"
)

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
