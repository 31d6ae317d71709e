package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
)

// maxTogether bounds the records stored in one transaction because each holds a unique value that
// the next one takes.
const maxTogether = 100

// apply applies the present state of records. It stores referenced records before the records that
// refer to them, and removes in the reverse order.
func (s *session) apply(ctx context.Context, named changes) error {
	if err := s.share(ctx); err != nil {
		return err
	}
	var gone []*importer.Removal
	for _, p := range magento1.Parts() {
		for keys := range slices.Chunk(slices.Sorted(maps.Keys(named[p])), magento1.MaxKeys) {
			absent, err := s.applyKeys(ctx, p, keys)
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			if len(absent) > 0 {
				gone = append(gone, &importer.Removal{Part: p, Resource: p.Resources()[0], Keys: absent})
			}
		}
		if p == magento1.Products { // a new one points to images only after these were imported
			named.add(magento1.Images, s.created...)
			s.created = nil
		}
	}
	return s.removeGone(ctx, gone)
}

// maxLeftOut bounds the left-out values that are logged, each once: every comparison finds them
// again.
const maxLeftOut = 10_000

// nameLeftOut logs a left-out part or value of a record, unless it was logged before.
func (f *Follower) nameLeftOut(what, reason string) {
	if len(f.leftOut) >= maxLeftOut || f.leftOut[what] {
		return
	}
	f.leftOut[what] = true
	f.o.Log.Warn("a part or a value of a record of the legacy store cannot be stored and is left out", "what", what, "reason", reason)
}

// removeGone removes records that are gone, and parks records that cannot be removed.
func (s *session) removeGone(ctx context.Context, gone []*importer.Removal) error {
	before := map[magento1.Part]int64{}
	for _, r := range gone {
		before[r.Part] = s.Report.Records(r.Part).Removed
	}
	refused, err := s.Remove(ctx, gone)
	if err != nil {
		return err
	}
	for p, n := range before {
		removed := s.Report.Records(p).Removed - n
		s.f.o.Metrics.records(p, adapter.ImportRemoved, int(removed))
		if removed > 0 {
			s.parked.retry(p)
		}
	}
	for _, r := range gone {
		if err := s.parked.unpark(ctx, r.Part, r.Keys...); err != nil {
			return err
		}
	}
	return s.parked.park(ctx, refusedRemovals(refused)...)
}

// hasKeys reports whether the records of a part are read by their keys.
func hasKeys(p magento1.Part) bool { return !importer.ReadWhole(p) || p == magento1.Categories }

// refusedRemovals returns the parked entries for records that cannot be removed.
func refusedRemovals(all []*importer.Removal) (parked []coordination.Parked) {
	for _, r := range all {
		for _, key := range r.Keys {
			parked = append(parked, coordination.Parked{Part: string(r.Part), Key: key, Reason: "it is gone from the legacy store, and " + r.Reasons[key]})
		}
	}
	return parked
}

// applyKeys applies the present state of some records of a part. It returns the keys of imported
// records that the legacy store no longer has.
func (s *session) applyKeys(ctx context.Context, p magento1.Part, keys []adapter.Key) (gone []adapter.Key, err error) {
	b := s.batch(p)
	records, err := s.recordsOf(ctx, p, keys)
	if err != nil {
		return nil, err
	}
	var ranges []adapter.Key
	for _, key := range keys {
		ranges = append(ranges, importer.RangeOf(p, key).After)
	}
	// From here on the digests are no longer valid: the records were read at another time.
	if err := s.Notes.RemoveRangeDigests(ctx, s.Source.Name, string(p), slices.Compact(ranges)...); err != nil {
		return nil, err
	}
	present := importer.KeySet{}
	for batch := range slices.Chunk(records, importer.BatchSize) {
		for _, one := range batch {
			present.Add(one.Record.Key())
		}
		if err := b.Store(ctx, batch, slices.Repeat([]*importer.Range{{}}, len(batch))); err != nil {
			return nil, err
		}
	}
	if err := b.finish(ctx); err != nil {
		return nil, err
	}
	removes := p != magento1.Images && hasKeys(p) && !b.Keeps
	for _, key := range keys {
		if present.Has(key) {
			continue
		}
		if !removes {
			if err := s.parked.unpark(ctx, p, key); err != nil {
				return nil, err
			}
			continue
		}
		came, err := s.Store.Noted(ctx, s.Source.Name, p.Resources()[0], key-1, 1)
		if err != nil {
			return nil, err
		}
		if slices.Contains(came, key) {
			gone = append(gone, key)
		} else if err := s.parked.unpark(ctx, p, key); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// recordsOf returns the present state of records.
func (s *session) recordsOf(ctx context.Context, p magento1.Part, keys []adapter.Key) ([]adapter.Aggregate, error) {
	records, err := s.Legacy.RecordsOf(ctx, p, keys...)
	for _, one := range records {
		s.CompleteURLKey(p, one.Record)
	}
	return records, err
}

// A batch stores records for a session, and parks records that cannot be stored.
type batch struct {
	*importer.Batch
	s        *session
	refusals []importer.Refusal
	unparked []adapter.Key
	counts   map[adapter.ImportOutcome]int
}

// batch returns a batch for the records of a part.
func (s *session) batch(p magento1.Part) *batch {
	b := &batch{Batch: s.NewBatch(p, s.ImportOptions()), s: s, counts: map[adapter.ImportOutcome]int{}}
	s.Current, b.Keeps = b.Done, s.Options.Keeps(p)
	b.Options.Push = true // or clients would not see new records
	s.SettingsDigest = s.base
	if b.Keeps {
		b.Options.Existing = adapter.KeepExisting
		s.SettingsDigest = importer.ShortHash(s.base + " existing records stay")
	}
	b.WithoutFile = func(n int) { s.f.o.Metrics.withoutFile.Add(float64(n)) }
	b.Refused = func(r importer.Refusal) { b.refusals = append(b.refusals, r) }
	b.Stored = func(one adapter.Aggregate, outcome adapter.ImportOutcome) {
		b.counts[outcome]++
		if p == magento1.Products && outcome == adapter.ImportCreated {
			s.created = append(s.created, one.Record.Key())
		}
		if s.parked.has(p, one.Record.Key()) {
			b.unparked = append(b.unparked, one.Record.Key())
		}
	}
	return b
}

// finish stores records together that could not be stored one by one, parks the rest, and counts.
func (b *batch) finish(ctx context.Context) error {
	s, p := b.s, b.Part
	s.Current = nil
	var parked []coordination.Parked
	for _, r := range b.refusals {
		stored, err := s.storeTogether(ctx, b, r)
		if err != nil {
			return err
		}
		if !stored {
			b.Done.Skip(r.Reason, int64(r.Record.Record.Key()))
			parked = append(parked, coordination.Parked{Part: string(p), Key: r.Record.Record.Key(), Reason: r.Reason})
		}
	}
	b.refusals = nil
	if err := s.parked.park(ctx, parked...); err != nil {
		return err
	}
	if err := s.parked.unpark(ctx, p, b.unparked...); err != nil {
		return err
	}
	b.unparked = nil
	changed := 0
	for outcome, n := range b.counts {
		s.f.o.Metrics.records(p, outcome, n)
		if outcome == adapter.ImportCreated || outcome == adapter.ImportChanged {
			changed += n
		}
	}
	b.counts = map[adapter.ImportOutcome]int{}
	if changed > 0 {
		s.parked.retry(p)
	}
	return nil
}

// storeTogether stores a record whose unique value another record here still holds together with
// the present state of that record, and so on along the chain. It reports whether it succeeded.
func (s *session) storeTogether(ctx context.Context, b *batch, r importer.Refusal) (stored bool, err error) {
	keys := map[adapter.Key]bool{r.Record.Record.Key(): true}
	refused, cause := []adapter.Record{r.Record.Record}, r.Err
	for len(keys) < maxTogether {
		var conflict *adapter.Error
		if !errors.As(cause, &conflict) || conflict.Kind != adapter.Conflict || !slices.Contains([]string{"sku", "email"}, conflict.Field) {
			return false, nil
		}
		before := len(keys)
		for _, one := range refused {
			others, err := s.keysWith(ctx, one, conflict.Field)
			if err != nil {
				return false, err
			}
			for _, key := range others {
				keys[key] = true
			}
		}
		if len(keys) == before {
			return false, nil
		}
		batch, err := s.together(ctx, b.Part, slices.Sorted(maps.Keys(keys)))
		if err != nil {
			return false, err
		}
		outcomes, err := s.Target().Import(ctx, batch, b.Options)
		if err == nil {
			for i, one := range outcomes {
				if one.Err != nil { // the backend refuses it
					return false, nil
				}
				b.Done.Count(one.Outcome)
				b.Stored(batch[i], one.Outcome)
			}
			return true, nil
		}
		if _, _, ofRecord := importer.SkipReason(b.Part, err); !ofRecord {
			return false, err
		}
		refused, cause = refused[:0], err
		for _, one := range batch {
			if !one.Gone {
				refused = append(refused, one.Record)
			}
		}
	}
	return false, nil
}

// keysWith returns the keys of the other records here that hold a record's value of a unique
// attribute.
func (s *session) keysWith(ctx context.Context, r adapter.Record, attribute string) (keys []adapter.Key, err error) {
	store, err := s.Store.Store(r.Schema.Resource)
	if err != nil {
		return nil, err
	}
	found, err := store.List(ctx, &adapter.ListParams{
		Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: attribute, Op: adapter.Eq, Operands: []string{r.Get(attribute).Text()}}}}}, Limit: maxTogether},
		Only:  []string{attribute},
	})
	if err != nil {
		return nil, err
	}
	for _, one := range found.Records {
		if adapter.Fold(one.Get(attribute).Text()) == adapter.Fold(r.Get(attribute).Text()) && one.Key() != r.Key() {
			keys = append(keys, one.Key())
		}
	}
	return keys, nil
}

// together returns the present state of records in one snapshot, with a removal for each imported
// record that the legacy store no longer has.
func (s *session) together(ctx context.Context, p magento1.Part, keys []adapter.Key) ([]adapter.Aggregate, error) {
	batch, err := s.recordsOf(ctx, p, keys)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if slices.ContainsFunc(batch, func(a adapter.Aggregate) bool { return a.Record.Key() == key }) {
			continue
		}
		came, err := s.Store.Noted(ctx, s.Source.Name, p.Resources()[0], key-1, 1)
		if err != nil {
			return nil, err
		}
		if slices.Contains(came, key) && !s.Options.Keeps(p) {
			batch = append(batch, s.GoneRecord(p.Resources()[0], key))
		}
	}
	return batch, nil
}
