package recordtx

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
)

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
func (db *Database) renewStatistics(ctx context.Context, outcomes []adapter.Imported) {
	if db.Engine.Analyze != "" && db.growth.add(outcomes) {
		_, _ = db.Writer.ExecContext(ctx, db.Engine.Analyze)
	}
}
