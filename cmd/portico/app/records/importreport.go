package records

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/contracttests/report"
)

// printedRecords is the JSON output of "portico import".
type printedRecords struct {
	importer.Report
	// AtBackend is the number of records, with their parts, that were created at a backend.
	AtBackend int `json:"at_backend,omitempty"`
}

// listed returns the first keys of count ones.
func listed[T any](keys []T, count int64) string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = printable(fmt.Sprint(key))
	}
	if count > int64(len(keys)) {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// printable returns a text of the legacy store, quoted if it has characters that a terminal cannot
// print.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// print writes the report for people: counts, skipped records, missing settings, and the next
// steps.
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
		fmt.Fprint(w, "\nThe legacy store uses what the configuration lacks. Add to portico.yaml, and import again:\n\n"+settingLines(r.Missing))
	}
	for _, key := range r.EncodedTwice {
		fmt.Fprintf(w, "looks as if it had been encoded twice: %s\n", printable(key))
	}
	if len(r.EncodedTwice) > 0 {
		fmt.Fprintln(w, "The texts above look as if they had been encoded in UTF-8 twice: try --charset with what the bytes really are, such as utf-8 or windows-1252.")
	}
	for _, note := range r.Notes {
		fmt.Fprintln(w, printable(note))
	}
	if r.AtBackend > 0 {
		fmt.Fprintf(w, "%d records are at the backend, with their parts\n", r.AtBackend)
	}
}

// printCounts writes the counts as a table, followed by the reasons for skipping.
func printCounts(w io.Writer, dryRun bool, all []*importer.Counts) {
	would := func(done string) string { return heading(dryRun, done) }
	fmt.Fprintf(w, "\tREAD\t%s\t%s\t%s\tUNCHANGED\tSKIPPED\n", would("CREATED"), would("CHANGED"), would("REMOVED"))
	for _, r := range all {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", r.Resource, r.Read, r.Stored, r.Replaced, r.Removed, r.Existing, r.SkippedCount())
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

// An importProgress shows the progress of the import of a part: a bar with the rate and the
// remaining time on a terminal, and otherwise one line at the end.
type importProgress struct {
	w     io.Writer
	part  string
	total int64
	began time.Time
	bar   *report.Bar
}

// newImportProgress shows the progress on w. total is the number of records, as far as known.
func newImportProgress(w io.Writer, part string, total int64) *importProgress {
	return &importProgress{w: w, part: part, total: total, began: time.Now(), bar: report.NewBar(w)}
}

// Set shows that so many records are done.
func (p *importProgress) Set(done int64) {
	total := max(p.total, done) // the legacy store may have got more
	rate := p.rate(done)
	left := time.Duration(float64(total-done) / max(rate, 1) * float64(time.Second))
	p.bar.Show(int(done), int(total), fmt.Sprintf("%s, %.0f records/s, %s left", p.part, rate, left.Round(time.Second)))
}

// rate returns the number of records a second since the beginning.
func (p *importProgress) rate(done int64) float64 {
	return float64(done) / max(time.Since(p.began).Seconds(), 0.001)
}

// Finish removes the bar, or writes the line.
func (p *importProgress) Finish(done *importer.Counts) {
	p.bar.Clear()
	if report.IsTerminal(p.w) {
		return
	}
	took := time.Since(p.began).Round(time.Millisecond)
	fmt.Fprintf(p.w, "%s: %d read, %d skipped, in %s (%.0f/s)\n", p.part, done.Read, done.SkippedCount(), took, p.rate(done.Read))
}
