// Package migration says how far each resource of an old shop has moved to Portico, what is
// known that speaks for the next step, and which lines of configuration take it.
//
// # Principles
//
//  1. It decides nothing and changes nothing: [New] is a pure function from a [Situation] to a
//     [Plan].
//  2. The rules alone say where a resource is. Evidence says what to settle before the next
//     step. What is not known is said to be unknown, with the command that finds it out.
//  3. Reads move before writes: all reads that show what the writes change. Writes of the
//     parts of a record move together with those of the record, because one write may change
//     both. What has no route, such as /oauth/, moves last.
//  4. Each step says what it does to the way back. It stays open while writes are mirrored,
//     and ends when the legacy system is left.
//  5. No step has lines that start-up refuses ([CheckRules]).
//
// # How it is tested
//
// Table tests have a case for every state and step; random rules check that the lines of a step
// change what they are to change, and nothing else. Package app takes whole shops from the
// first step to the last with the lines that it prints, and back.
package migration

import (
	"time"

	"github.com/portico-commerce/portico/mapping/legacy/passthrough"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
	"github.com/portico-commerce/portico/mapping/legacy/shadow"
)

// A Situation is what is known about a migration. Evidence that is nil is unknown.
type Situation struct {
	Legacy    string // base URL of the legacy system, "" if there is none
	Rules     passthrough.Rules
	Resources []Part // of the contract
	Usage     *recording.Usage
	// UsageFault says why there are counts and Usage is nil; "" otherwise.
	UsageFault string
	Shadow     *Shadow
	Sweep      *Sweep
	// NoImports: portico import cannot reach the records of the configured adapter.
	NoImports bool
	Import    *Import
	Follow    *Follow // nil: the store does not follow the legacy system
	// NoMirror: the configured adapter cannot repeat writes at the legacy system.
	NoMirror bool
	// Unset names the settings without which writes cannot be mirrored.
	Unset []string
	// Mirrors says where the writes of resources are that were ever mirrored.
	Mirrors map[string]Mirror
	// Conflicts counts values that both a client and the legacy system have changed, by what has
	// become of them.
	Conflicts map[string]int64
}

// A Mirror says which system has the writes of a resource, and what of them the legacy system
// still has to be told.
type Mirror struct {
	Owner   string    `json:"owner"`   // portico or legacy
	Turning bool      `json:"turning"` // the writes are changing sides
	Waiting int64     `json:"waiting"` // changes to be delivered
	Parked  int64     `json:"parked"`  // changes that the legacy system refuses
	Held    int64     `json:"held"`    // changes for which its interface has no form
	Unknown int64     `json:"unknown"` // records that it may have created or not
	Oldest  time.Time `json:"oldest,omitzero"`
}

// A Part is a resource of the contract, with what decides its steps.
type Part struct {
	Name   string
	Root   string   // the resource of whose records it has parts, or Name
	Calls  []string // names of its calls
	Writes bool     // whether there are calls that write
}

// A Shadow is what a running Portico has compared.
type Shadow struct {
	Since time.Time // the counts begin
	Calls []shadow.CallCount
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
	Accepted  int64 `json:"accepted"` // different only as somebody has accepted
}

// An Import is the last import of everything from the legacy system's database that came to its
// end. What was written there after At may be missing.
type Import struct {
	At       time.Time `json:"at"`
	Database string    `json:"database"`
}

// A Follow says how far the store has followed the legacy system's database.
type Follow struct {
	// LagSeconds is the time since all changes were taken over; nil if no running server says
	// that it follows.
	LagSeconds *float64 `json:"lag_seconds"`
	// Compared is when everything was last compared with the database; zero: not yet.
	Compared time.Time        `json:"compared,omitzero"`
	Parked   map[string]int64 `json:"parked,omitempty"` // records that could not be stored, by resource
}
