package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// maxTogether bounds the records that are stored in one transaction since each has what the next
// one is to have.
const maxTogether = 100

// apply takes over the present state of records. It stores those that others refer to before
// these, and removes in the reverse order.
func (s *session) apply(ctx context.Context, named changes) error {
	if err := s.share(ctx); err != nil {
		return err
	}
	var gone []*removal
	for _, p := range magento1.Parts() {
		for keys := range slices.Chunk(slices.Sorted(maps.Keys(named[p])), magento1.MaxKeys) {
			absent, err := s.applyKeys(ctx, p, keys)
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			if len(absent) > 0 {
				gone = append(gone, &removal{part: p, resource: p.Resources()[0], keys: absent})
			}
		}
		if p == magento1.Products { // a new one points to images only after these were imported
			named.add(magento1.Images, s.created...)
			s.created = nil
		}
	}
	return s.removeGone(ctx, gone)
}

// removeGone removes what is gone, and parks what cannot be removed.
func (s *session) removeGone(ctx context.Context, gone []*removal) error {
	before := map[magento1.Part]int64{}
	for _, r := range gone {
		before[r.part] = s.Report.records(r.part).Removed
	}
	refused, err := s.remove(ctx, gone)
	if err != nil {
		return err
	}
	for p, n := range before {
		removed := s.Report.records(p).Removed - n
		s.f.o.Metrics.records(p, adapter.ImportRemoved, int(removed))
		if removed > 0 {
			s.parked.retry(p)
		}
	}
	for _, r := range gone {
		if err := s.parked.unpark(ctx, r.part, r.keys...); err != nil {
			return err
		}
	}
	return s.parked.park(ctx, refusedRemovals(refused)...)
}

// hasKeys reports whether the records of a part are read by their keys.
func hasKeys(p magento1.Part) bool { return !readWhole(p) || p == magento1.Categories }

// refusedRemovals returns what is parked of records that cannot be removed.
func refusedRemovals(all []*removal) (parked []sqlstore.Parked) {
	for _, r := range all {
		for _, key := range r.keys {
			parked = append(parked, sqlstore.Parked{Part: string(r.part), Key: key, Reason: "it is gone from the old shop, and " + r.reasons[key]})
		}
	}
	return parked
}

// applyKeys takes over the present state of some records of a part. It returns the keys of
// those that came from the old shop and are gone there.
func (s *session) applyKeys(ctx context.Context, p magento1.Part, keys []adapter.Key) (gone []adapter.Key, err error) {
	b := s.batch(p)
	records, err := s.recordsOf(ctx, p, keys)
	if err != nil {
		return nil, err
	}
	var ranges []adapter.Key
	for _, key := range keys {
		ranges = append(ranges, rangeOf(p, key).after)
	}
	// From here on the digests no longer hold: the records are of another time.
	if err := s.notes.RemoveRangeDigests(ctx, s.source.Name, string(p), slices.Compact(ranges)...); err != nil {
		return nil, err
	}
	present := keySet{}
	for batch := range slices.Chunk(records, insertBatch) {
		for _, one := range batch {
			present.add(one.Record.Key())
		}
		if err := b.insert(ctx, batch, slices.Repeat([]*keyRange{{}}, len(batch))); err != nil {
			return nil, err
		}
	}
	if err := b.finish(ctx); err != nil {
		return nil, err
	}
	removes := p != magento1.Images && hasKeys(p) && !b.keeps
	for _, key := range keys {
		if present.has(key) {
			continue
		}
		if !removes {
			if err := s.parked.unpark(ctx, p, key); err != nil {
				return nil, err
			}
			continue
		}
		came, err := s.store.Noted(ctx, s.source.Name, p.Resources()[0], key-1, 1)
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
	records, err := s.legacy.RecordsOf(ctx, p, keys...)
	for _, one := range records {
		s.completeURLKey(p, one.Record)
	}
	return records, err
}

// A followBatch stores records for a session, and parks what cannot be stored.
type followBatch struct {
	*importBatch
	s        *session
	refusals []refusal
	unparked []adapter.Key
	counts   map[adapter.ImportOutcome]int
}

// batch returns a batch for the records of a part.
func (s *session) batch(p magento1.Part) *followBatch {
	done := s.Report.records(p)
	s.current = done
	b := &followBatch{s: s, counts: map[adapter.ImportOutcome]int{}}
	b.importBatch = &importBatch{imp: s.Importer, part: p, options: s.options(), done: done, progress: silent{}, keeps: s.o.keeps(p)}
	b.options.Push = true // or clients would not see what is new
	s.settings = s.base
	if b.keeps {
		b.options.Existing = adapter.KeepExisting
		s.settings = shortHash(s.base + " existing records stay")
	}
	b.withoutFile = func(n int) { s.f.o.Metrics.withoutFile.Add(float64(n)) }
	b.refused = func(r refusal) { b.refusals = append(b.refusals, r) }
	b.stored = func(one adapter.Aggregate, outcome adapter.ImportOutcome) {
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

// silent shows no progress.
type silent struct{}

func (silent) Set(int64)      {}
func (silent) Finish(*Counts) {}

// finish stores together what could not be stored one by one, parks what is left, and counts.
func (b *followBatch) finish(ctx context.Context) error {
	s, p := b.s, b.part
	s.current = nil
	var parked []sqlstore.Parked
	for _, r := range b.refusals {
		stored, err := s.storeTogether(ctx, b, r)
		if err != nil {
			return err
		}
		if !stored {
			b.done.skip(r.reason, int64(r.record.Record.Key()))
			parked = append(parked, sqlstore.Parked{Part: string(p), Key: r.record.Record.Key(), Reason: r.reason})
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

// storeTogether stores a record that has a unique value of another one together with that
// one, as both are now, and so on if that one has the value of a third. It reports whether it
// could.
func (s *session) storeTogether(ctx context.Context, b *followBatch, r refusal) (stored bool, err error) {
	keys := map[adapter.Key]bool{r.record.Record.Key(): true}
	refused, cause := []adapter.Record{r.record.Record}, r.err
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
		batch, err := s.together(ctx, b.part, slices.Sorted(maps.Keys(keys)))
		if err != nil {
			return false, err
		}
		outcomes, err := s.target().Import(ctx, batch, b.options)
		if err == nil {
			for i, one := range outcomes {
				if one.Err != nil { // the backend refuses it
					return false, nil
				}
				b.done.count(one.Outcome)
				b.stored(batch[i], one.Outcome)
			}
			return true, nil
		}
		if _, _, ofRecord := skipReason(b.part, err); !ofRecord {
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

// keysWith returns the keys of the other records here that have a record's value of a unique
// attribute.
func (s *session) keysWith(ctx context.Context, r adapter.Record, attribute string) (keys []adapter.Key, err error) {
	store, err := s.store.Store(r.Schema.Resource)
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

// together returns the present state of records in one snapshot: those that came from the old
// shop and are gone there are to be removed.
func (s *session) together(ctx context.Context, p magento1.Part, keys []adapter.Key) ([]adapter.Aggregate, error) {
	batch, err := s.recordsOf(ctx, p, keys)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if slices.ContainsFunc(batch, func(a adapter.Aggregate) bool { return a.Record.Key() == key }) {
			continue
		}
		came, err := s.store.Noted(ctx, s.source.Name, p.Resources()[0], key-1, 1)
		if err != nil {
			return nil, err
		}
		if slices.Contains(came, key) && !s.o.keeps(p) {
			batch = append(batch, s.goneRecord(p.Resources()[0], key))
		}
	}
	return batch, nil
}
