package compare

import (
	"maps"
	"slices"
	"sync"
	"time"
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
