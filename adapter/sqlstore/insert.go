package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// InsertOptions say how Insert deals with what it is given.
type InsertOptions struct {
	// Replace puts a record, with all its parts, in the place of the one that has its
	// key. Without it that one is left as it is.
	Replace bool
	// DryRun stores nothing.
	DryRun bool
	// Expected, unless nil, reports in a dry run whether a customer who is not here
	// would be by now.
	Expected func(customer adapter.Key) bool
}

// A Fate is what became of a record.
type Fate uint8

const (
	// Stored: it was not there, and is now.
	Stored Fate = iota
	// Replaced: it has taken the place of the one that was there.
	Replaced
	// Left: there was one of its key, which is as it was.
	Left
)

// Insert stores records of another system under the keys they have there, with their
// parts, in one transaction, and returns what became of each. They are customers,
// addresses of customers, or orders with their lines, addresses and comments. Nothing
// is derived, checked or dated as in a write of a client, but that a customer has one
// default address of a kind, and that a record without times is made now. New records
// get greater keys from then on.
//
// An error means that nothing is stored. Kinds: NotFound for an owner who is not there,
// whom Field names; Conflict for a unique value, or the key of a part, that another
// record has; Invalid; Unsupported for other resources; Unavailable, Internal.
func (db *DB) Insert(ctx context.Context, batch []adapter.Aggregate, o InsertOptions) ([]Fate, error) {
	const op = "insert records"
	fitted := make([]adapter.Aggregate, len(batch))
	greatest := map[adapter.Resource]adapter.Key{}
	for i, one := range batch {
		var err error
		if fitted[i], err = db.fitAggregate(op, one); err != nil {
			return nil, err
		}
		for _, r := range append([]adapter.Record{fitted[i].Record}, fitted[i].Parts...) {
			greatest[r.Schema.Resource] = max(greatest[r.Schema.Resource], givenKey(r))
		}
	}
	var fates []Fate
	err := db.write(ctx, op, func(tx *sql.Tx) error {
		in := insertion{db.newAdoption(tx, op), o, map[record]int64{}}
		fates = fates[:0]
		if err := in.look(ctx, fitted); err != nil {
			return err
		}
		if !o.DryRun {
			if err := in.passAll(ctx, greatest); err != nil {
				return err
			}
		}
		for _, one := range fitted {
			fate, err := in.insert(ctx, one)
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

// A root says what Insert takes.
type root struct {
	resource adapter.Resource
	owner    string                      // attribute with the id of a customer, who has to be there
	parts    map[adapter.Resource]string // attribute with the root's key
	required []string
}

func roots() []root {
	return []root{
		{resource: adapter.Customers, required: []string{"website_id", "email", "group_id", "disable_auto_group_change"}},
		{resource: adapter.CustomerAddresses, owner: "customer_id", required: []string{"customer_id", "is_default_billing", "is_default_shipping"}},
		{resource: adapter.Orders, owner: "customer_id", required: []string{"store_id", "created_at", "updated_at"},
			parts: map[adapter.Resource]string{adapter.OrderItems: "order_id", adapter.OrderAddresses: "parent_id", adapter.OrderComments: "parent_id"}},
	}
}

// requiredOfPart are the attributes that a part of an order must have.
func requiredOfPart(r adapter.Resource) []string {
	switch r {
	case adapter.OrderItems:
		return []string{"created_at", "updated_at"}
	case adapter.OrderAddresses:
		return []string{"address_type"}
	default:
		return []string{"created_at", "is_customer_notified", "is_visible_on_front"}
	}
}

func rootOf(r adapter.Resource) (root, bool) {
	i := slices.IndexFunc(roots(), func(root root) bool { return root.resource == r })
	if i < 0 {
		return root{}, false
	}
	return roots()[i], true
}

func givenKey(r adapter.Record) adapter.Key { return adapter.Key(r.Get(r.Schema.Key).Int()) }

var (
	errRequired = errors.New("it has no value")
	errOwned    = errors.New("a part of another record")
	errTaken    = errors.New("another record has it")
)

// fitAggregate returns an aggregate as the tables have it.
func (db *DB) fitAggregate(op string, one adapter.Aggregate) (adapter.Aggregate, error) {
	if one.Record.Schema == nil {
		return one, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoRecord}
	}
	root, ok := rootOf(one.Record.Schema.Resource)
	if !ok {
		return one, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(one.Record.Schema.Resource), Err: errNoRecord}
	}
	r, err := db.fitRecord(op, one.Record, root.required)
	if err != nil {
		return one, err
	}
	fitted := adapter.Aggregate{Record: r}
	for _, part := range one.Parts {
		attribute, ok := root.parts[part.Schema.Resource]
		if !ok {
			return one, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(part.Schema.Resource), Err: errNoRecord}
		}
		part, err := db.fitRecord(op, part, requiredOfPart(part.Schema.Resource))
		if err == nil && part.Get(attribute).Int() != int64(givenKey(r)) {
			err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: attribute, Err: errOwned}
		}
		if err != nil {
			return one, err
		}
		fitted.Parts = append(fitted.Parts, part)
	}
	return fitted, nil
}

// fitRecord returns a record as its table has it. It must have a key and the required
// values, and every value must be of its attribute's kind.
func (db *DB) fitRecord(op string, r adapter.Record, required []string) (adapter.Record, error) {
	t := db.table(r.Schema.Resource)
	r, err := t.fit(op, r)
	if err != nil {
		return r, err
	}
	if key := givenKey(r); key <= 0 || key > maxGivenKey {
		return r, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: t.schema.Key, Err: errGiven}
	}
	for _, name := range required {
		if r.Get(name).Empty() {
			return r, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: name, Err: errRequired}
		}
	}
	for i, v := range r.Values {
		if a := &t.schema.Attributes[i]; t.columns[i].own() {
			if _, err := db.engine.bind(a, v); err != nil {
				return r, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: err}
			}
		}
	}
	return r, nil
}

// An insertion is a transaction that inserts records of another system.
type insertion struct {
	adoption
	InsertOptions
	// here are the records that are here of those that matter: roots and parts that are
	// to be stored, and customers who own some. The value is the root of a part.
	here map[record]int64
}

// look finds out which records are here. To ask for each by itself would take longer
// than to store them.
func (in insertion) look(ctx context.Context, batch []adapter.Aggregate) error {
	wanted := map[adapter.Resource][]any{}
	want := func(r adapter.Resource, key int64) { wanted[r] = append(wanted[r], key) }
	owners := map[adapter.Resource]string{}
	for _, one := range batch {
		root, _ := rootOf(one.Record.Schema.Resource)
		want(root.resource, int64(givenKey(one.Record)))
		if root.owner != "" && !one.Record.Get(root.owner).Empty() {
			want(adapter.Customers, one.Record.Get(root.owner).Int())
		}
		for _, part := range one.Parts {
			r := part.Schema.Resource
			owners[r] = root.parts[r]
			want(r, int64(givenKey(part)))
		}
	}
	for r, keys := range wanted {
		t := in.db.table(r)
		key := bare(t.key())
		for batch := range slices.Chunk(keys, entryBatch) {
			batch = filledUp(slices.Clone(batch))
			rows, err := in.query(ctx, "SELECT "+key+", "+cmp.Or(owners[r], key)+" FROM "+t.name+" WHERE "+key+placeholders(len(batch)), batch...)
			if err != nil {
				return err
			}
			for rows.Next() {
				var found, owner int64
				if err := rows.Scan(&found, &owner); err != nil {
					return errors.Join(err, rows.Close())
				}
				in.here[record{r, adapter.Key(found)}] = owner
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// insert stores one aggregate.
func (in insertion) insert(ctx context.Context, one adapter.Aggregate) (Fate, error) {
	resource, key := one.Record.Schema.Resource, givenKey(one.Record)
	_, there := in.here[record{resource, key}]
	if there && !in.Replace {
		return Left, nil
	}
	root, _ := rootOf(resource)
	if err := in.checkOwner(root, one.Record); err != nil {
		return Left, err
	}
	if err := in.of(in.db.table(resource)).checkUnique(ctx, in.tx, in.op, key, one.Record); err != nil {
		return Left, err
	}
	if err := in.checkParts(one, key); err != nil {
		return Left, err
	}
	in.here[record{resource, key}] = int64(key)
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
		_, err = in.store(ctx, resource, key, one.Record)
	}
	for i := 0; err == nil && i < len(one.Parts); i++ {
		_, err = in.store(ctx, one.Parts[i].Schema.Resource, givenKey(one.Parts[i]), one.Parts[i])
	}
	if err == nil && resource == adapter.CustomerAddresses {
		err = in.onlyDefault(ctx, one.Record)
	}
	return fate, err
}

// checkOwner fails when a record belongs to a customer who is not there.
func (in insertion) checkOwner(root root, r adapter.Record) error {
	if root.owner == "" || r.Get(root.owner).Empty() {
		return nil
	}
	customer := adapter.Key(r.Get(root.owner).Int())
	if _, there := in.here[record{adapter.Customers, customer}]; there || in.DryRun && in.Expected != nil && in.Expected(customer) {
		return nil
	}
	return &adapter.Error{Kind: adapter.NotFound, Op: in.op, Field: root.owner}
}

// checkParts fails when a part has the key of a record that is part of another root.
func (in insertion) checkParts(one adapter.Aggregate, key adapter.Key) error {
	for _, part := range one.Parts {
		r := part.Schema.Resource
		if owner, taken := in.here[record{r, givenKey(part)}]; taken && owner != int64(key) {
			return &adapter.Error{Kind: adapter.Conflict, Op: in.op + " of " + string(r), Field: part.Schema.Key, Err: errTaken}
		}
	}
	return nil
}

// replace puts a record in the place of one that is there, and removes the parts of
// that.
func (in insertion) replace(ctx context.Context, root root, r adapter.Record) error {
	t, key := in.db.table(root.resource), givenKey(r)
	r = dated(r.Clone(), in.now)
	if _, err := in.of(t).locked(ctx, in.tx, key); err != nil {
		return err
	}
	row := r.Clone()
	for i := range row.Values {
		switch own := t.columns[i].own(); {
		case !own:
			row.Values[i] = adapter.Value{}
		case row.Values[i].Kind() == adapter.Absent:
			row.Values[i] = adapter.UnsetValue() // so that nothing stays of what was there
		}
	}
	text, arguments, err := t.amendment(in.db.engine, in.op, key, row)
	if err == nil {
		err = in.exec(ctx, text, arguments...)
	}
	if err == nil {
		err = in.replaceRest(ctx, t, key, r)
	}
	for part, attribute := range root.parts {
		if err == nil {
			err = in.exec(ctx, "DELETE FROM "+in.db.table(part).name+" WHERE "+attribute+" = ?", int64(key))
		}
	}
	return err
}

// replaceRest replaces what the columns of the attributes do not hold.
func (in insertion) replaceRest(ctx context.Context, t *table, key adapter.Key, r adapter.Record) error {
	if t.nulls {
		var nulls []string
		for i, a := range t.schema.Attributes {
			if r.Values[i].Kind() == adapter.Null && !a.Added {
				nulls = append(nulls, a.Name)
			}
		}
		if err := in.exec(ctx, "UPDATE "+t.name+" SET nulls = ? WHERE "+t.key()+" = ?", nullList(nulls), int64(key)); err != nil {
			return err
		}
	}
	if !t.added {
		return nil
	}
	if err := in.exec(ctx, "DELETE FROM "+t.values.name+" WHERE "+t.values.owner+" = ?", int64(key)); err != nil {
		return err
	}
	return t.insertAdded(ctx, in.db, in.tx, r)
}

// onlyDefault takes what a default address now is from the customer's other ones.
func (in insertion) onlyDefault(ctx context.Context, address adapter.Record) error {
	for _, name := range []string{"is_default_billing", "is_default_shipping"} {
		if address.Get(name).Int() != 1 {
			continue
		}
		err := in.exec(ctx, "UPDATE customer_address SET "+name+" = 0 WHERE customer_id = ? AND entity_id <> ? AND "+name+" = 1",
			address.Get("customer_id").Int(), int64(givenKey(address)))
		if err != nil {
			return err
		}
	}
	return nil
}
