package sqlstore

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
	"regexp"
	"strconv"
)

// nextKeyPattern finds the next key in the text of CounterStatements.describe.
var nextKeyPattern = regexp.MustCompile(` AUTO_INCREMENT=(\d+)`)

// passOutside makes the keys that the database chooses later greater than the given ones, on
// an engine that cannot do so within a transaction.
func (db *Database) passOutside(ctx context.Context, passed map[adapter.Resource]adapter.Key) error {
	if db.Engine.Counters.Describe == nil || len(passed) == 0 {
		return nil
	}
	resources, counters := db.RecordCounters()
	for i, c := range counters {
		key := int64(passed[resources[i]])
		if key <= 0 {
			continue
		}
		var table, described string
		if err := db.Writer.QueryRowContext(ctx, db.Engine.Counters.Describe(c)).Scan(&table, &described); err != nil {
			return err
		}
		if next := nextKeyPattern.FindStringSubmatch(described); next != nil {
			if n, err := strconv.ParseInt(next[1], 10, 64); err != nil || n > key {
				continue
			}
		}
		if _, err := db.Writer.ExecContext(ctx, db.Engine.Counters.ContinueAt(c, key+1)); err != nil {
			return err
		}
	}
	return nil
}
