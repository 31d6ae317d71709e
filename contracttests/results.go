package contracttests

import "time"

// A Status is the outcome of a case.
type Status string

// The outcomes of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// A Result is the outcome of one case in one format.
type Result struct {
	Resource string   `json:"resource"` // name of the case's file without extension
	Name     string   `json:"name"`     // of the case
	Format   string   `json:"format"`   // json, xml or text
	Clauses  []string `json:"clauses"`  // names of the clauses that it covers
	Roles    []string `json:"roles"`    // callers of its steps: admin, customer_1, customer_2, guest
	// DialectDifferences are the differences between the dialects that the case covers.
	DialectDifferences []DialectDifference `json:"dialect_differences,omitempty"`
	Status             Status              `json:"status"`
	// Reason is the reason why the case was skipped; "" if it was not.
	Reason string `json:"reason,omitempty"`
	// Failure is the first failure; nil unless Status is Failed.
	Failure *Failure `json:"failure,omitempty"`
	// Accepted are the differences that did not make the case fail.
	Accepted []AcceptedDifference `json:"accepted,omitempty"`
	// Calls are the requests and their replies in order, including the requests that
	// create prerequisites, but not the requests of the cleanup.
	Calls []CallLog     `json:"calls,omitempty"`
	Took  time.Duration `json:"took"` // nanoseconds
}

// ID returns resource/name/format, which identifies the result in a run. Options.Match
// and Options.Skip select cases by it.
func (r *Result) ID() string { return r.Resource + "/" + r.Name + "/" + r.Format }

// A Failure is a request of a case whose reply was not as expected.
type Failure struct {
	Step   int    `json:"step"`             // number of the step, from 1; 0 for a prerequisite or the reset
	Call   string `json:"call"`             // "admin: PUT /customers/17"
	Curl   string `json:"curl"`             // command that repeats the request, without secrets; "" if it would need them
	Clause string `json:"clause"`           // clauses of the case, joined with "; "
	Expect string `json:"expect"`           // expected reply, as written in the case's file (YAML)
	Broken string `json:"broken,omitempty"` // why there is no reply to compare, or ""
	// Differences are the places where the reply is not as expected.
	Differences []Difference `json:"differences"`
}

// A Difference is one place where a reply is not as expected.
type Difference struct {
	Where string `json:"where"` // status, the name of a header, or a path in the body such as $.messages
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// A DialectDifference is a behavior that differs between the dialects: an entry of
// differences.yaml.
type DialectDifference struct {
	Number  int    `yaml:"number" json:"number"`
	Says    string `yaml:"says" json:"says"`
	Section string `yaml:"section" json:"section"` // of the specification, such as "customers 3.1"
}

// A CallLog is one request and its reply as sent over the wire, without secrets and
// truncated to a few kilobytes.
type CallLog struct {
	As      string `json:"as"`
	Request string `json:"request"` // request line, headers, blank line, body
	Reply   string `json:"reply"`   // status line, headers, blank line, body; or why there is no reply

	// Form are the demands that the contract makes on the form of each reply of this kind, such as
	// [FormCharset]. Want and Got are empty for those that the reply meets.
	Form []Difference `json:"form,omitempty"`

	Started time.Time     `json:"started,omitzero"`
	Took    time.Duration `json:"took,omitzero"` // nanoseconds
}

// Coverage counts the results of the cases that cover one clause.
type Coverage struct {
	Clause  string `json:"clause"`  // name
	Section string `json:"section"` // of the specification, such as "contract 5.2"
	Says    string `json:"says"`
	// Rows is the number of rows of the document's tables that the clause stands for: one,
	// or the number of fields that it lists.
	Rows int `json:"rows"`
	// Untestable is the reason why no case can test the clause; "" if one can.
	Untestable string `json:"unshown,omitempty"`
	Passed     int    `json:"passed"`  // number of results
	Failed     int    `json:"failed"`  //
	Skipped    int    `json:"skipped"` //
}

// A Report is the outcome of a run of the suite.
type Report struct {
	URL     string     `json:"url"`
	Dialect Dialect    `json:"dialect"`
	Started time.Time  `json:"started"` // UTC
	Took    float64    `json:"took"`    // seconds
	Results []Result   `json:"results"` // in the order of the files
	Clauses []Coverage `json:"clauses"` // in the order of clauses.json
	// Command is the shell command of the run without the selection of cases, for reports
	// that show how to repeat a case; "" if there is none.
	Command string `json:"command,omitempty"`
	// Leftovers are the created objects that could not be deleted: the request that would
	// delete the object, or a description.
	Leftovers []string `json:"leftovers,omitempty"`
}

// Count returns the number of results with status s.
func (r *Report) Count(s Status) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Status == s {
			n++
		}
	}
	return n
}
