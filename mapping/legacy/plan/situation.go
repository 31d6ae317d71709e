package plan

import (
	"time"

	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// A Situation holds the evidence about a migration. Evidence that is nil is unknown.
type Situation struct {
	Legacy    string // base URL of the legacy store, "" if there is none
	Rules     proxy.Rules
	Resources []Part // of the contract
	Usage     *recording.Usage
	// UsageFault is the reason why Usage is nil although there are counts; "" otherwise.
	UsageFault string
	Shadow     *Shadow
	Sweep      *Sweep
	// NoImports: portico import cannot reach the records of the configured adapter.
	NoImports bool
	Import    *Import
	Follow    *Follow // nil: the store does not follow the legacy store
	// NoMirror: the configured adapter cannot repeat writes at the legacy store.
	NoMirror bool
	// Unset names the settings without which writes cannot be mirrored.
	Unset []string
	// Mirrors holds the state of the writes of each resource whose writes were ever mirrored.
	Mirrors map[string]Mirror
	// Conflicts counts values that both a client and the legacy store have changed, by their
	// outcome.
	Conflicts map[string]int64
}

// A Mirror names the system that has the writes of a resource, and counts the changes that the
// legacy store still lacks.
type Mirror struct {
	Owner   string    `json:"owner"`   // portico or legacy
	Turning bool      `json:"turning"` // a handover of the writes is in progress
	Waiting int64     `json:"waiting"` // changes to be delivered
	Parked  int64     `json:"parked"`  // changes that the legacy store refuses
	Held    int64     `json:"held"`    // changes for which its interface has no form
	Unknown int64     `json:"unknown"` // records that it may have created or not
	Oldest  time.Time `json:"oldest,omitzero"`
}

// A Part is a resource of the contract, with the facts that decide its steps.
type Part struct {
	Name   string
	Root   string   // the resource of whose records it has parts, or Name
	Calls  []string // names of its calls
	Writes bool     // whether there are calls that write
}

// A Shadow holds the comparisons of a running Portico.
type Shadow struct {
	Since time.Time // the counts begin
	Calls []compare.ShadowCount
}

// A Sweep is the result of reading everything from both systems.
type Sweep struct {
	Legacy    string    `json:"legacy"` // base URLs
	Candidate string    `json:"candidate"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"`
	// Complete: all records were to be read, and all lists could be read to their end.
	Complete bool     `json:"complete"`
	Callers  []string `json:"callers"`
	Sample   string   `json:"sample"`
	// Resources has the answers that were compared, by resource.
	Resources map[string]Compared `json:"resources"`
}

// Compared counts compared answers.
type Compared struct {
	Answers   int64 `json:"answers"`
	Different int64 `json:"different"`
	Accepted  int64 `json:"accepted"` // different only in ways that the operator has accepted
}

// An Import is the last import of everything from the legacy store's database that came to its
// end. Writes there after At may be missing.
type Import struct {
	At       time.Time `json:"at"`
	Database string    `json:"database"`
}

// A Follow is how far the store has followed the legacy store's database.
type Follow struct {
	// LagSeconds is the time since all changes were applied; nil if no running server reports
	// that it follows.
	LagSeconds *float64 `json:"lag_seconds"`
	// Compared is when everything was last compared with the database; zero: not yet.
	Compared time.Time        `json:"compared,omitzero"`
	Parked   map[string]int64 `json:"parked,omitempty"` // records that could not be stored, by resource
}

// The names under which a store has the results of commands, for the plan and the console.
const (
	ImportEvidence      = "import"       // the last complete [Import]
	SweepEvidence       = "sweep"        // the last [Sweep]
	SweptFieldsEvidence = "sweep_fields" // its SweptFields
)

// WholeSample is Sweep.Sample of a sweep that has read every record.
const WholeSample = "100%"

// A SweptField is a field of a call that differed in a sweep.
type SweptField struct {
	Call     string         `json:"call"`
	Field    string         `json:"field"`
	Answers  int            `json:"answers"` // that differ in it
	Examples []SweptExample `json:"examples,omitempty"`
}

// A SweptExample is a request and one difference between its answers.
type SweptExample struct {
	As        string  `json:"as"`
	Request   string  `json:"request"`
	Record    string  `json:"record,omitempty"`
	Legacy    *string `json:"legacy"`
	Candidate *string `json:"candidate"`
}
