package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Identity returns a text that is the same for DSNs of one database that differ only in the password
// and in options for connecting and timeouts. It may differ for two DSNs of one database, but is never
// the same for two databases, or two schemas of one. It returns "" if dsn is invalid.
func Identity(dsn string) string {
	e, name, err := Of(dsn)
	if err != nil {
		return ""
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, "%q", e.location(name))
	// PostgreSQL finds tables by the user and by parameters of the session.
	if c, err := pgconn.ParseConfig(name); err == nil && strings.HasPrefix(dsn, "postgres") {
		fmt.Fprintf(text, " %q", c.User)
		for _, parameter := range slices.Sorted(maps.Keys(c.RuntimeParams)) {
			if parameter != "application_name" {
				fmt.Fprintf(text, " %q %q", parameter, c.RuntimeParams[parameter])
			}
		}
	}
	return text.String()
}
