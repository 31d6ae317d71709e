package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// InsertOptions control how Insert treats records that exist already.
type InsertOptions struct {
	// Replace makes Insert replace an existing record of the same key, with all its
	// parts. Without it the existing record is left alone.
	Replace bool
	// DryRun makes Insert report its results without storing anything.
	DryRun bool
	// CustomerExpected, if not nil, reports in a dry run whether a customer who does
	// not exist yet would have been inserted by now.
	CustomerExpected func(customer adapter.Key) bool
}

// An InsertOutcome says what Insert did with one record.
type InsertOutcome uint8

const (
	// Stored means that the record is new.
	Stored InsertOutcome = iota
	// Replaced means that it replaced an existing record of the same key.
	Replaced
	// Skipped means that a record of the same key exists and was left alone.
	Skipped
)

// Insert stores records of another system with their parts, under the keys that they
// have there, in one transaction. It returns the result for each. The records are
// customers, addresses of customers, or orders with their items, addresses and
// comments.
//
// Insert checks and derives nothing that a client's write would, except that a customer
// has one default address of each kind, and that records without timestamps get the
// present time. Keys that the database chooses later are greater than the inserted
// ones.
//
// If Insert fails, nothing is stored. Kinds: NotFound if the owner that Field names
// does not exist; Conflict if another record has a unique value or the key of a part;
// Invalid; Unsupported for other resources; Unavailable; Internal.
func (db *DB) Insert(ctx context.Context, batch []adapter.Aggregate, o InsertOptions) ([]InsertOutcome, error) {
	const op = "insert records"
	fitted := make([]adapter.Aggregate, len(batch))
	greatest := map[adapter.Resource]adapter.Key{}
	for i, one := range batch {
		var err error
		if fitted[i], err = db.conformAggregate(op, one); err != nil {
			return nil, err
		}
		for _, r := range append([]adapter.Record{fitted[i].Record}, fitted[i].Parts...) {
			greatest[r.Schema.Resource] = max(greatest[r.Schema.Resource], recordKey(r))
		}
	}
	var fates []InsertOutcome
	err := db.write(ctx, op, func(tx *sql.Tx) error {
		in := insertTx{db.newRecordImport(tx, op), o, map[recordID]int64{}}
		fates = fates[:0]
		if err := in.findExisting(ctx, fitted); err != nil {
			return err
		}
		if !o.DryRun {
			if err := in.advanceCountersTo(ctx, greatest); err != nil {
				return err
			}
		}
		for _, one := range fitted {
			fate, err := in.insertAggregate(ctx, one)
			if err != nil {
				return err
			}
			fates = append(fates, fate)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return fates, nil
}

// A rootSpec describes one resource that Insert accepts.
type rootSpec struct {
	resource adapter.Resource
	owner    string                      // attribute with the id of a customer who must exist
	parts    map[adapter.Resource]string // resources of parts, and their attribute with the root's key
	required []string                    // attributes that must have a value
}

func rootSpecs() []rootSpec {
	return []rootSpec{
		{resource: adapter.Customers, required: []string{"website_id", "email", "group_id", "disable_auto_group_change"}},
		{resource: adapter.CustomerAddresses, owner: "customer_id", required: []string{"customer_id", "is_default_billing", "is_default_shipping"}},
		{resource: adapter.Orders, owner: "customer_id", required: []string{"store_id", "created_at", "updated_at"},
			parts: map[adapter.Resource]string{adapter.OrderItems: "order_id", adapter.OrderAddresses: "parent_id", adapter.OrderComments: "parent_id"}},
	}
}

// requiredPartAttributes lists the attributes that a part of an order must have.
func requiredPartAttributes(r adapter.Resource) []string {
	switch r {
	case adapter.OrderItems:
		return []string{"created_at", "updated_at"}
	case adapter.OrderAddresses:
		return []string{"address_type"}
	default:
		return []string{"created_at", "is_customer_notified", "is_visible_on_front"}
	}
}

func rootSpecOf(r adapter.Resource) (rootSpec, bool) {
	i := slices.IndexFunc(rootSpecs(), func(root rootSpec) bool { return root.resource == r })
	if i < 0 {
		return rootSpec{}, false
	}
	return rootSpecs()[i], true
}

func recordKey(r adapter.Record) adapter.Key { return adapter.Key(r.Get(r.Schema.Key).Int()) }

var (
	errRequired = errors.New("a value is required")
	errOwned    = errors.New("the part belongs to another record")
	errTaken    = errors.New("a part of another record has this key")
)

// conformAggregate converts a record and its parts to the schemas of their tables and
// checks them.
func (db *DB) conformAggregate(op string, one adapter.Aggregate) (adapter.Aggregate, error) {
	if one.Record.Schema == nil {
		return one, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoRecord}
	}
	root, ok := rootSpecOf(one.Record.Schema.Resource)
	if !ok {
		return one, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(one.Record.Schema.Resource), Err: errNoRecord}
	}
	r, err := db.conformRecord(op, one.Record, root.required)
	if err != nil {
		return one, err
	}
	fitted := adapter.Aggregate{Record: r}
	for _, part := range one.Parts {
		attribute, ok := root.parts[part.Schema.Resource]
		if !ok {
			return one, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(part.Schema.Resource), Err: errNoRecord}
		}
		part, err := db.conformRecord(op, part, requiredPartAttributes(part.Schema.Resource))
		if err == nil && part.Get(attribute).Int() != int64(recordKey(r)) {
			err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: attribute, Err: errOwned}
		}
		if err != nil {
			return one, err
		}
		fitted.Parts = append(fitted.Parts, part)
	}
	return fitted, nil
}

// conformRecord converts a record to the schema of its table. The record must have a
// key and the required values, and every value must be of its attribute's kind.
func (db *DB) conformRecord(op string, r adapter.Record, required []string) (adapter.Record, error) {
	t := db.table(r.Schema.Resource)
	r, err := t.conform(op, r)
	if err != nil {
		return r, err
	}
	if key := recordKey(r); key <= 0 || key > maxExplicitKey {
		return r, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: t.schema.Key, Err: errKeyRange}
	}
	for _, name := range required {
		if r.Get(name).Empty() {
			return r, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: name, Err: errRequired}
		}
	}
	for i, v := range r.Values {
		if a := &t.schema.Attributes[i]; t.columns[i].isStored() {
			if _, err := db.engine.bind(a, v); err != nil {
				return r, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: err}
			}
		}
	}
	return r, nil
}

// An insertTx is the transaction of Insert.
type insertTx struct {
	recordImport
	InsertOptions
	// existing holds those records of the batch that exist already: roots, parts, and
	// the customers who own them. The value is the key of a part's root.
	existing map[recordID]int64
}

// findExisting fills in.existing by a few statements for the whole batch. One statement
// for each record would take longer than storing it.
func (in insertTx) findExisting(ctx context.Context, batch []adapter.Aggregate) error {
	wanted := map[adapter.Resource][]any{}
	want := func(r adapter.Resource, key int64) { wanted[r] = append(wanted[r], key) }
	owners := map[adapter.Resource]string{}
	for _, one := range batch {
		root, _ := rootSpecOf(one.Record.Schema.Resource)
		want(root.resource, int64(recordKey(one.Record)))
		if root.owner != "" && !one.Record.Get(root.owner).Empty() {
			want(adapter.Customers, one.Record.Get(root.owner).Int())
		}
		for _, part := range one.Parts {
			r := part.Schema.Resource
			owners[r] = root.parts[r]
			want(r, int64(recordKey(part)))
		}
	}
	for r, keys := range wanted {
		t := in.db.table(r)
		key := unqualified(t.keyColumn())
		for batch := range slices.Chunk(keys, mappingsPerStatement) {
			batch = padToPowerOfTwo(slices.Clone(batch))
			rows, err := in.query(ctx, "SELECT "+key+", "+cmp.Or(owners[r], key)+" FROM "+t.name+" WHERE "+key+inPlaceholders(len(batch)), batch...)
			if err != nil {
				return err
			}
			for rows.Next() {
				var found, owner int64
				if err := rows.Scan(&found, &owner); err != nil {
					return errors.Join(err, rows.Close())
				}
				in.existing[recordID{r, adapter.Key(found)}] = owner
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// insertAggregate stores one record with its parts.
func (in insertTx) insertAggregate(ctx context.Context, one adapter.Aggregate) (InsertOutcome, error) {
	resource, key := one.Record.Schema.Resource, recordKey(one.Record)
	_, there := in.existing[recordID{resource, key}]
	if there && !in.Replace {
		return Skipped, nil
	}
	root, _ := rootSpecOf(resource)
	if err := in.checkOwner(root, one.Record); err != nil {
		return Skipped, err
	}
	if err := rules.CheckUnique(ctx, in, in.op, key, one.Record); err != nil {
		return Skipped, err
	}
	if err := in.checkParts(one, key); err != nil {
		return Skipped, err
	}
	in.existing[recordID{resource, key}] = int64(key)
	fate := Stored
	if there {
		fate = Replaced
	}
	if in.DryRun {
		return fate, nil
	}
	var err error
	if there {
		err = in.replace(ctx, root, one.Record)
	} else {
		_, err = in.storeRecord(ctx, resource, key, one.Record)
	}
	for i := 0; err == nil && i < len(one.Parts); i++ {
		_, err = in.storeRecord(ctx, one.Parts[i].Schema.Resource, recordKey(one.Parts[i]), one.Parts[i])
	}
	if err == nil && resource == adapter.CustomerAddresses {
		err = in.clearOtherDefaults(ctx, one.Record)
	}
	return fate, err
}

// checkOwner fails if a record belongs to a customer who does not exist.
func (in insertTx) checkOwner(root rootSpec, r adapter.Record) error {
	if root.owner == "" || r.Get(root.owner).Empty() {
		return nil
	}
	customer := adapter.Key(r.Get(root.owner).Int())
	if _, there := in.existing[recordID{adapter.Customers, customer}]; there || in.DryRun && in.CustomerExpected != nil && in.CustomerExpected(customer) {
		return nil
	}
	return &adapter.Error{Kind: adapter.NotFound, Op: in.op, Field: root.owner}
}

// checkParts fails if the key of a part is taken by a part of another root.
func (in insertTx) checkParts(one adapter.Aggregate, key adapter.Key) error {
	for _, part := range one.Parts {
		r := part.Schema.Resource
		if owner, taken := in.existing[recordID{r, recordKey(part)}]; taken && owner != int64(key) {
			return &adapter.Error{Kind: adapter.Conflict, Op: in.op + " of " + string(r), Field: part.Schema.Key, Err: errTaken}
		}
	}
	return nil
}

// replace replaces an existing record and deletes its parts.
func (in insertTx) replace(ctx context.Context, root rootSpec, r adapter.Record) error {
	t, key := in.db.table(root.resource), recordKey(r)
	r = withTimestamps(r.Clone(), in.now)
	if _, err := in.Lock(ctx, root.resource, key); err != nil {
		return err
	}
	row := r.Clone()
	for i := range row.Values {
		switch own := t.columns[i].isStored(); {
		case !own:
			row.Values[i] = adapter.Value{}
		case row.Values[i].Kind() == adapter.Absent:
			row.Values[i] = adapter.UnsetValue() // clears the old value
		}
	}
	text, arguments, err := t.updateStatement(in.db.engine, in.op, key, row)
	if err == nil {
		err = in.exec(ctx, text, arguments...)
	}
	if err == nil {
		err = in.replaceNullsAndAdded(ctx, t, key, r)
	}
	for part, attribute := range root.parts {
		if err == nil {
			err = in.exec(ctx, "DELETE FROM "+in.db.table(part).name+" WHERE "+attribute+" = ?", int64(key))
		}
	}
	return err
}

// replaceNullsAndAdded replaces the list of nulls and the added attributes of a record.
func (in insertTx) replaceNullsAndAdded(ctx context.Context, t *table, key adapter.Key, r adapter.Record) error {
	if t.nulls {
		var nulls []string
		for i, a := range t.schema.Attributes {
			if r.Values[i].Kind() == adapter.Null && !a.Added {
				nulls = append(nulls, a.Name)
			}
		}
		if err := in.exec(ctx, "UPDATE "+t.name+" SET nulls = ? WHERE "+t.keyColumn()+" = ?", joinNulls(nulls), int64(key)); err != nil {
			return err
		}
	}
	if !t.added {
		return nil
	}
	if err := in.exec(ctx, "DELETE FROM "+t.values.name+" WHERE "+t.values.keyColumn+" = ?", int64(key)); err != nil {
		return err
	}
	return t.insertAdded(ctx, in.db, in.tx, r)
}

// clearOtherDefaults clears the default flags that an address has on the customer's
// other addresses.
func (in insertTx) clearOtherDefaults(ctx context.Context, address adapter.Record) error {
	for _, name := range []string{"is_default_billing", "is_default_shipping"} {
		if address.Get(name).Int() != 1 {
			continue
		}
		err := in.exec(ctx, "UPDATE customer_address SET "+name+" = 0 WHERE customer_id = ? AND entity_id <> ? AND "+name+" = 1",
			address.Get("customer_id").Int(), int64(recordKey(address)))
		if err != nil {
			return err
		}
	}
	return nil
}
