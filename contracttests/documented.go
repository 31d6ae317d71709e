package contracttests

import (
	"embed"
	"io/fs"
)

//go:embed documented/*.json
var documentedCases embed.FS

// DocumentedCases returns the cases of the document's own clauses: what the
// documented dialect answers where the recorded original answers otherwise, or
// where the document names a row of its own. They hold in that dialect only.
func DocumentedCases() ([]Case, error) {
	sub, err := fs.Sub(documentedCases, "documented")
	if err != nil {
		return nil, err
	}
	return Load(sub)
}
