package follow

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
)

// A parked record is retried with exponential backoff from firstRetry to lastRetry.
const firstRetry, lastRetry = time.Minute, time.Hour

// parkedRecords is the dead-letter queue: the records that could not be stored and are retried.
type parkedRecords struct {
	records map[magento1.Part]map[adapter.Key]coordination.Parked
	notes   coordination.ImportLog
	source  string // the name of the legacy store; "": the source was not yet checked
	log     *slog.Logger
	metrics *Metrics
	// refused collects records that cannot be stored, for sessions that leave them to the follower;
	// nil: the session parks them.
	refused changes
}

// has reports whether a record is parked.
func (k *parkedRecords) has(p magento1.Part, key adapter.Key) bool {
	_, ok := k.records[p][key]
	return ok
}

// set remembers that a record is parked.
func (k *parkedRecords) set(p coordination.Parked) {
	part := magento1.Part(p.Part)
	if k.records[part] == nil {
		k.records[part] = map[adapter.Key]coordination.Parked{}
	}
	k.records[part][p.Key] = p
	k.metrics.parked(part, len(k.records[part]))
}

// park parks records: they are retried after a while, and after other records have changed.
func (k *parkedRecords) park(ctx context.Context, records ...coordination.Parked) error {
	if len(records) == 0 {
		return nil
	}
	if k.refused != nil {
		for _, p := range records {
			k.refused.add(magento1.Part(p.Part), p.Key)
		}
		return nil
	}
	now := time.Now()
	var fresh []coordination.Parked
	for _, p := range records {
		part := magento1.Part(p.Part)
		before, again := k.records[part][p.Key]
		if len(k.records[part]) >= coordination.MaxParked && !again {
			continue // the comparison finds it again
		}
		if p.ParkedAt = now; again {
			p.ParkedAt, p.Attempts = before.ParkedAt, before.Attempts
		} else {
			k.log.Warn("a record of the legacy store cannot be stored and is tried again", "part", p.Part, "id", int64(p.Key), "reason", p.Reason)
		}
		p.Attempts++
		p.RetryAt = now.Add(min(firstRetry<<min(p.Attempts-1, 10), lastRetry))
		fresh = append(fresh, p)
	}
	if err := k.notes.Park(ctx, k.source, fresh...); err != nil {
		return err
	}
	for _, p := range fresh {
		k.set(p)
	}
	return nil
}

// unpark forgets that records are parked.
func (k *parkedRecords) unpark(ctx context.Context, p magento1.Part, keys ...adapter.Key) error {
	var known []adapter.Key
	for _, key := range keys {
		if k.has(p, key) {
			known = append(known, key)
		}
	}
	if len(known) == 0 {
		return nil
	}
	if err := k.notes.Unpark(ctx, k.source, string(p), known...); err != nil {
		return err
	}
	for _, key := range known {
		delete(k.records[p], key)
	}
	k.metrics.parked(p, len(k.records[p]))
	return nil
}

// retry schedules a retry of the records that may have waited for the changed records of a part.
func (k *parkedRecords) retry(p magento1.Part) {
	later := slices.Index(magento1.Parts(), p)
	for _, q := range magento1.Parts()[later:] {
		for key, parked := range k.records[q] {
			parked.RetryAt = time.Time{}
			k.records[q][key] = parked
		}
	}
}

// due returns the parked records that are due for a retry, some of each part at a time. A record
// whose wait is too long was parked before the clock was set back.
func (k *parkedRecords) due(now time.Time) changes {
	again := changes{}
	for p, parked := range k.records {
		for key, one := range parked {
			wait := one.RetryAt.Sub(now)
			if isDue := wait <= 0 || wait > lastRetry; isDue && len(again[p]) < magento1.MaxKeys {
				again.add(p, key)
			}
		}
	}
	return again
}
