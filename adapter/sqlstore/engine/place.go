package engine

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
)

// Place returns a text that identifies the place of a database, where only one database can exist
// at a time: a name on a server, or a file of a machine. It is empty if the place cannot be
// determined. Servers and machines in containers may have the same names and addresses, so the text
// is unique only within one network, unless PlaceIsUnique is set.
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
