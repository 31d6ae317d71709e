package contracttests

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:embed clauses.json
var clausesJSON []byte

// A clause is one thing the contract document says, or is silent about and the
// original fills in: a list of fields, a row of a table, a convention or a
// message.
type clause struct {
	Name    string `json:"name"`    // what it is about, unique
	Section string `json:"section"` // of the specification, such as "contract 5.2"
	Side    string `json:"side"`    // read or write
	Says    string `json:"says"`    // in a few words
	// Fields are the names of a list of fields; Besides are those that are returned
	// with them where the document is silent.
	Fields  []string `json:"fields"`
	Besides []string `json:"besides"`
	// Message is a text of a table of errors, with placeholders in angle brackets,
	// and Status its status.
	Message string `json:"message"`
	Status  string `json:"status"`
	// Field is a row of a table of fields that Call takes, or after a slash one of
	// the records in it.
	Call     string `json:"call"`
	Field    string `json:"field"`
	Required bool   `json:"required"`
	// Unshown is why no case can show it with the demo store; "" for all others.
	Unshown string `json:"unshown"`
}

// rows returns how many rows of the document's tables the clause stands for.
func (c *clause) rows() int { return max(1, len(c.Fields)) }

func loadClauses() ([]clause, error) {
	dec := json.NewDecoder(bytes.NewReader(clausesJSON))
	dec.DisallowUnknownFields()
	var all []clause
	return all, dec.Decode(&all)
}
