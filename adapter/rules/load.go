package rules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// progressEvery is the number of records between two reports of progress.
const progressEvery = 100

// Load stores a data set in an empty database, without its credentials. Customers get the
// password hashes in hashes; unless nil, progress is called from time to time, and at the
// end, with the number of records stored so far. Kinds: Unsupported for images; Invalid;
// Conflict.
func Load(ctx context.Context, tx Tx, schemas *adapter.Schemas, data *adapter.Dataset, hashes map[adapter.Key]string, progress func(done, total int)) error {
	if len(data.Records[adapter.ProductImages]) > 0 {
		return &adapter.Error{Kind: adapter.Unsupported, Op: "load product_images"}
	}
	l := loader{Tx: tx, data: data, hashes: hashes, moment: time.Now().UTC().Format(time.DateTime), last: map[adapter.Resource]int64{}, progress: progress}
	for _, r := range adapter.Resources() {
		l.total += len(data.Records[r])
	}
	for _, r := range adapter.Resources() {
		if err := l.load(ctx, schemas.Of(r), data.Records[r]); err != nil {
			return err
		}
	}
	if err := tx.Saved(ctx); err != nil {
		return err
	}
	if progress != nil {
		progress(l.done, l.total)
	}
	return nil
}

// A loader is a load in a transaction.
type loader struct {
	Tx
	data        *adapter.Dataset
	hashes      map[adapter.Key]string
	moment      string
	last        map[adapter.Resource]int64 // greatest keys so far
	done, total int
	progress    func(done, total int)
}

// load stores the records of one resource.
func (l *loader) load(ctx context.Context, schema *adapter.Schema, records []adapter.Record) error {
	for len(records) > 0 {
		n := min(progressEvery-l.done%progressEvery, len(records))
		batch := make([]adapter.Record, n)
		for i, r := range records[:n] {
			var err error
			if batch[i], err = l.complete(schema, r); err != nil {
				return err
			}
		}
		rows := batch
		if schema.Resource == adapter.Products {
			rows = make([]adapter.Record, n)
			for i, r := range batch {
				rows[i] = withoutParts(r)
			}
		}
		if _, err := l.Insert(ctx, rows...); err != nil {
			return inLoad(schema, batch[0], err)
		}
		for _, r := range batch {
			if err := l.loadPrices(ctx, r); err != nil {
				return inLoad(schema, r, err)
			}
		}
		l.done += n
		if l.progress != nil && l.done%progressEvery == 0 {
			l.progress(l.done, l.total)
		}
		records = records[n:]
	}
	return nil
}

// inLoad adds the record to an error.
func inLoad(schema *adapter.Schema, r adapter.Record, err error) error {
	op := fmt.Sprintf("load %s %d", schema.Resource, keyOf(r))
	var fault *adapter.Error
	if errors.As(err, &fault) {
		return &adapter.Error{Kind: fault.Kind, Op: op, Field: fault.Field, Err: err}
	}
	return fmt.Errorf("%s: %w", op, err)
}

// complete returns a record with its key and the values that the store derives.
func (l *loader) complete(schema *adapter.Schema, given adapter.Record) (adapter.Record, error) {
	r := given.Clone()
	if given.Schema != schema {
		r = adapter.NewRecord(schema)
		for i, v := range given.Values {
			if at, ok := schema.Index(given.Schema.Attributes[i].Name); ok {
				r.Values[at] = v
			}
		}
	}
	r.Set(schema.Key, l.nextKey(schema.Resource, r.Get(schema.Key)))
	switch schema.Resource {
	case adapter.StockItems:
		r = adapter.DeriveStockStatus(r, l.data.Stock, l.moment)
	case adapter.Customers:
		if hash, ok := l.hashes[keyOf(r)]; ok {
			r.Set("password_hash", adapter.TextValue(hash))
		}
	}
	setTimes(r, adapter.TextValue(l.moment))
	op := fmt.Sprintf("load %s %d", schema.Resource, keyOf(r))
	if err := canonicalize(op, r); err != nil {
		return r, err
	}
	return r, checkRequired(op, r)
}

// nextKey returns the given key, or the next one if it is absent. The loader counts
// itself, as the counters of a database go on from earlier records.
func (l *loader) nextKey(r adapter.Resource, given adapter.Value) adapter.Value {
	if given.Kind() == adapter.Absent {
		given = adapter.IntegerValue(l.last[r] + 1)
	}
	l.last[r] = max(l.last[r], given.Int())
	return given
}

// loadPrices stores the price lists of a product.
func (l *loader) loadPrices(ctx context.Context, product adapter.Record) error {
	if product.Schema.Resource != adapter.Products {
		return nil
	}
	for _, list := range PriceLists() {
		var change PriceChange
		for _, entry := range product.Get(list).Records() {
			entry = entry.Clone()
			entry.Set(entry.Schema.Key, l.nextKey(entry.Schema.Resource, entry.Get(entry.Schema.Key)))
			if err := canonicalize("load "+list, entry); err != nil {
				return err
			}
			if err := checkRequired("load "+list, entry); err != nil {
				return err
			}
			change.Added = append(change.Added, entry)
		}
		if len(change.Added) == 0 {
			continue
		}
		change.Product = keyOf(product)
		if err := l.SetPrices(ctx, list, change); err != nil {
			return err
		}
	}
	return nil
}
