package contracttests

import (
	"embed"
	"io/fs"
)

//go:embed documented/*.json
var documentedExchanges embed.FS

// DocumentedExchanges returns the exchanges of the document's own clauses: the differences of
// the documented dialect from the recorded original, and the rows of the document's tables.
// They hold only in the documented dialect.
func DocumentedExchanges() ([]Exchange, error) {
	sub, err := fs.Sub(documentedExchanges, "documented")
	if err != nil {
		return nil, err
	}
	return Load(sub)
}
