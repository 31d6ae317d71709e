package sqlstore

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
)

// firstStatistics is the number of new records after which the statistics are renewed
// first, and statisticsFactor multiplies that number for each further renewal.
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

// renewStatistics renews the statistics of all tables after an import, if they are due.
// Its failure does not fail the import: the next plans are slow, not wrong.
func (db *Database) renewStatistics(ctx context.Context, outcomes []adapter.Imported) {
	if db.Engine.Analyze != "" && db.growth.add(outcomes) {
		_, _ = db.Writer.ExecContext(ctx, db.Engine.Analyze)
	}
}
