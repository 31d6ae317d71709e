package rules

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// Import imports a batch into db, as [adapter.Importer] says.
func Import(ctx context.Context, db Database, batch []adapter.Aggregate, o adapter.ImportOptions) (outcomes []adapter.Imported, err error) {
	const op = "import records"
	schemas := db.Schemas()
	fitted := make([]adapter.Aggregate, len(batch))
	for i, one := range batch {
		if fitted[i], err = fitAggregate(schemas, op, one, o); err != nil {
			return nil, err
		}
	}
	err = db.Write(ctx, op, func(tx Tx) error {
		outcomes, err = importAll(ctx, tx, schemas, op, fitted, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// ImportIn is [Import] of one record without parts in a transaction. op is the operation
// for errors.
func ImportIn(ctx context.Context, tx Tx, schemas *adapter.Schemas, op string, r adapter.Record, o adapter.ImportOptions) (adapter.Imported, error) {
	fitted, err := fitAggregate(schemas, op, adapter.Aggregate{Record: r}, o)
	if err != nil {
		return adapter.Imported{}, err
	}
	outcomes, err := importAll(ctx, tx, schemas, op, []adapter.Aggregate{fitted}, o)
	if err != nil {
		return adapter.Imported{}, err
	}
	return outcomes[0], nil
}

// A recordID identifies a record of any resource.
type recordID struct {
	resource adapter.Resource
	key      adapter.Key
}

// An importTx is an import in a transaction.
type importTx struct {
	Tx
	adapter.ImportOptions
	schemas *adapter.Schemas
	op      string
	moment  adapter.Value
	// existing holds those records of the batch that exist: roots, parts, and the
	// customers who own them. The value is the key of a part's root.
	existing map[recordID]int64
	saved    []adapter.Key // products to be saved
	saveAll  bool
}

func importAll(ctx context.Context, tx Tx, schemas *adapter.Schemas, op string, batch []adapter.Aggregate, o adapter.ImportOptions) ([]adapter.Imported, error) {
	if o.DryRun {
		tx = dryTx{tx}
	}
	in := &importTx{Tx: tx, ImportOptions: o, schemas: schemas, op: op, moment: now(), existing: map[recordID]int64{}}
	if err := in.findExisting(ctx, batch); err != nil {
		return nil, err
	}
	greatest := map[adapter.Resource]adapter.Key{}
	for _, one := range batch {
		for _, r := range append([]adapter.Record{one.Record}, one.Parts...) {
			greatest[r.Schema.Resource] = max(greatest[r.Schema.Resource], keyOf(r))
		}
	}
	if err := tx.PassKeys(ctx, greatest); err != nil {
		return nil, err
	}
	outcomes := make([]adapter.Imported, 0, len(batch))
	for _, one := range batch {
		done, err := in.importOne(ctx, one)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, done)
	}
	if in.saveAll {
		return outcomes, tx.Saved(ctx)
	}
	if len(in.saved) > 0 {
		return outcomes, tx.Saved(ctx, in.saved...)
	}
	return outcomes, nil
}

// findExisting fills in.existing by a few statements for the whole batch.
func (in *importTx) findExisting(ctx context.Context, batch []adapter.Aggregate) error {
	wanted, owners := map[adapter.Resource][]int64{}, map[adapter.Resource]string{}
	want := func(r adapter.Resource, key adapter.Value) {
		if key.Kind() == adapter.Integer {
			wanted[r] = append(wanted[r], key.Int())
		}
	}
	for _, one := range batch {
		schema := one.Record.Schema
		want(schema.Resource, one.Record.Get(schema.Key))
		if schema.Owner != "" && schema.Owner != schema.Key {
			want(adapter.Customers, one.Record.Get(schema.Owner))
		}
		for _, part := range one.Parts {
			owners[part.Schema.Resource] = partsOf(in.schemas, schema.Resource)[part.Schema.Resource]
			want(part.Schema.Resource, part.Get(part.Schema.Key))
		}
	}
	for _, r := range slices.Sorted(maps.Keys(wanted)) {
		found, err := in.Find(ctx, r, in.schemas.Of(r).Key, wanted[r])
		if err != nil {
			return err
		}
		for _, record := range found {
			in.existing[recordID{r, keyOf(record)}] = record.Get(owners[r]).Int()
		}
	}
	return nil
}

// importOne imports one record with its parts.
func (in *importTx) importOne(ctx context.Context, one adapter.Aggregate) (adapter.Imported, error) {
	id := recordID{one.Record.Schema.Resource, keyOf(one.Record)}
	_, exists := in.existing[id]
	switch {
	case one.Gone:
		return in.remove(ctx, id, exists)
	case exists && in.Existing == adapter.KeepExisting:
		return adapter.Imported{Key: id.key, Outcome: adapter.ImportKept}, nil
	case exists && in.Existing == adapter.RefuseExisting:
		return adapter.Imported{}, &adapter.Error{Kind: adapter.Conflict, Op: in.op + " of " + string(id.resource), Field: one.Record.Schema.Key, Err: errExists}
	}
	if err := in.check(ctx, one); err != nil {
		return adapter.Imported{}, err
	}
	if exists {
		return in.change(ctx, one)
	}
	key, err := in.create(ctx, one)
	return adapter.Imported{Key: key, Outcome: adapter.ImportCreated}, err
}

// remove removes a record.
func (in *importTx) remove(ctx context.Context, id recordID, exists bool) (adapter.Imported, error) {
	if !exists {
		return adapter.Imported{Key: id.key, Outcome: adapter.ImportEqual}, nil
	}
	removed := adapter.Imported{Key: id.key, Outcome: adapter.ImportRemoved}
	delete(in.existing, id)
	if r, err := in.Lock(ctx, id.resource, id.key); err != nil {
		return removed, err
	} else if id.resource != adapter.Products {
		in.save(id.key, r)
	}
	return removed, in.Delete(ctx, id.resource, id.key)
}

// save notes what the database has to derive again because of a record.
func (in *importTx) save(key adapter.Key, r adapter.Record) {
	switch r.Schema.Resource {
	case adapter.Products:
		in.saved = append(in.saved, key)
	case adapter.ProductWebsites:
		in.saved = append(in.saved, adapter.Key(r.Get("product_id").Int()))
	case adapter.Stores, adapter.Websites:
		in.saveAll = true
	}
}

// check fails if a record cannot be stored because of others.
func (in *importTx) check(ctx context.Context, one adapter.Aggregate) error {
	r, key := one.Record, keyOf(one.Record)
	if owner := r.Schema.Owner; owner != "" && owner != r.Schema.Key && !r.Get(owner).Empty() {
		customer := adapter.Key(r.Get(owner).Int())
		_, there := in.existing[recordID{adapter.Customers, customer}]
		if !there && !(in.DryRun && in.Expected != nil && in.Expected(adapter.Customers, customer)) {
			return &adapter.Error{Kind: adapter.NotFound, Op: in.op, Field: owner}
		}
	}
	op := in.op + " of " + string(r.Schema.Resource)
	if err := checkUnique(ctx, in, op, key, r); err != nil {
		return err
	}
	if r.Schema.Resource == adapter.Products && r.Get("sku").Kind() != adapter.Absent {
		if err := checkSKU(ctx, in, op, key, r); err != nil {
			return err
		}
	}
	for _, part := range one.Parts {
		id := recordID{part.Schema.Resource, keyOf(part)}
		if root, taken := in.existing[id]; taken && root != int64(key) {
			return &adapter.Error{Kind: adapter.Conflict, Op: in.op + " of " + string(id.resource), Field: part.Schema.Key, Err: errTaken}
		}
	}
	return nil
}

// create stores a new record with its parts.
func (in *importTx) create(ctx context.Context, one adapter.Aggregate) (adapter.Key, error) {
	r := one.Record.Clone()
	setTimes(r, in.moment)
	keys, err := in.Insert(ctx, withoutParts(r))
	if err != nil {
		return 0, err
	}
	key := keys[0]
	in.existing[recordID{r.Schema.Resource, key}] = 0
	if r.Schema.Resource == adapter.Products {
		if _, err := setPriceLists(ctx, in, in.op, key, adapter.NewRecord(r.Schema), r); err != nil {
			return 0, err
		}
		if err := initTypes(ctx, in, key); err != nil {
			return 0, err
		}
	}
	in.save(key, r)
	for resource, parts := range byResource(one.Parts) {
		if _, err := in.Insert(ctx, parts...); err != nil {
			return 0, fmt.Errorf("%s: %w", resource, err)
		}
	}
	return key, in.finish(ctx, key, r)
}

// byResource groups parts by their resource.
func byResource(parts []adapter.Record) map[adapter.Resource][]adapter.Record {
	groups := map[adapter.Resource][]adapter.Record{}
	for _, part := range parts {
		groups[part.Schema.Resource] = append(groups[part.Schema.Resource], part)
	}
	return groups
}

// setTimes sets the timestamps that a client's write would set and that r lacks.
func setTimes(r adapter.Record, moment adapter.Value) {
	if !r.Schema.DistinctNulls {
		return // its times say when something happened elsewhere
	}
	for _, name := range timestamps() {
		if hasTimestamp(r.Schema, name) && r.Get(name).Kind() == adapter.Absent {
			r.Set(name, moment)
		}
	}
}

// finish clears the flags of a default address on the customer's other addresses.
func (in *importTx) finish(ctx context.Context, key adapter.Key, r adapter.Record) error {
	if r.Schema.Resource != adapter.CustomerAddresses {
		return nil
	}
	return clearOtherDefaults(ctx, in, key, r, r)
}

// change changes an existing record and its parts to what was imported.
func (in *importTx) change(ctx context.Context, one adapter.Aggregate) (adapter.Imported, error) {
	r, key := one.Record, keyOf(one.Record)
	done := adapter.Imported{Key: key, Outcome: adapter.ImportEqual}
	current, err := in.Lock(ctx, r.Schema.Resource, key)
	if err != nil {
		return done, err
	}
	changed, err := in.changeRecord(ctx, current, r)
	if err == nil && r.Schema.Resource == adapter.Products {
		var priced adapter.Record
		if priced, err = in.At(ctx, current, 0, PriceLists()...); err == nil {
			var prices bool
			prices, err = setPriceLists(ctx, in, in.op, key, priced, r)
			changed = changed || prices
		}
	}
	if err == nil && in.Existing == adapter.ReplaceExisting {
		var parts bool
		parts, err = in.changeParts(ctx, one)
		changed = changed || parts
	}
	if err != nil || !changed {
		return done, err
	}
	done.Outcome = adapter.ImportChanged
	in.save(key, r)
	return done, in.finish(ctx, key, r)
}

// changeRecord makes a locked record have the values of r, and reports whether that
// changes it. Timestamps that r lacks stay as they are, except that updated_at is set if
// others change.
func (in *importTx) changeRecord(ctx context.Context, current, r adapter.Record) (changed bool, err error) {
	change := adapter.NewRecord(current.Schema)
	for i, v := range r.Values {
		a := &current.Schema.Attributes[i]
		if a.Name == current.Schema.Key || !isStored(a) || isDerived(a) {
			continue
		}
		if v.Kind() == adapter.Absent {
			if in.Existing == adapter.MergeExisting || slices.Contains(timestamps(), a.Name) {
				continue
			}
			if v = adapter.NullValue(); current.Schema.DistinctNulls {
				v = adapter.UnsetValue()
			}
		}
		if !same(v, current.Values[i]) {
			change.Values[i], changed = v, true
		}
	}
	if !changed {
		return false, nil
	}
	if in.Existing != adapter.MergeExisting {
		setUpdatedAt(change, r, in.moment)
	}
	return true, in.Update(ctx, current, change)
}

// setUpdatedAt sets updated_at of a change unless r says when it was.
func setUpdatedAt(change, r adapter.Record, moment adapter.Value) {
	if hasTimestamp(r.Schema, "updated_at") && r.Get("updated_at").Kind() == adapter.Absent {
		change.Set("updated_at", moment)
	}
}

// changeParts makes an existing root have the parts that were imported with it, and
// reports whether that changes anything.
func (in *importTx) changeParts(ctx context.Context, one adapter.Aggregate) (changed bool, err error) {
	groups := byResource(one.Parts)
	attributes := partsOf(in.schemas, one.Record.Schema.Resource)
	for _, resource := range slices.Sorted(maps.Keys(attributes)) {
		stored, err := in.Find(ctx, resource, attributes[resource], []int64{int64(keyOf(one.Record))})
		if err != nil {
			return false, err
		}
		had := make(map[adapter.Key]adapter.Record, len(stored))
		for _, part := range stored {
			had[keyOf(part)] = part
		}
		var added []adapter.Record
		for _, part := range groups[resource] {
			was, there := had[keyOf(part)]
			if !there {
				added = append(added, part)
				continue
			}
			delete(had, keyOf(part))
			differs, err := in.changeRecord(ctx, was, part)
			if err != nil {
				return false, err
			}
			changed = changed || differs
		}
		changed = changed || len(added)+len(had) > 0
		for _, key := range slices.Sorted(maps.Keys(had)) {
			if err := in.Delete(ctx, resource, key); err != nil {
				return false, err
			}
		}
		if len(added) > 0 {
			if _, err := in.Insert(ctx, added...); err != nil {
				return false, err
			}
		}
	}
	return changed, nil
}
