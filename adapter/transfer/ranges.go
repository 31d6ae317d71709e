package transfer

import (
	"context"
	"fmt"
	"math"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

const (
	// maxWindow is the number of ranges of which the digests are asked for before their
	// records are read.
	maxWindow = 64
	// lastKey stands for the end of the keys.
	lastKey = adapter.Key(math.MaxInt64 - 1)
)

// A keyRange is a range of keys of the old shop, (after, through]. Its digest says what the
// old shop had there before its records were read.
type keyRange struct {
	after, through adapter.Key
	digest         string
	unchanged      bool // since all records of the range were imported
	// What was imported: the keys by resource, and whether the digest may be noted, as
	// nothing was left out for a reason that may pass.
	keys       resourceKeys
	read       int64
	incomplete bool
}

// rangeOf returns the range that holds a key. Parts that are always read as a whole have one.
func rangeOf(p magento1.Part, key adapter.Key) keyRange {
	if readWhole(p) {
		return keyRange{after: -1, through: lastKey}
	}
	after := (max(key, 1) - 1) / magento1.RangeSize * magento1.RangeSize
	return keyRange{after: after, through: after + magento1.RangeSize}
}

// rangesFrom returns so many ranges, from the one on that holds a key.
func rangesFrom(p magento1.Part, key adapter.Key, count int) []*keyRange {
	first := rangeOf(p, key)
	all := []*keyRange{&first}
	for len(all) < count && all[len(all)-1].through < lastKey-magento1.RangeSize {
		next := rangeOf(p, all[len(all)-1].through+1)
		all = append(all, &next)
	}
	return all
}

// setDigests asks the old shop for the digests of ranges, and compares them with those that
// were noted when the ranges were imported.
func (imp *Importer) setDigests(ctx context.Context, p magento1.Part, ranges []*keyRange) error {
	noted, err := imp.notes.RangeDigests(ctx, imp.source.Name, string(p), ranges[0].after, ranges[len(ranges)-1].after+1)
	if err != nil {
		return err
	}
	before := map[adapter.Key]sqlstore.RangeDigest{}
	for _, d := range noted {
		before[d.After] = d
	}
	for _, r := range ranges {
		id := rangeID{p, r.after}
		if r.unchanged = imp.unchanged[id]; r.unchanged {
			continue
		}
		text, err := imp.legacy.Digests(ctx, p, r.after, r.through)
		if err != nil {
			return err
		}
		r.digest = shortHash(text) // a text may be long
		d, ok := before[r.after]
		if r.unchanged = ok && d.Digest == r.digest && d.Settings == imp.settings; r.unchanged {
			imp.unchanged[id] = true
		}
	}
	return nil
}

// changedRuns returns the ranges that are to be read, in runs of adjacent ones.
func changedRuns(ranges []*keyRange) (runs [][]*keyRange) {
	for i, r := range ranges {
		switch {
		case r.unchanged:
		case i > 0 && !ranges[i-1].unchanged && ranges[i-1].through == r.after:
			runs[len(runs)-1] = append(runs[len(runs)-1], r)
		default:
			runs = append(runs, []*keyRange{r})
		}
	}
	return runs
}

// eachRecord calls f for the records of the old shop in a run of ranges. next is the key of
// the first record behind it, 0 for none.
func (imp *Importer) eachRecord(ctx context.Context, p magento1.Part, run []*keyRange, f func(r *keyRange, one adapter.Aggregate) error) (next adapter.Key, err error) {
	at, end := 0, adapter.Key(math.MaxInt64)
	if !readWhole(p) {
		if next, err = imp.legacy.NextKey(ctx, p, run[len(run)-1].through); err != nil {
			return 0, err
		}
		if next > 0 {
			end = rangeOf(p, next).after // what is between refers to no record, and is reported here
		}
	}
	for one, err := range imp.legacy.RecordsBetween(ctx, p, run[0].after, end) {
		if err != nil {
			return 0, err
		}
		key := one.Record.Key()
		if !readWhole(p) {
			for at < len(run) && key > run[at].through {
				at++
			}
			if at == len(run) { // the shop has got it since
				return key, nil
			}
		}
		imp.completeURLKey(p, one.Record)
		if err := f(run[at], one); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// completeURLKey gives a product without a url_key, as other programs store them, the one that
// the old shop would make when it next computes its addresses.
func (imp *Importer) completeURLKey(p magento1.Part, product adapter.Record) {
	if p != magento1.Products || imp.o.URLKey == nil || product.Get("url_key").Text() != "" {
		return
	}
	key := imp.o.URLKey(product.Get("name").Text())
	if key == "" {
		return
	}
	product.Set("url_key", adapter.TextValue(key))
	if imp.current != nil {
		imp.current.leaveOut("it has no url_key, which is made from its name", fmt.Sprintf("product %d", product.Key()))
	}
}

// forget removes the digests of ranges before their records are imported: until all are,
// they no longer hold.
func (imp *Importer) forget(ctx context.Context, p magento1.Part, from, before adapter.Key) error {
	if imp.o.DryRun || from >= before {
		return nil
	}
	return imp.notes.ReplaceRangeDigests(ctx, imp.source.Name, string(p), from, before)
}

// noteDigest notes the digest of a range of which all records have been imported. It does not
// if the store has records of the range that the old shop did not have when it was read: the
// next import has to find out that they are gone.
func (imp *Importer) noteDigest(ctx context.Context, p magento1.Part, r *keyRange) error {
	if imp.o.DryRun || r.incomplete || r.read == 0 {
		return nil
	}
	if p != magento1.Images {
		for _, resource := range p.Resources() {
			complete := true
			err := imp.eachNoted(ctx, resource, r.after, r.through, func(key adapter.Key) error {
				complete = complete && r.keys.has(resource, key)
				return nil
			})
			if err != nil || !complete {
				return err
			}
		}
	}
	return imp.notes.ReplaceRangeDigests(ctx, imp.source.Name, string(p), r.after, r.after+1,
		sqlstore.RangeDigest{After: r.after, Digest: r.digest, Settings: imp.settings})
}

// notedBatch is the number of noted keys that are read at a time.
const notedBatch = 1000

// eachNoted calls f for the keys in (after, through] of the records of a resource that came
// from the old shop, in ascending order.
func (imp *Importer) eachNoted(ctx context.Context, resource adapter.Resource, after, through adapter.Key, f func(adapter.Key) error) error {
	for {
		keys, err := imp.store.Noted(ctx, imp.source.Name, resource, after, notedBatch)
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
