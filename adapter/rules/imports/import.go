package imports

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// maxSource is the longest name of a source, and maxSourcePosition the longest position, in
// bytes.
const (
	maxSource         = 64
	maxSourcePosition = 32 << 10
)

var (
	errSource   = errors.New("must have at most 64 characters")
	errPosition = errors.New("must have at most 32 KiB, and belong to a source")
)

// Import imports a batch into db, as described at [adapter.Importer].
func Import(ctx context.Context, db rules.Database, batch []adapter.Aggregate, o adapter.ImportOptions) (outcomes []adapter.Imported, err error) {
	const op = "import records"
	if len(o.Source) > maxSource {
		return nil, rules.Invalid(op, "source", errSource)
	}
	if len(o.Position) > maxSourcePosition || o.Position != "" && o.Source == "" {
		return nil, rules.Invalid(op, "position", errPosition)
	}
	fitted, files, err := fitBatch(ctx, db, op, batch, o)
	if err != nil {
		return nil, err
	}
	defer files.discard()
	err = db.Write(ctx, op, func(tx rules.Tx) error {
		in := newImport(tx, db.Schemas(), op, o)
		in.files = files
		if outcomes, err = in.run(ctx, fitted); err != nil {
			return err
		}
		if o.Position != "" {
			if err := in.SetPosition(ctx, o.Source, o.Position); err != nil {
				return err
			}
		}
		if len(in.changed) == 0 {
			return nil
		}
		return in.Changed(ctx, in.changed)
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// Check returns the error with which Import refuses a record, whatever is stored: nil if it may store
// it.
func Check(schemas *adapter.Schemas, one adapter.Aggregate, o adapter.ImportOptions) error {
	_, err := fitAggregate(schemas, "import records", &one, o)
	return err
}

// fitBatch converts a batch to the schemas of the database, checks it, and gets the bytes of
// its images, which the caller discards.
func fitBatch(ctx context.Context, db rules.Database, op string, batch []adapter.Aggregate, o adapter.ImportOptions) (fitted []adapter.Aggregate, files *importedFiles, err error) {
	fitted = make([]adapter.Aggregate, len(batch))
	for i := range batch {
		if fitted[i], err = fitAggregate(db.Schemas(), op, &batch[i], o); err != nil {
			return nil, nil, err
		}
	}
	files, err = newImportedFiles(ctx, db, fitted, o)
	return fitted, files, err
}

// ImportIn is [Import] of one record without parts in a transaction. op is the operation
// for errors.
func ImportIn(ctx context.Context, tx rules.Tx, schemas *adapter.Schemas, op string, r adapter.Record, o adapter.ImportOptions) (adapter.Imported, error) {
	fitted, err := fitAggregate(schemas, op, &adapter.Aggregate{Record: r}, o)
	if err != nil {
		return adapter.Imported{}, err
	}
	outcomes, err := newImport(tx, schemas, op, o).run(ctx, []adapter.Aggregate{fitted})
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

// An importTx is an import in a transaction. It reads, compares and stores groups of records
// at once: the number of its statements does not depend on the number of records that are new
// or unchanged.
type importTx struct {
	rules.Tx
	comparer
	exists map[recordID]bool // known existence of records that others refer to
	views  map[int64]bool    // the store views; nil before they are read
	// bare holds the pictured products that the import has created and that have no images
	// yet.
	bare   map[adapter.Key]bool
	giveUp map[adapter.Key]bool // records of the group that give up unique values
	// skuChanges are the units that set the SKU of a product or remove the product.
	skuChanges []*unit
	saved      []adapter.Key // products to be saved
	saveAll    bool
	// restocked are products of which only the stock item has changed.
	restocked []adapter.Key
	changed   map[adapter.Resource][]adapter.Key // see [rules.Imports].Changed
}

func newImport(tx rules.Tx, schemas *adapter.Schemas, op string, o adapter.ImportOptions) *importTx {
	if o.DryRun {
		tx = dryTx{tx}
	}
	return &importTx{
		Tx:       tx,
		comparer: comparer{ImportOptions: o, schemas: schemas, op: op, moment: rules.Now(), files: &importedFiles{}, pictured: map[adapter.Key]bool{}},
		exists:   map[recordID]bool{}, bare: map[adapter.Key]bool{}, giveUp: map[adapter.Key]bool{}, changed: map[adapter.Resource][]adapter.Key{},
	}
}

// run imports a batch of fitted aggregates.
func (in *importTx) run(ctx context.Context, batch []adapter.Aggregate) ([]adapter.Imported, error) {
	if err := in.passKeys(ctx, batch); err != nil {
		return nil, err
	}
	outcomes := make([]adapter.Imported, len(batch))
	for i := range batch {
		if one := &batch[i]; one.PartsOnly && slices.Contains(one.PartsOf, adapter.ProductImages) {
			in.pictured[one.Record.Key()] = true
		}
	}
	for _, units := range groups(batch) {
		if err := in.importGroup(ctx, units); err != nil {
			return nil, err
		}
		for _, u := range units {
			outcomes[u.at] = u.done
			in.noteChange(u)
		}
	}
	if err := in.derive(ctx); err != nil {
		return nil, err
	}
	return outcomes, in.checkSKUs(ctx)
}

// derive lets the database update the data that it derives from the imported records.
func (in *importTx) derive(ctx context.Context) error {
	if in.saveAll {
		return in.Saved(ctx)
	}
	if len(in.saved) > 0 {
		slices.Sort(in.saved)
		if err := in.Saved(ctx, slices.Compact(in.saved)...); err != nil {
			return err
		}
	}
	slices.Sort(in.restocked)
	return in.Restocked(ctx, slices.Compact(in.restocked)...)
}

// passKeys makes the keys that the database chooses later greater than the keys of the batch.
func (in *importTx) passKeys(ctx context.Context, batch []adapter.Aggregate) error {
	greatest := map[adapter.Resource]adapter.Key{}
	maps.Copy(greatest, in.Passed)
	pass := func(r adapter.Record) {
		greatest[r.Schema.Resource] = max(greatest[r.Schema.Resource], r.Key())
	}
	for i := range batch {
		pass(batch[i].Record)
		for _, part := range batch[i].Parts {
			pass(part)
		}
		for _, list := range rules.PriceLists() {
			for _, entry := range batch[i].Record.Get(list).Records() {
				pass(entry)
			}
		}
	}
	maps.DeleteFunc(greatest, func(_ adapter.Resource, key adapter.Key) bool { return key <= 0 })
	return in.PassKeys(ctx, greatest)
}

// A unit is an aggregate of the batch, and the state of its import.
type unit struct {
	*adapter.Aggregate
	at      int // its place in the batch
	schema  *adapter.Schema
	given   *adapter.Aggregate // as imported; Aggregate holds the pending values instead
	key     adapter.Key        // 0 until the database has chosen it
	exists  bool
	pending bool // clients have changed a value that the system it comes from does not know yet
	settled settled
	// deletedHere: a client has deleted the record here, and the system it comes from does not
	// know that yet.
	deletedHere bool
	stored      snapshot
	differences
	done adapter.Imported
}

// groups divides a batch into groups of one resource whose records can be imported at once: no
// two have the same key. A group comes after the groups that it refers to, and the parts of
// existing records after the records.
func groups(batch []adapter.Aggregate) [][]*unit {
	type groupID struct {
		resource  int
		partsOnly int
		repeated  int // how often the key came before
	}
	resources := adapter.Resources()
	seen := map[groupID]map[adapter.Key]int{}
	all := map[groupID][]*unit{}
	for i := range batch {
		schema := batch[i].Record.Schema
		u := &unit{Aggregate: &batch[i], given: &batch[i], at: i, schema: schema, key: batch[i].Record.Key()}
		id := groupID{resource: slices.Index(resources, schema.Resource)}
		if u.PartsOnly {
			id.partsOnly = 1
		}
		if u.hasKey() {
			if seen[id] == nil {
				seen[id] = map[adapter.Key]int{}
			}
			count := seen[id]
			id.repeated = count[u.key]
			count[u.key]++
		}
		all[id] = append(all[id], u)
	}
	order := slices.SortedFunc(maps.Keys(all), func(a, b groupID) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.repeated, b.repeated), cmp.Compare(a.partsOnly, b.partsOnly))
	})
	sorted := make([][]*unit, len(order))
	for i, id := range order {
		sorted[i] = all[id]
	}
	return sorted
}

// hasKey reports whether the record came with a key, which is 0 for the group of guests.
func (u *unit) hasKey() bool { return u.Record.Get(u.schema.Key).Kind() == adapter.Integer }

// id identifies the record.
func (u *unit) id() recordID { return recordID{u.schema.Resource, u.key} }

// importGroup imports the records of a group.
func (in *importTx) importGroup(ctx context.Context, units []*unit) error {
	if err := in.load(ctx, units); err != nil {
		return err
	}
	differing, err := in.decide(units)
	if err != nil {
		return err
	}
	if differing, err = in.lockExisting(ctx, differing); err != nil {
		return err
	}
	for _, u := range differing {
		if err := u.settled.store(ctx, in); err != nil {
			return err
		}
	}
	if err := in.removeGone(ctx, differing); err != nil {
		return err
	}
	var stored []*unit
	for _, u := range differing {
		if !u.Gone {
			stored = append(stored, u)
		}
	}
	if err := in.check(ctx, stored, differing); err != nil {
		return err
	}
	if err := in.store(ctx, stored); err != nil {
		return err
	}
	return in.note(ctx, units)
}

// decide compares the records of a group with the stored ones, sets their outcomes, and
// returns the records that differ.
func (in *importTx) decide(units []*unit) (differing []*unit, err error) {
	for _, u := range units {
		differs, err := in.decideOne(u)
		if err != nil {
			return nil, err
		}
		if differs {
			differing = append(differing, u)
		}
	}
	return differing, nil
}

// decideOne is decide for one record.
func (in *importTx) decideOne(u *unit) (differs bool, err error) {
	u.differences = differences{}
	u.done = adapter.Imported{Key: u.key, Outcome: adapter.ImportEqual, Pending: u.pending}
	switch {
	case u.deletedHere && !u.exists:
		u.done.Outcome = adapter.ImportKept
		return false, nil
	case u.Gone:
		if u.exists {
			u.done.Outcome = adapter.ImportRemoved
		}
		return u.exists, nil
	case u.PartsOnly && !u.exists && !in.isExpected(u.id()):
		return false, &adapter.Error{Kind: adapter.NotFound, Op: in.op, Field: u.schema.Key}
	case in.isTaken(u) && in.Existing == adapter.RefuseExisting:
		return false, &adapter.Error{Kind: adapter.Conflict, Op: in.op + " of " + string(u.schema.Resource), Field: u.schema.Key, Err: errExists}
	case in.isTaken(u) && (in.Existing == adapter.KeepExisting || u.PartsOnly && in.Existing == adapter.MergeExisting):
		u.done.Outcome = adapter.ImportKept
		return false, nil
	}
	if err := in.compare(u); err != nil {
		return false, err
	}
	switch {
	case !u.exists && !u.PartsOnly:
		u.done.Outcome = adapter.ImportCreated
		return true, nil
	case u.differs():
		u.done.Outcome = adapter.ImportChanged
		return true, nil
	}
	return !u.settled.isEmpty(), nil // storing it requires the record to be locked
}

// isTaken reports whether the policy for existing records applies to a record. For a record
// that comes only with its parts, the stored parts decide.
func (in *importTx) isTaken(u *unit) bool {
	if !u.PartsOnly {
		return u.exists
	}
	return slices.ContainsFunc(u.PartsOf, func(r adapter.Resource) bool { return len(u.stored.parts[r]) > 0 })
}

// isBare reports whether the import has just created a record and stored no parts of it, so
// that there is nothing to read or to lock.
func (in *importTx) isBare(u *unit) bool {
	return u.PartsOnly && u.schema.Resource == adapter.Products && in.bare[u.key]
}

// isExpected reports whether a record would be stored if this were no dry run.
func (in *importTx) isExpected(id recordID) bool {
	return in.DryRun && in.Expected != nil && in.Expected(id.resource, id.key)
}

// lockExisting locks the existing records, compares them again, since they may have changed
// before they were locked, and returns the records that differ.
func (in *importTx) lockExisting(ctx context.Context, units []*unit) ([]*unit, error) {
	var keys []adapter.Key
	var existing, fresh []*unit
	for _, u := range units {
		if u.exists && !in.isBare(u) {
			keys, existing = append(keys, u.key), append(existing, u)
		} else {
			fresh = append(fresh, u)
		}
	}
	if len(existing) == 0 || in.DryRun {
		return units, nil
	}
	slices.Sort(keys)
	if _, err := in.Keys(ctx, existing[0].schema.Resource, keys, true); err != nil {
		return nil, err
	}
	if err := in.load(ctx, existing); err != nil {
		return nil, err
	}
	differing, err := in.decide(existing)
	if err != nil {
		return nil, err
	}
	differing = append(differing, fresh...)
	slices.SortFunc(differing, func(a, b *unit) int { return cmp.Compare(a.at, b.at) })
	return differing, nil
}

// removeGone removes the records that are gone.
func (in *importTx) removeGone(ctx context.Context, units []*unit) error {
	for _, u := range units {
		if !u.Gone {
			continue
		}
		delete(in.exists, u.id())
		if u.schema.Resource != adapter.Products { // its deletion also removes the derived data
			in.save(u.key, u.stored.record)
		}
		if err := in.Delete(ctx, u.schema.Resource, u.key); err != nil {
			return err
		}
	}
	return nil
}

// note notes the source of the records, and forgets the records that are gone.
func (in *importTx) note(ctx context.Context, units []*unit) error {
	var here, gone []adapter.Key
	for _, u := range units {
		switch {
		case u.Gone:
			gone = append(gone, u.key)
		case u.exists || u.done.Outcome != adapter.ImportKept:
			here = append(here, u.key)
		}
	}
	resource := units[0].schema.Resource
	if len(gone) > 0 {
		if err := in.Forget(ctx, resource, gone...); err != nil {
			return err
		}
	}
	if in.Source == "" || len(here) == 0 {
		return nil
	}
	return in.Note(ctx, in.Source, resource, here...)
}

// noteChange notes that a record was created, changed or removed: by the key of its root if it
// is a part.
func (in *importTx) noteChange(u *unit) {
	switch u.done.Outcome {
	case adapter.ImportCreated, adapter.ImportChanged, adapter.ImportRemoved:
	default:
		return
	}
	r := u.schema.Resource
	if u.schema.Root == "" {
		in.changed[r] = append(in.changed[r], u.done.Key)
		return
	}
	for _, record := range []adapter.Record{u.stored.record, u.Record} {
		if record.Schema == nil {
			continue
		}
		if root := record.Get(u.schema.RootAttribute); root.Kind() == adapter.Integer {
			in.changed[r] = append(in.changed[r], adapter.Key(root.Int()))
		}
	}
}

// save notes that the database has to derive data again because of a record.
func (in *importTx) save(key adapter.Key, r adapter.Record) {
	switch r.Schema.Resource {
	case adapter.Products:
		in.saved = append(in.saved, key)
	case adapter.ProductWebsites:
		in.saved = append(in.saved, adapter.Key(r.Get("product_id").Int()))
	case adapter.StockItems:
		in.restocked = append(in.restocked, adapter.Key(r.Get("product_id").Int()))
	case adapter.Stores, adapter.Websites:
		in.saveAll = true
	}
}

// restock saves a stock item, unless only values have changed that do not decide whether products
// are in stock.
func (in *importTx) restock(u *unit) {
	decides := func(name string) bool { return u.change.Get(name).Kind() != adapter.Absent }
	if u.change.Schema == nil || decides("product_id") || slices.ContainsFunc(rules.StockFlags(), decides) {
		in.save(u.key, u.Record)
	}
	if u.change.Schema != nil && decides("product_id") {
		in.save(u.key, u.stored.record)
	}
}
