package sqlstore

import (
	"context"
	"sync/atomic"

	"github.com/portico-commerce/portico/adapter"
)

// A growth counts the records that imports of this process have created. PostgreSQL renews
// the statistics of its tables from time to time; without them it takes the few rows that a
// batch concerns for most of a table, and reads all of it for every batch.
type growth struct{ created atomic.Int64 }

// firstStatistics is after how many new records the statistics are renewed first, and
// statisticsFactor after how many times as many they are renewed again.
const (
	firstStatistics  = 500
	statisticsFactor = 4
)

// add counts an import, and reports whether it is time to renew the statistics.
func (g *growth) add(outcomes []adapter.Imported) bool {
	var created int64
	for _, o := range outcomes {
		if o.Outcome == adapter.ImportCreated || o.Outcome == adapter.ImportChanged {
			created++
		}
	}
	now := g.created.Add(created)
	due := int64(firstStatistics)
	for due*statisticsFactor <= now {
		due *= statisticsFactor
	}
	return now-created < due && due <= now
}

// renewStatistics renews the statistics of all tables after an import, if it is time. Its
// failure is none of the import: the next plans are slow, not wrong.
func (db *DB) renewStatistics(ctx context.Context, outcomes []adapter.Imported) {
	if db.engine.analyze != "" && db.growth.add(outcomes) {
		_, _ = db.writer.ExecContext(ctx, db.engine.analyze)
	}
}
