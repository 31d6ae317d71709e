package engine

import (
	"fmt"
	"testing"
)

// TestWithLimit writes limits into statements whose last parameters they are, and leaves others unchanged.
func TestWithLimit(t *testing.T) {
	t.Parallel()
	const page = "SELECT a FROM (SELECT b FROM c WHERE d = $1 ORDER BY b "
	for _, c := range []struct {
		text      string
		arguments []any
		want      string
		left      []any
	}{
		{page + "LIMIT $2) AS c ORDER BY b", []any{"x", 10}, page + "LIMIT 10) AS c ORDER BY b", []any{"x"}},
		{page + "LIMIT $2 OFFSET $3) AS c", []any{"x", 10, 20}, page + "LIMIT 10 OFFSET $2) AS c", []any{"x", 20}},
		{page + "LIMIT $2", []any{"x", int64(10)}, page + "LIMIT $2", []any{"x", int64(10)}},
		{page + "LIMIT $2) AS c WHERE e = $3", []any{"x", 10, 20}, page + "LIMIT $2) AS c WHERE e = $3", []any{"x", 10, 20}},
		{page + "LIMIT $3", []any{"x", 10}, page + "LIMIT $3", []any{"x", 10}},
		{page + "LIMIT $x", []any{"x", 10}, page + "LIMIT $x", []any{"x", 10}},
		{page + "LIMIT 1", []any{"x"}, page + "LIMIT 1", []any{"x"}},
	} {
		before := fmt.Sprint(c.arguments)
		got, left := withLimit(c.text, c.arguments)
		if got != c.want || fmt.Sprint(left) != fmt.Sprint(c.left) || fmt.Sprint(c.arguments) != before {
			t.Errorf("%q %v: got %q %v", c.text, c.arguments, got, left)
		}
	}
}
