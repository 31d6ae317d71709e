package contracttests

import (
	"embed"
	"io/fs"
)

//go:embed documented/*.json
var documentedExchanges embed.FS

// DocumentedExchanges returns the exchanges of the document's own clauses: what the
// documented dialect answers where the recorded original answers otherwise, or
// where the document names a row of its own. They hold in that dialect only.
func DocumentedExchanges() ([]Exchange, error) {
	sub, err := fs.Sub(documentedExchanges, "documented")
	if err != nil {
		return nil, err
	}
	return Load(sub)
}
