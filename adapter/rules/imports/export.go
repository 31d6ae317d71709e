package imports

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// Export exports the records of from, a store of db, as described at [adapter.Exporter].
func Export(ctx context.Context, db rules.Database, from adapter.Store, r adapter.Resource, after adapter.Key, limit int) ([]adapter.Aggregate, error) {
	op := "export " + string(r)
	schema := db.Schemas().Of(r)
	if schema == nil || schema.Root == adapter.Products || schema.Root == adapter.Orders {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	p := adapter.ListParams{Query: adapter.Query{After: &adapter.Cursor{Key: after}, Limit: int64(limit)}}
	if r == adapter.Products {
		p.With = rules.PriceLists()
	}
	listed, err := from.List(ctx, &p)
	if err != nil || len(listed.Records) == 0 {
		return nil, err
	}
	var all []adapter.Aggregate
	err = db.Write(ctx, op, func(tx rules.Tx) error { // this only reads
		e := export{tx: tx, roots: make(map[adapter.Key]*adapter.Aggregate, len(listed.Records))}
		all = make([]adapter.Aggregate, len(listed.Records))
		keys := make([]adapter.Key, len(all))
		for i, record := range listed.Records {
			all[i].Record, keys[i] = withoutDerived(record), record.Key()
			e.roots[keys[i]] = &all[i]
		}
		if err := e.addLevels(ctx, r, e.roots, keys); err != nil {
			return err
		}
		return e.addParts(ctx, db.Schemas(), r, keys)
	})
	return all, err
}

// withoutDerived returns a record without the values that an import does not accept
// because they follow from other records.
func withoutDerived(r adapter.Record) adapter.Record {
	r = r.Clone()
	for i := range r.Values {
		if isDerived(&r.Schema.Attributes[i]) {
			r.Values[i] = adapter.Value{}
		}
	}
	return r
}

// An export adds the other stored data to records.
type export struct {
	tx    rules.Tx
	roots map[adapter.Key]*adapter.Aggregate
}

// addLevels adds the scoped values of records, which are the roots or parts of them.
func (e *export) addLevels(ctx context.Context, r adapter.Resource, of map[adapter.Key]*adapter.Aggregate, keys []adapter.Key) error {
	if !hasLevels(r) || len(keys) == 0 {
		return nil
	}
	levels, err := e.tx.Levels(ctx, r, keys)
	if err == nil && r == adapter.Products {
		var pointers []rules.LevelValues
		pointers, err = e.tx.Pointers(ctx, keys)
		levels = append(levels, pointers...)
	}
	for _, l := range levels {
		one := of[l.Key]
		l.Record.Set(l.Record.Schema.Key, adapter.IntegerValue(int64(l.Key)))
		one.Levels = addLevel(one.Levels, adapter.Level{StoreID: l.Level, Record: l.Record})
	}
	return err
}

// addParts adds the parts of the roots.
func (e *export) addParts(ctx context.Context, schemas *adapter.Schemas, root adapter.Resource, roots []adapter.Key) error {
	if root != adapter.Products && root != adapter.Orders {
		return nil
	}
	for _, r := range adapter.Resources() {
		schema := schemas.Of(r)
		if schema.Root != root {
			continue
		}
		parts, err := e.tx.Find(ctx, r, schema.RootAttribute, keyValues(roots))
		if err != nil {
			return err
		}
		of := make(map[adapter.Key]*adapter.Aggregate, len(parts))
		keys := make([]adapter.Key, len(parts))
		for i, part := range parts {
			one := e.roots[adapter.Key(part.Get(schema.RootAttribute).Int())]
			one.Parts = append(one.Parts, part)
			keys[i] = part.Key()
			of[keys[i]] = one
		}
		if err := e.addLevels(ctx, r, of, keys); err != nil {
			return err
		}
	}
	return nil
}
