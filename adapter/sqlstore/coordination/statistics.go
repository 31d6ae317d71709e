package coordination

import (
	"context"
	"sync"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Statistics counts the records that imports of this process have created, by resource, to renew the statistics of a
// database in time. PostgreSQL renews them by itself from time to time; without them it mistakes the few rows that a
// batch concerns for most of a table, and reads all of it for every batch, or for every row that refers to it.
type Statistics struct {
	mu      sync.Mutex
	created map[adapter.Resource]int64
}

// Renew renews the statistics of all tables after an import, if they are due. Its failure does not fail the import:
// the next plans are slow, not wrong.
func (s *Statistics) Renew(ctx context.Context, db *engine.DB, batch []adapter.Aggregate, outcomes []adapter.Imported) {
	if db.Engine.Analyze != "" && s.add(batch, outcomes) {
		_, _ = db.Writer.ExecContext(ctx, db.Engine.Analyze)
	}
}

// firstStatistics is the number of new records of a resource after which the statistics are renewed
// first, and statisticsFactor multiplies that number for each further renewal.
const (
	firstStatistics  = 500
	statisticsFactor = 8
)

// add counts an import, and reports whether it is time to renew the statistics.
func (s *Statistics) add(batch []adapter.Aggregate, outcomes []adapter.Imported) (due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.created == nil {
		s.created = map[adapter.Resource]int64{}
	}
	for i, o := range outcomes {
		parts := batch[i].PartsOnly && len(batch[i].PartsOf) > 0
		if o.Outcome != adapter.ImportCreated && !(parts && o.Outcome == adapter.ImportChanged) {
			continue
		}
		resource := batch[i].Record.Schema.Resource
		if parts {
			resource = batch[i].PartsOf[0]
		}
		s.created[resource]++
		next := int64(firstStatistics)
		for next < s.created[resource] {
			next *= statisticsFactor
		}
		due = due || next == s.created[resource]
	}
	return due
}
