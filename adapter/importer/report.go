package importer

import (
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
)

// maxSkippedKeys is the maximum number of keys that are listed for one reason.
const maxSkippedKeys = 20

// A Report holds the outcomes of the records of a legacy store.
type Report struct {
	DryRun bool `json:"dry_run"`
	// Source is the name of the legacy store in the store's import log.
	Source      string                    `json:"source,omitempty"`
	Resources   []*Counts                 `json:"resources"`
	Missing     []MissingSetting          `json:"missing_settings,omitempty"`
	Credentials *credentials.ImportReport `json:"credentials,omitempty"`
	// RulesEvaluated is the last day for which the legacy store has evaluated its catalogue price
	// rules.
	RulesEvaluated string `json:"rules_evaluated,omitempty"`
	// EncodedTwice are texts that the legacy store probably holds in a wrong encoding.
	EncodedTwice []string `json:"encoded_twice,omitempty"`
	Notes        []string `json:"notes,omitempty"`
}

// Counts counts the records of one part of the legacy store by outcome.
type Counts struct {
	Resource string `json:"resource"`
	Read     int64  `json:"read"`
	Stored   int64  `json:"stored"`
	Replaced int64  `json:"replaced"`
	Removed  int64  `json:"removed"`
	Existing int64  `json:"left"`
	// UnchangedRanges is the number of ranges of ids that were not read, because the legacy store
	// has changed nothing there.
	UnchangedRanges int64      `json:"unchanged_ranges,omitempty"`
	Skipped         []*Skipped `json:"skipped,omitempty"`  // records that were not imported
	LeftOut         []*Skipped `json:"left_out,omitempty"` // rows of tables, and files, that were not imported
}

// Skipped counts the records, rows or files that were skipped for one reason.
type Skipped struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
	// IDs or Keys has the first maxSkippedKeys: ids of records, or texts.
	IDs  []int64  `json:"ids,omitempty"`
	Keys []string `json:"keys,omitempty"`
}

// countSkipped counts one more for a reason, and returns the count.
func countSkipped(all *[]*Skipped, reason string) *Skipped {
	at := slices.IndexFunc(*all, func(s *Skipped) bool { return s.Reason == reason })
	if at < 0 {
		at = len(*all)
		*all = append(*all, &Skipped{Reason: reason})
	}
	s := (*all)[at]
	s.Count++
	return s
}

// Count counts the outcome of one record.
func (r *Counts) Count(outcome adapter.ImportOutcome) {
	switch outcome {
	case adapter.ImportCreated:
		r.Stored++
	case adapter.ImportChanged:
		r.Replaced++
	case adapter.ImportRemoved:
		r.Removed++
	case adapter.ImportKept, adapter.ImportEqual:
		r.Existing++
	}
}

// Skip counts the record with the given id as skipped for the reason.
func (r *Counts) Skip(reason string, id int64) {
	if s := countSkipped(&r.Skipped, reason); len(s.IDs) < maxSkippedKeys {
		s.IDs = append(s.IDs, id)
	}
}

// leaveOut counts a row or a file as left out for the reason.
func (r *Counts) leaveOut(reason, key string) {
	if s := countSkipped(&r.LeftOut, reason); len(s.Keys) < maxSkippedKeys {
		s.Keys = append(s.Keys, key)
	}
}

// SkippedCount returns how many records were skipped, for all reasons.
func (r *Counts) SkippedCount() (n int64) {
	for _, s := range r.Skipped {
		n += s.Count
	}
	return n
}

// Removed returns how many records have been removed.
func (r *Report) Removed() (n int64) {
	for _, one := range r.Resources {
		n += one.Removed
	}
	return n
}

// note adds a sentence to the report.
func (r *Report) note(format string, arguments ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, arguments...))
}

// Records returns the counts of a part, which it adds to the report.
func (r *Report) Records(p magento1.Part) *Counts {
	for _, c := range r.Resources {
		if c.Resource == string(p) {
			return c
		}
	}
	c := &Counts{Resource: string(p)}
	r.Resources = append(r.Resources, c)
	return c
}
