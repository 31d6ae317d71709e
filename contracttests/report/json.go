package report

import (
	"encoding/json"
	"io"

	"github.com/portico-commerce/portico/contracttests"
)

// JSON writes the report as a JSON object on one line, preceded by the counts that
// scripts need. The output can be decoded into a [contracttests.Report]. It is not
// indented, because that would need its size in memory a second time.
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
		contracttests.Report
	}{counts.Passed, counts.Failed, counts.Skipped, covered.Rows, covered.Covered, whole})
}
