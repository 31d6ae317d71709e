package report

import (
	"encoding/json"
	"io"

	"github.com/portico-commerce/portico/contracttests"
)

// JSON writes the report as it is, after the counts that scripts ask for, on one
// line: to indent it would take its size in memory once more. What it
// writes can be read into a [contracttests.Report].
func JSON(w io.Writer, r *contracttests.Report) error {
	counts, covered := tallyOf(r), coverageOf(r)
	whole := *r
	// Lists that are empty are no null.
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
