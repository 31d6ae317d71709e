package importer

import (
	"context"
	"fmt"
	"math"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
)

const (
	// maxWindow is the number of ranges of which the digests are asked for before their
	// records are read.
	maxWindow = 64
	// LastKey stands for the end of the keys.
	LastKey = adapter.Key(math.MaxInt64 - 1)
)

// A Range is a range of keys of the legacy store, (after, through]. Its digest covers the rows of
// the legacy store before its records were read.
type Range struct {
	After, Through adapter.Key
	digest         string
	unchanged      bool // since all records of the range were imported
	// The imported keys by resource, the number of records read, and whether the digest must not be
	// recorded, as records were left out for a reason that may pass.
	Keys       resourceKeys
	read       int64
	incomplete bool
}

// RangeOf returns the range that holds a key. Parts that are always read as a whole have one.
func RangeOf(p magento1.Part, key adapter.Key) Range {
	if ReadWhole(p) {
		return Range{After: -1, Through: LastKey}
	}
	after := (max(key, 1) - 1) / magento1.RangeSize * magento1.RangeSize
	return Range{After: after, Through: after + magento1.RangeSize}
}

// RangesFrom returns so many ranges, from the one on that holds a key.
func RangesFrom(p magento1.Part, key adapter.Key, count int) []*Range {
	first := RangeOf(p, key)
	all := []*Range{&first}
	for len(all) < count && all[len(all)-1].Through < LastKey-magento1.RangeSize {
		next := RangeOf(p, all[len(all)-1].Through+1)
		all = append(all, &next)
	}
	return all
}

// setDigests asks the legacy store for the digests of ranges, and compares them with the digests
// that were recorded when the ranges were imported.
func (imp *Importer) setDigests(ctx context.Context, p magento1.Part, ranges []*Range) error {
	noted, err := imp.Notes.RangeDigests(ctx, imp.Source.Name, string(p), ranges[0].After, ranges[len(ranges)-1].After+1)
	if err != nil {
		return err
	}
	before := map[adapter.Key]coordination.RangeDigest{}
	for _, d := range noted {
		before[d.After] = d
	}
	for _, r := range ranges {
		id := rangeID{p, r.After}
		if r.unchanged = imp.Unchanged[id]; r.unchanged {
			continue
		}
		text, err := imp.Legacy.Digests(ctx, p, r.After, r.Through)
		if err != nil {
			return err
		}
		r.digest = ShortHash(text) // a text may be long
		d, ok := before[r.After]
		if r.unchanged = ok && d.Digest == r.digest && d.Settings == imp.SettingsDigest; r.unchanged {
			imp.Unchanged[id] = true
		}
	}
	return nil
}

// changedRuns returns the ranges that are to be read, in runs of adjacent ones.
func changedRuns(ranges []*Range) (runs [][]*Range) {
	for i, r := range ranges {
		switch {
		case r.unchanged:
		case i > 0 && !ranges[i-1].unchanged && ranges[i-1].Through == r.After:
			runs[len(runs)-1] = append(runs[len(runs)-1], r)
		default:
			runs = append(runs, []*Range{r})
		}
	}
	return runs
}

// eachRecord calls f for the records of the legacy store in a run of ranges. next is the key of the
// first record behind it, 0 for none.
func (imp *Importer) eachRecord(ctx context.Context, p magento1.Part, run []*Range, f func(r *Range, one adapter.Aggregate) error) (next adapter.Key, err error) {
	at, end := 0, adapter.Key(math.MaxInt64)
	if !ReadWhole(p) {
		if next, err = imp.Legacy.NextKey(ctx, p, run[len(run)-1].Through); err != nil {
			return 0, err
		}
		if next > 0 {
			end = RangeOf(p, next).After // rows in between refer to no record, and are reported here
		}
	}
	for one, err := range imp.Legacy.RecordsBetween(ctx, p, run[0].After, end) {
		if err != nil {
			return 0, err
		}
		key := one.Record.Key()
		if !ReadWhole(p) {
			for at < len(run) && key > run[at].Through {
				at++
			}
			if at == len(run) { // the shop has got it since
				return key, nil
			}
		}
		imp.CompleteURLKey(p, one.Record)
		if err := f(run[at], one); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// CompleteURLKey sets the url_key of a product without one, as other programs store products, to
// the url_key that the legacy store would make when it next computes its addresses.
func (imp *Importer) CompleteURLKey(p magento1.Part, product adapter.Record) {
	if p != magento1.Products || imp.Options.URLKey == nil || product.Get("url_key").Text() != "" {
		return
	}
	key := imp.Options.URLKey(product.Get("name").Text())
	if key == "" {
		return
	}
	product.Set("url_key", adapter.TextValue(key))
	if imp.Current != nil {
		imp.Current.leaveOut("it has no url_key, which is made from its name", fmt.Sprintf("product %d", product.Key()))
	}
}

// ForgetDigests removes the digests of ranges before their records are imported: until all are,
// they no longer hold.
func (imp *Importer) ForgetDigests(ctx context.Context, p magento1.Part, from, before adapter.Key) error {
	if imp.Options.DryRun || from >= before {
		return nil
	}
	return imp.Notes.ReplaceRangeDigests(ctx, imp.Source.Name, string(p), from, before)
}

// noteDigest notes the digest of a range of which all records have been imported. It does not if
// the store has records of the range that the legacy store did not have when it was read: the next
// import has to find out that they are gone.
func (imp *Importer) noteDigest(ctx context.Context, p magento1.Part, r *Range) error {
	if imp.Options.DryRun || r.incomplete || r.read == 0 {
		return nil
	}
	if p != magento1.Images {
		for _, resource := range p.Resources() {
			complete := true
			err := imp.EachNoted(ctx, resource, r.After, r.Through, func(key adapter.Key) error {
				complete = complete && r.Keys.Has(resource, key)
				return nil
			})
			if err != nil || !complete {
				return err
			}
		}
	}
	return imp.Notes.ReplaceRangeDigests(ctx, imp.Source.Name, string(p), r.After, r.After+1,
		coordination.RangeDigest{After: r.After, Digest: r.digest, Settings: imp.SettingsDigest})
}

// notedBatch is the number of noted keys that are read at a time.
const notedBatch = 1000

// EachNoted calls f for the keys in (after, through] of the records of a resource that came from
// the legacy store, in ascending order.
func (imp *Importer) EachNoted(ctx context.Context, resource adapter.Resource, after, through adapter.Key, f func(adapter.Key) error) error {
	for {
		keys, err := imp.Store.Noted(ctx, imp.Source.Name, resource, after, notedBatch)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if after = key; key > through {
				return nil
			}
			if err := f(key); err != nil {
				return err
			}
		}
		if len(keys) < notedBatch {
			return nil
		}
	}
}
