package contracttests

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:embed clauses.json
var clausesJSON []byte

// A clause is one statement of the contract document that a case can test: a list of
// fields, a row of a table, a convention or an error message. It may also be a behavior
// of the original on which the document is silent.
type clause struct {
	Name    string `json:"name"`    // unique
	Section string `json:"section"` // of the specification, such as "contract 5.2"
	Access  string `json:"access"`  // read or write
	Says    string `json:"says"`    // in a few words
	// Fields is set for a clause that lists the fields of a record. AlsoReturned are fields
	// that are returned with them although the document does not list them.
	Fields       []string `json:"fields"`
	AlsoReturned []string `json:"also_returned"`
	// Message and Status are set for a row of a table of errors. The message may contain
	// placeholders in angle brackets.
	Message string `json:"message"`
	Status  string `json:"status"`
	// Call, Field and Required are set for a row of a table of request fields. A field of a
	// nested record is written RECORD/FIELD.
	Call     string `json:"call"`
	Field    string `json:"field"`
	Required bool   `json:"required"`
	// Untestable is the reason why no case can test the clause; empty if one can.
	Untestable string `json:"unshown"`
}

// rows returns how many rows of the document's tables the clause stands for.
func (c *clause) rows() int { return max(1, len(c.Fields)) }

// loadClauses returns the clauses of clauses.json, in order.
func loadClauses() ([]clause, error) {
	dec := json.NewDecoder(bytes.NewReader(clausesJSON))
	dec.DisallowUnknownFields()
	var all []clause
	return all, dec.Decode(&all)
}
