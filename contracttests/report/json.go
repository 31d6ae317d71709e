package report

import (
	"encoding/json"
	"github.com/portico-commerce/portico/contracttests"
	"io"
)

// JSON writes the report as a JSON object on one line, preceded by the counts and the
// causes of failures that scripts need. The output can be decoded into a
// [contracttests.Report]. It is not indented, because that would need its size in memory a
// second time.
func JSON(w io.Writer, r *contracttests.Report) error {
	counts, covered := newTally(r), newCoverage(r)
	whole := *r
	// Empty lists are encoded as [] instead of null.
	if whole.Results == nil {
		whole.Results = []contracttests.Result{}
	}
	if whole.Clauses == nil {
		whole.Clauses = []contracttests.Coverage{}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(struct {
		Passed      int `json:"passed"`
		Failed      int `json:"failed"`
		Skipped     int `json:"skipped"`
		Rows        int `json:"rows"`
		RowsCovered int `json:"rows_covered"`
		// Causes divide the failed results.
		Causes []jsonCause `json:"causes"`
		contracttests.Report
	}{counts.Passed, counts.Failed, counts.Skipped, covered.Rows, covered.Covered, jsonCauses(r), whole})
}

// A jsonCause is a cause in the JSON report.
type jsonCause struct {
	Cause string   `json:"cause"`
	Runs  []string `json:"runs"` // IDs of the failed results
}

// jsonCauses returns the causes of the failures of a report.
func jsonCauses(r *contracttests.Report) []jsonCause {
	causes := []jsonCause{}
	for _, c := range newOverview(r).Causes {
		one := jsonCause{Cause: c.Text}
		for _, f := range c.Failures {
			one.Runs = append(one.Runs, f.ID())
		}
		causes = append(causes, one)
	}
	return causes
}
