package engine

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
)

// Place returns a text that is the same for databases of which only one can exist at a time: those of
// one name on one server, or in one file of a machine. It is empty if that cannot be told. Servers and
// machines in containers may have the same names and addresses, so that it holds for one network alone
// unless PlaceIsUnique.
func (e *Engine) Place(ctx context.Context, pool *sql.DB, name string) (place string) {
	if e.mediaDir != nil { // a file
		host, err := os.Hostname()
		if err != nil {
			return ""
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return ""
		}
		return e.System + " " + host + " " + path
	}
	for _, text := range e.placeSQL {
		if err := pool.QueryRowContext(ctx, text).Scan(&place); err == nil {
			return e.System + " " + place
		}
	}
	return ""
}
