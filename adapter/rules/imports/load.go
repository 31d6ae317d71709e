package imports

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// Load stores a data set in an empty database, without its credentials, as an import does,
// and at most atOnce records by the same statements: an error names the first of them.
// Customers get the password hashes in hashes. Unless nil, progress is called from time to
// time with the number of records stored so far. Kinds: Invalid; Conflict; Unsupported for
// images if the database stores none.
func Load(ctx context.Context, db rules.Database, tx rules.Tx, data *adapter.Dataset, hashes map[adapter.Key]string, atOnce int, progress func(done, total int)) error {
	l := loader{schemas: db.Schemas(), data: data, hashes: hashes, moment: rules.Now().Text(), last: map[adapter.Resource]int64{}}
	all, total := l.aggregates()
	for done := 0; len(all) > 0; {
		batch := all[:min(atOnce, len(all))]
		if err := loadBatch(ctx, db, tx, batch, data); err != nil {
			return inLoad(batch[0].Record, err)
		}
		for _, one := range batch {
			done += 1 + len(one.Parts)
		}
		if progress != nil {
			progress(done, total)
		}
		all = all[len(batch):]
	}
	return tx.Saved(ctx)
}

// loadBatch imports some records of a data set. Administrators, who cannot be imported, are
// stored unchanged.
func loadBatch(ctx context.Context, db rules.Database, tx rules.Tx, batch []adapter.Aggregate, data *adapter.Dataset) error {
	const op = "load data"
	o := adapter.ImportOptions{Existing: adapter.RefuseExisting, Content: data.Content}
	var imported []adapter.Aggregate
	for _, one := range batch {
		if one.Record.Schema.Resource != adapter.Admins {
			imported = append(imported, one)
		} else if err := loadAdmin(ctx, tx, op, one.Record); err != nil {
			return err
		}
	}
	fitted, files, err := fitBatch(ctx, db, op, imported, o)
	if err != nil {
		return err
	}
	defer files.discard()
	in := newImport(tx, db.Schemas(), op, o)
	in.files, in.ownPointers = files, true
	_, err = in.run(ctx, fitted)
	return err
}

// loadAdmin stores an administrator.
func loadAdmin(ctx context.Context, tx rules.Tx, op string, r adapter.Record) error {
	if err := rules.Canonicalize(op, r); err != nil {
		return err
	}
	if err := rules.CheckRequired(op, r); err != nil {
		return err
	}
	_, err := tx.Insert(ctx, r)
	return err
}

// inLoad adds the record to an error.
func inLoad(r adapter.Record, err error) error {
	op := fmt.Sprintf("load %s %d", r.Schema.Resource, r.Key())
	if fault, ok := errors.AsType[*adapter.Error](err); ok {
		kind := fault.Kind
		if kind == adapter.NotFound { // the record that it belongs to
			kind = adapter.Invalid
		}
		return &adapter.Error{Kind: kind, Op: op, Field: fault.Field, Err: err}
	}
	return fmt.Errorf("%s: %w", op, err)
}

// A loader turns a data set into aggregates.
type loader struct {
	schemas *adapter.Schemas
	data    *adapter.Dataset
	hashes  map[adapter.Key]string
	moment  string
	last    map[adapter.Resource]int64 // greatest keys so far
}

// aggregates returns the records of the data set with their parts and their scoped values,
// and the number of records. A record comes after the records that it refers to.
func (l *loader) aggregates() (all []adapter.Aggregate, total int) {
	roots := map[recordID]int{} // their places in all
	owners := map[recordID]int{}
	for _, r := range adapter.Resources() {
		schema := l.schemas.Of(r)
		for _, given := range l.data.Records[r] {
			one := l.complete(schema, given)
			id := recordID{r, one.Key()}
			total++
			if root, ok := roots[recordID{schema.Root, adapter.Key(one.Get(schema.RootAttribute).Int())}]; ok && isPart(l.schemas, schema) {
				all[root].Parts = append(all[root].Parts, one)
				owners[id] = root
				continue
			}
			roots[id], owners[id] = len(all), len(all)
			all = append(all, adapter.Aggregate{Record: one})
		}
	}
	for _, level := range l.data.Levels {
		if at, ok := owners[recordID{level.Record.Schema.Resource, level.Record.Key()}]; ok {
			all[at].Levels = addLevel(all[at].Levels, level)
		}
	}
	return all, total
}

// addLevel adds the values of a scope to the values that its record already has there.
func addLevel(levels []adapter.Level, more adapter.Level) []adapter.Level {
	at := slices.IndexFunc(levels, func(l adapter.Level) bool {
		return l.StoreID == more.StoreID && l.Record.Schema.Resource == more.Record.Schema.Resource && l.Record.Key() == more.Record.Key()
	})
	if at < 0 {
		return append(levels, adapter.Level{StoreID: more.StoreID, Record: more.Record.Clone()})
	}
	for i, v := range more.Record.Values {
		if v.Kind() != adapter.Absent {
			levels[at].Record.Values[i] = v
		}
	}
	return levels
}

// isPart reports whether records are imported as parts of others.
func isPart(schemas *adapter.Schemas, schema *adapter.Schema) bool {
	return slices.Contains(partsOf(schemas, schema.Root), schema.Resource)
}

// complete returns a record with its key and the values that the store derives.
func (l *loader) complete(schema *adapter.Schema, given adapter.Record) adapter.Record {
	r := given.Clone()
	if given.Schema != schema {
		r = adapter.NewRecord(schema)
		for i, v := range given.Values {
			if at, ok := schema.Index(given.Schema.Attributes[i].Name); ok {
				r.Values[at] = v
			}
		}
	}
	for i := range r.Values {
		if isDerived(&schema.Attributes[i]) {
			r.Values[i] = adapter.Value{}
		}
	}
	r.Set(schema.Key, l.nextKey(schema.Resource, r.Get(schema.Key)))
	switch schema.Resource {
	case adapter.StockItems:
		if !l.data.Verbatim {
			r = adapter.DeriveStockStatus(r, l.data.Stock, l.moment)
		}
	case adapter.Customers:
		if hash, ok := l.hashes[r.Key()]; ok {
			r.Set("password_hash", adapter.TextValue(hash))
		}
	}
	return r
}

// nextKey returns the given key, or the next one if it is absent. The loader counts itself,
// because the counters of a database continue from earlier records.
func (l *loader) nextKey(r adapter.Resource, given adapter.Value) adapter.Value {
	if given.Kind() == adapter.Absent {
		given = adapter.IntegerValue(l.last[r] + 1)
	}
	l.last[r] = max(l.last[r], given.Int())
	return given
}
