package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

const (
	// maxRemovals bounds how many records of a resource one import removes. The next import
	// removes more.
	maxRemovals = 1_000_000
	// manyRemovals is the share of a resource's records, one in so many, beyond which an
	// import stops before it removes anything.
	manyRemovals = 20
)

// A Removal lists the records of a resource that the legacy store no longer has.
type Removal struct {
	Part     magento1.Part
	Resource adapter.Resource
	Noted    int64 // records that came from the legacy store
	Gone     int64
	Keys     []adapter.Key          // the first maxRemovals of the records that are gone
	Reasons  map[adapter.Key]string // why they stay, after they could not be removed
}

// planRemovals returns the records that came from the legacy store and are no longer there. It
// fails if these are too many to be believed.
func (imp *Importer) planRemovals(ctx context.Context, parts []group) ([]*Removal, error) {
	if !imp.Options.Update {
		return nil, nil
	}
	var all []*Removal
	for _, part := range parts {
		if len(part.writtenHere(imp.Options.WrittenHere)) > 0 {
			continue
		}
		for _, p := range part.parts {
			if p == magento1.Images {
				continue // they are removed with the import of their product's images
			}
			found, err := imp.planPart(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w\nnothing was changed", p, err)
			}
			all = append(all, found...)
		}
	}
	return all, imp.CheckRemovals(all)
}

// planPart finds the removed records of one part.
func (imp *Importer) planPart(ctx context.Context, p magento1.Part) ([]*Removal, error) {
	if ReadWhole(p) {
		return imp.planWhole(ctx, p)
	}
	found := &Removal{Part: p, Resource: p.Resources()[0]}
	var keys []adapter.Key
	flush := func() error {
		err := imp.planKeys(ctx, found, keys)
		keys = keys[:0]
		return err
	}
	err := imp.EachNoted(ctx, found.Resource, 0, LastKey, func(key adapter.Key) error {
		// A batch begins and ends with a range, so that each range is looked at once.
		if len(keys) >= notedBatch && RangeOf(p, keys[len(keys)-1]).Through < key {
			if err := flush(); err != nil {
				return err
			}
		}
		keys = append(keys, key)
		return nil
	})
	if err == nil && len(keys) > 0 {
		err = flush()
	}
	return []*Removal{found}, err
}

// planKeys finds which of some noted keys are gone.
func (imp *Importer) planKeys(ctx context.Context, found *Removal, keys []adapter.Key) error {
	var ranges []*Range
	for _, key := range keys {
		if len(ranges) == 0 || key > ranges[len(ranges)-1].Through {
			r := RangeOf(found.Part, key)
			ranges = append(ranges, &r)
		}
	}
	if err := imp.setDigests(ctx, found.Part, ranges); err != nil {
		return err
	}
	there := KeySet{}
	for _, run := range changedRuns(ranges) {
		if _, err := imp.eachRecord(ctx, found.Part, run, func(_ *Range, one adapter.Aggregate) error {
			there.Add(one.Record.Key())
			return nil
		}); err != nil {
			return err
		}
	}
	at := 0
	for _, key := range keys {
		for key > ranges[at].Through {
			at++
		}
		found.Add(key, ranges[at].unchanged || there.Has(key))
	}
	return nil
}

// planWhole finds the removed records of a part that is read as a whole.
func (imp *Importer) planWhole(ctx context.Context, p magento1.Part) ([]*Removal, error) {
	there := resourceKeys{}
	whole := RangeOf(p, 0)
	if _, err := imp.eachRecord(ctx, p, []*Range{&whole}, func(_ *Range, one adapter.Aggregate) error {
		there.add(one.Record.Schema.Resource, one.Record.Key())
		return nil
	}); err != nil {
		return nil, err
	}
	var all []*Removal
	for _, resource := range p.Resources() {
		found := &Removal{Part: p, Resource: resource}
		err := imp.EachNoted(ctx, resource, -1, LastKey, func(key adapter.Key) error {
			found.Add(key, there.Has(resource, key))
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// Add counts a noted key, and keeps it if the legacy store no longer has the record.
func (r *Removal) Add(key adapter.Key, there bool) {
	r.Noted++
	if there {
		return
	}
	if r.Gone++; r.Gone <= maxRemovals {
		r.Keys = append(r.Keys, key)
	}
}

// CheckRemovals fails if more records are gone than is likely, unless --allow-removals says
// that it is right.
func (imp *Importer) CheckRemovals(all []*Removal) error {
	var total int64
	var many []string
	for _, r := range all {
		total += r.Gone
		switch {
		case r.Gone == r.Noted && r.Gone > 0:
			many = append(many, fmt.Sprintf("all %d %s", r.Gone, r.Resource))
		case r.Gone*manyRemovals > r.Noted:
			many = append(many, fmt.Sprintf("%d of %d %s", r.Gone, r.Noted, r.Resource))
		}
	}
	switch {
	case imp.Options.AllowRemovals >= 0 && total > imp.Options.AllowRemovals:
		return fmt.Errorf("the legacy store no longer has %d records that were imported from it, and --allow-removals allows to remove %d: nothing was changed", total, imp.Options.AllowRemovals)
	case imp.Options.AllowRemovals < 0 && len(many) > 0:
		return fmt.Errorf("the legacy store no longer has %s that were imported from it, which are more than %d %%: nothing was changed. "+
			"If that is right, add --allow-removals %d", strings.Join(many, ", "), 100/manyRemovals, total)
	default:
		return nil
	}
}

// Remove removes the records that are gone, records that refer to others before the records that
// they refer to. It returns the records whose removal was refused.
func (imp *Importer) Remove(ctx context.Context, all []*Removal) (refused []*Removal, err error) {
	for _, r := range slices.Backward(all) {
		if len(r.Keys) == 0 {
			continue
		}
		if r.Gone > maxRemovals {
			imp.Report.note("%d %s are gone from the legacy store, and the first %d of them are removed: repeat the command for the others", r.Gone, r.Resource, maxRemovals)
		}
		again := &Removal{Part: r.Part, Resource: r.Resource, Reasons: map[adapter.Key]string{}}
		for batch := range slices.Chunk(r.Keys, BatchSize) {
			err := imp.removeKeys(ctx, r, batch, func(key adapter.Key, reason string) {
				again.Keys, again.Reasons[key] = append(again.Keys, key), reason
			})
			if err != nil {
				return nil, fmt.Errorf("remove %s: %w\nrun the command again to continue", r.Resource, err)
			}
		}
		if len(again.Keys) > 0 {
			refused = append(refused, again)
		}
	}
	return refused, nil
}

// removeRefused tries again to remove the refused records, as other records have referred to them,
// and counts the records that are still refused.
func (imp *Importer) removeRefused(ctx context.Context, all []*Removal) error {
	for _, r := range all {
		for batch := range slices.Chunk(r.Keys, BatchSize) {
			err := imp.removeKeys(ctx, r, batch, func(key adapter.Key, reason string) {
				imp.Report.Records(r.Part).Skip("it is gone from the legacy store, and "+reason, int64(key))
			})
			if err != nil {
				return fmt.Errorf("remove %s: %w\nrun the command again to continue", r.Resource, err)
			}
		}
	}
	return nil
}

// removeKeys removes records in one transaction, or each in one of its own if others refer to any.
// It calls refused for records that others refer to, and for records that the backend refuses.
func (imp *Importer) removeKeys(ctx context.Context, r *Removal, keys []adapter.Key, refused func(key adapter.Key, reason string)) error {
	const referredTo = "other records still refer to it"
	batch := make([]adapter.Aggregate, len(keys))
	for i, key := range keys {
		batch[i] = imp.GoneRecord(r.Resource, key)
	}
	outcomes, err := imp.Target().Import(ctx, batch, imp.ImportOptions())
	var storeErr *adapter.Error
	switch {
	case err == nil:
		for i, one := range outcomes {
			switch {
			case one.Err != nil && adapter.KindOf(one.Err) == adapter.Conflict:
				refused(keys[i], referredTo)
			case one.Err != nil:
				refused(keys[i], backendReason(one.Err))
			case one.Outcome == adapter.ImportRemoved:
				imp.Report.Records(r.Part).Removed++
			}
		}
		return nil
	case !errors.As(err, &storeErr) || storeErr.Kind != adapter.Conflict:
		return err
	case len(keys) == 1:
		refused(keys[0], referredTo)
		return nil
	}
	half := len(keys) / 2
	if err := imp.removeKeys(ctx, r, keys[:half], refused); err != nil {
		return err
	}
	return imp.removeKeys(ctx, r, keys[half:], refused)
}

// GoneRecord returns the aggregate that removes a record when it is imported.
func (imp *Importer) GoneRecord(resource adapter.Resource, key adapter.Key) adapter.Aggregate {
	schema := imp.Options.From.Schemas.Of(resource)
	record := adapter.NewRecord(schema)
	record.Set(schema.Key, adapter.IntegerValue(int64(key)))
	return adapter.Aggregate{Record: record, Gone: true}
}
