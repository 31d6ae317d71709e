package contracttests

import "time"

// A Status is what became of a case.
type Status string

// What may become of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// A Result is what became of one case in one format.
type Result struct {
	Resource string   `json:"resource"` // name of the case's file, without ending
	Name     string   `json:"name"`     // of the case
	Format   string   `json:"format"`   // json, xml or text
	Clauses  []string `json:"clauses"`  // names of the clauses it shows
	Roles    []string `json:"roles"`    // who calls in it: admin, customer_1, customer_2, guest
	// DialectDifferences are the places it shows where the dialects differ.
	DialectDifferences []DialectDifference `json:"dialect_differences,omitempty"`
	Status             Status              `json:"status"`
	// Reason is why the case was skipped; "" otherwise.
	Reason string `json:"reason,omitempty"`
	// Failure is what went wrong first; nil unless the status is Failed.
	Failure *Failure `json:"failure,omitempty"`
	// Calls are the requests made and what was answered, in order, those of what
	// was made for the case included, those of cleaning up not.
	Calls []CallLog     `json:"calls,omitempty"`
	Took  time.Duration `json:"took"` // nanoseconds
}

// ID is the name of the result, resource/name/format: what -run selects by.
func (r *Result) ID() string { return r.Resource + "/" + r.Name + "/" + r.Format }

// A Failure is the call of a case that was not answered as the contract says.
type Failure struct {
	Step   int    `json:"step"`             // of the case, from 1; 0: of what was made for it
	Call   string `json:"call"`             // "admin: PUT /customers/17"
	Curl   string `json:"curl"`             // a command that makes the call again; credentials are shell variables
	Clause string `json:"clause"`           // the clauses of the case, joined with "; "
	Expect string `json:"expect"`           // what was expected, in the words of the case's file (YAML)
	Broken string `json:"broken,omitempty"` // why there is no answer to compare, or ""
	// Differences are where the answer is not as expected.
	Differences []Difference `json:"differences"`
}

// A Difference is one place where a reply is not as expected.
type Difference struct {
	Where string `json:"where"` // status, a header, a place in the body such as $.messages
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// A DialectDifference is a place where the dialects differ: an entry of
// differences.yaml.
type DialectDifference struct {
	Number  int    `yaml:"number" json:"number"`
	Says    string `yaml:"says" json:"says"`
	Section string `yaml:"section" json:"section"` // of the specification, such as "customers 3.1"
}

// A CallLog is one request and its answer as they went over the wire, without
// secrets and cut to a few kilobytes.
type CallLog struct {
	As      string `json:"as"`
	Request string `json:"request"` // request line, headers, blank line, body
	Reply   string `json:"reply"`   // status line, headers, blank line, body; or why there is none
}

// A Coverage is what became of one clause.
type Coverage struct {
	Clause  string `json:"clause"`  // its name
	Section string `json:"section"` // of the specification, such as "contract 5.2"
	Says    string `json:"says"`
	// Rows is how many rows of the document's tables it stands for: one, or as
	// many as it lists fields.
	Rows int `json:"rows"`
	// Unshown is why no case can show it; "" for all others.
	Unshown string `json:"unshown,omitempty"`
	Passed  int    `json:"passed"`  // runs of cases
	Failed  int    `json:"failed"`  //
	Skipped int    `json:"skipped"` //
}

// A Report is what a run of the suite found.
type Report struct {
	URL     string     `json:"url"`
	Dialect Dialect    `json:"dialect"`
	Started time.Time  `json:"started"` // UTC
	Took    float64    `json:"took"`    // seconds
	Results []Result   `json:"results"` // in the order of the files
	Clauses []Coverage `json:"clauses"` // in the order of clauses.json
	// Leftovers are what was made and could not be deleted: the call that would
	// delete it, or what is known of it.
	Leftovers []string `json:"leftovers,omitempty"`
}

// Count returns how many results have the status.
func (r *Report) Count(s Status) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Status == s {
			n++
		}
	}
	return n
}
