package transfer

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

// A removal is what the old shop no longer has of a resource.
type removal struct {
	part     magento1.Part
	resource adapter.Resource
	noted    int64 // records that came from the old shop
	gone     int64
	keys     []adapter.Key          // the first maxRemovals of those that are gone
	reasons  map[adapter.Key]string // why they stay, after they could not be removed
}

// planRemovals returns the records that came from the old shop and are no longer there. It
// fails if these are too many to be believed.
func (imp *Importer) planRemovals(ctx context.Context, parts []Group) ([]*removal, error) {
	if !imp.o.Update {
		return nil, nil
	}
	var all []*removal
	for _, part := range parts {
		if len(part.writtenHere(imp.o.WrittenHere)) > 0 {
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
	return all, imp.checkRemovals(all)
}

// planPart finds what is gone of one part.
func (imp *Importer) planPart(ctx context.Context, p magento1.Part) ([]*removal, error) {
	if readWhole(p) {
		return imp.planWhole(ctx, p)
	}
	found := &removal{part: p, resource: p.Resources()[0]}
	var keys []adapter.Key
	flush := func() error {
		err := imp.planKeys(ctx, found, keys)
		keys = keys[:0]
		return err
	}
	err := imp.eachNoted(ctx, found.resource, 0, lastKey, func(key adapter.Key) error {
		// A batch begins and ends with a range, so that each range is looked at once.
		if len(keys) >= notedBatch && rangeOf(p, keys[len(keys)-1]).through < key {
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
	return []*removal{found}, err
}

// planKeys finds which of some noted keys are gone.
func (imp *Importer) planKeys(ctx context.Context, found *removal, keys []adapter.Key) error {
	var ranges []*keyRange
	for _, key := range keys {
		if len(ranges) == 0 || key > ranges[len(ranges)-1].through {
			r := rangeOf(found.part, key)
			ranges = append(ranges, &r)
		}
	}
	if err := imp.setDigests(ctx, found.part, ranges); err != nil {
		return err
	}
	there := keySet{}
	for _, run := range changedRuns(ranges) {
		if _, err := imp.eachRecord(ctx, found.part, run, func(_ *keyRange, one adapter.Aggregate) error {
			there.add(one.Record.Key())
			return nil
		}); err != nil {
			return err
		}
	}
	at := 0
	for _, key := range keys {
		for key > ranges[at].through {
			at++
		}
		found.add(key, ranges[at].unchanged || there.has(key))
	}
	return nil
}

// planWhole finds what is gone of a part that is read as a whole.
func (imp *Importer) planWhole(ctx context.Context, p magento1.Part) ([]*removal, error) {
	there := resourceKeys{}
	whole := rangeOf(p, 0)
	if _, err := imp.eachRecord(ctx, p, []*keyRange{&whole}, func(_ *keyRange, one adapter.Aggregate) error {
		there.add(one.Record.Schema.Resource, one.Record.Key())
		return nil
	}); err != nil {
		return nil, err
	}
	var all []*removal
	for _, resource := range p.Resources() {
		found := &removal{part: p, resource: resource}
		err := imp.eachNoted(ctx, resource, -1, lastKey, func(key adapter.Key) error {
			found.add(key, there.has(resource, key))
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// add counts a noted key, and keeps it if the old shop no longer has the record.
func (r *removal) add(key adapter.Key, there bool) {
	r.noted++
	if there {
		return
	}
	if r.gone++; r.gone <= maxRemovals {
		r.keys = append(r.keys, key)
	}
}

// checkRemovals fails if more records are gone than is likely, unless --allow-removals says
// that it is right.
func (imp *Importer) checkRemovals(all []*removal) error {
	var total int64
	var many []string
	for _, r := range all {
		total += r.gone
		switch {
		case r.gone == r.noted && r.gone > 0:
			many = append(many, fmt.Sprintf("all %d %s", r.gone, r.resource))
		case r.gone*manyRemovals > r.noted:
			many = append(many, fmt.Sprintf("%d of %d %s", r.gone, r.noted, r.resource))
		}
	}
	switch {
	case imp.o.AllowRemovals >= 0 && total > imp.o.AllowRemovals:
		return fmt.Errorf("the old shop no longer has %d records that were imported from it, and --allow-removals allows to remove %d: nothing was changed", total, imp.o.AllowRemovals)
	case imp.o.AllowRemovals < 0 && len(many) > 0:
		return fmt.Errorf("the old shop no longer has %s that were imported from it, which are more than %d %%: nothing was changed. "+
			"If that is right, add --allow-removals %d", strings.Join(many, ", "), 100/manyRemovals, total)
	default:
		return nil
	}
}

// remove removes what is gone, what refers to other records before these. It returns what is
// refused.
func (imp *Importer) remove(ctx context.Context, all []*removal) (refused []*removal, err error) {
	for _, r := range slices.Backward(all) {
		if len(r.keys) == 0 {
			continue
		}
		if r.gone > maxRemovals {
			imp.Report.note("%d %s are gone from the old shop, and the first %d of them are removed: repeat the command for the others", r.gone, r.resource, maxRemovals)
		}
		again := &removal{part: r.part, resource: r.resource, reasons: map[adapter.Key]string{}}
		for batch := range slices.Chunk(r.keys, insertBatch) {
			err := imp.removeKeys(ctx, r, batch, func(key adapter.Key, reason string) {
				again.keys, again.reasons[key] = append(again.keys, key), reason
			})
			if err != nil {
				return nil, fmt.Errorf("remove %s: %w\nrun the command again to continue", r.resource, err)
			}
		}
		if len(again.keys) > 0 {
			refused = append(refused, again)
		}
	}
	return refused, nil
}

// removeRefused tries again to remove what was refused, as other records have referred to it,
// and counts what still is.
func (imp *Importer) removeRefused(ctx context.Context, all []*removal) error {
	for _, r := range all {
		for batch := range slices.Chunk(r.keys, insertBatch) {
			err := imp.removeKeys(ctx, r, batch, func(key adapter.Key, reason string) {
				imp.Report.records(r.part).skip("it is gone from the old shop, and "+reason, int64(key))
			})
			if err != nil {
				return fmt.Errorf("remove %s: %w\nrun the command again to continue", r.resource, err)
			}
		}
	}
	return nil
}

// removeKeys removes records in one transaction, or each in one of its own if others refer to
// any, and calls refused for those, and for what the backend refuses.
func (imp *Importer) removeKeys(ctx context.Context, r *removal, keys []adapter.Key, refused func(key adapter.Key, reason string)) error {
	const referredTo = "other records still refer to it"
	batch := make([]adapter.Aggregate, len(keys))
	for i, key := range keys {
		batch[i] = imp.goneRecord(r.resource, key)
	}
	outcomes, err := imp.target().Import(ctx, batch, imp.options())
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
				imp.Report.records(r.part).Removed++
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

// goneRecord returns what an import removes.
func (imp *Importer) goneRecord(resource adapter.Resource, key adapter.Key) adapter.Aggregate {
	schema := imp.o.From.Schemas.Of(resource)
	record := adapter.NewRecord(schema)
	record.Set(schema.Key, adapter.IntegerValue(int64(key)))
	return adapter.Aggregate{Record: record, Gone: true}
}
