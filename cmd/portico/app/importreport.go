package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// maxSkippedKeys is the maximum number of keys that are listed for one reason.
const maxSkippedKeys = 20

// printedRecords is the JSON output of "portico import".
type printedRecords struct {
	DryRun bool `json:"dry_run"`
	// Source is the name under which the store notes the old shop.
	Source      string                 `json:"source,omitempty"`
	Resources   []*importedRecords     `json:"resources"`
	Missing     []missingSetting       `json:"missing_settings,omitempty"`
	Credentials *sqlstore.ImportReport `json:"credentials,omitempty"`
	// RulesEvaluated is the last day for which the old shop has evaluated its catalogue
	// price rules.
	RulesEvaluated string `json:"rules_evaluated,omitempty"`
	// EncodedTwice are texts that the old shop probably holds in a wrong encoding.
	EncodedTwice []string `json:"encoded_twice,omitempty"`
	Notes        []string `json:"notes,omitempty"`
	// AtBackend is the number of records that a backend has got, with their parts.
	AtBackend int `json:"at_backend,omitempty"`
}

// importedRecords counts the records of one part of the old shop by outcome.
type importedRecords struct {
	Resource string `json:"resource"`
	Read     int64  `json:"read"`
	Stored   int64  `json:"stored"`
	Replaced int64  `json:"replaced"`
	Removed  int64  `json:"removed"`
	Existing int64  `json:"left"`
	// UnchangedRanges is the number of ranges of ids that were not read, because the old
	// shop has changed nothing there.
	UnchangedRanges int64             `json:"unchanged_ranges,omitempty"`
	Skipped         []*skippedRecords `json:"skipped,omitempty"`  // records that were not imported
	LeftOut         []*skippedRecords `json:"left_out,omitempty"` // what else was not: rows of tables, and files
}

// skippedRecords counts the records, rows or files that were skipped for one reason.
type skippedRecords struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
	// IDs or Keys has the first maxSkippedKeys: ids of records, or texts.
	IDs  []int64  `json:"ids,omitempty"`
	Keys []string `json:"keys,omitempty"`
}

// countSkipped counts one more for a reason, and returns the count.
func countSkipped(all *[]*skippedRecords, reason string) *skippedRecords {
	at := slices.IndexFunc(*all, func(s *skippedRecords) bool { return s.Reason == reason })
	if at < 0 {
		at = len(*all)
		*all = append(*all, &skippedRecords{Reason: reason})
	}
	s := (*all)[at]
	s.Count++
	return s
}

// count counts the outcome of one record.
func (r *importedRecords) count(outcome adapter.ImportOutcome) {
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

// skip counts the record with the given id as skipped for the reason.
func (r *importedRecords) skip(reason string, id int64) {
	if s := countSkipped(&r.Skipped, reason); len(s.IDs) < maxSkippedKeys {
		s.IDs = append(s.IDs, id)
	}
}

// leaveOut counts a row or a file as left out for the reason.
func (r *importedRecords) leaveOut(reason, key string) {
	if s := countSkipped(&r.LeftOut, reason); len(s.Keys) < maxSkippedKeys {
		s.Keys = append(s.Keys, key)
	}
}

// skippedCount returns how many records were skipped, for all reasons.
func (r *importedRecords) skippedCount() (n int64) {
	for _, s := range r.Skipped {
		n += s.Count
	}
	return n
}

// listed returns the first keys of count ones.
func listed[T any](keys []T, count int64) string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = fmt.Sprint(key)
	}
	if count > int64(len(keys)) {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// print writes the report for people: counts, then what was skipped, then what to do.
func (r *printedRecords) print(w io.Writer) {
	if len(r.Resources) > 0 {
		printCounts(w, r.DryRun, r.Resources)
	}
	if r.Credentials != nil {
		if len(r.Resources) > 0 {
			fmt.Fprintln(w)
		}
		printImportedCredentials(w, r.DryRun, *r.Credentials)
	}
	if len(r.Missing) > 0 {
		fmt.Fprint(w, "\nThe old shop uses what the configuration lacks. Add to portico.yaml, and import again:\n\n"+settingLines(r.Missing))
	}
	for _, key := range r.EncodedTwice {
		fmt.Fprintf(w, "looks as if it had been encoded twice: %s\n", key)
	}
	if len(r.EncodedTwice) > 0 {
		fmt.Fprintln(w, "The texts above look as if they had been encoded in UTF-8 twice: try --charset with what the bytes really are, such as utf-8 or windows-1252.")
	}
	for _, note := range r.Notes {
		fmt.Fprintln(w, note)
	}
	if r.AtBackend > 0 {
		fmt.Fprintf(w, "%d records are at the backend, with their parts\n", r.AtBackend)
	}
}

// printCounts writes the counts as a table, followed by the reasons for skipping.
func printCounts(w io.Writer, dryRun bool, all []*importedRecords) {
	would := func(done string) string { return heading(dryRun, done) }
	fmt.Fprintf(w, "\tREAD\t%s\t%s\t%s\tUNCHANGED\tSKIPPED\n", would("CREATED"), would("CHANGED"), would("REMOVED"))
	for _, r := range all {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", r.Resource, r.Read, r.Stored, r.Replaced, r.Removed, r.Existing, r.skippedCount())
	}
	for _, r := range all {
		if r.UnchangedRanges > 0 {
			fmt.Fprintf(w, "not read again: %d ranges of %d %s ids in which nothing has changed\n", r.UnchangedRanges, magento1.RangeSize, r.Resource)
		}
		for _, s := range r.Skipped {
			fmt.Fprintf(w, "skipped %d %s: %s (%s)\n", s.Count, r.Resource, s.Reason, listed(s.IDs, s.Count))
		}
		for _, s := range r.LeftOut {
			fmt.Fprintf(w, "left out of %s, %d times: %s (%s)\n", r.Resource, s.Count, s.Reason, listed(s.Keys, s.Count))
		}
	}
}

// heading returns a column heading such as CREATED, or WOULD BE CREATED for a dry run.
func heading(dryRun bool, done string) string {
	if dryRun {
		return "WOULD BE " + done
	}
	return done
}
