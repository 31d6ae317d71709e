package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sidestore"
)

// maxGivenKey bounds the keys that a backend may give: new records get greater ones,
// and one document must not use up all there are.
const maxGivenKey = 1<<53 - 1

// Adopt stores a record that the backend has, and its parts, each with its entry, in
// one transaction. The first is the root; or all are parts of a root that is there
// already and that the entry of each names. Key 0 is the next free one; keys that are
// given are passed by those that come later. The attribute Owner of a part gets the
// root's key, and so does Entry.Owner; Entry.Root is the root's resource. Nothing is
// derived, checked or dated as in a write of a client, but for created_at and
// updated_at where a record has none, and for the lists of shoppers. It returns the
// keys. Kinds: Conflict when a key, an id or a unique value is taken, Invalid,
// Unsupported for images, whose bytes are not here, Unavailable, Internal.
func (s *Side) Adopt(ctx context.Context, records []sidestore.Adopted) ([]adapter.Key, error) {
	const op = "adopt records"
	adopted, err := s.fitAll(op, records)
	if err != nil || len(adopted) == 0 {
		return nil, err
	}
	var keys []adapter.Key
	err = s.db.write(ctx, op, func(tx *sql.Tx) error {
		keys, err = s.db.newAdoption(tx, op).storeAll(ctx, adopted)
		return err
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

var (
	errNoRecord = errors.New("no such resource of a backend")
	errNoRoot   = errors.New("want one root before its parts, or parts of one root")
	errGiven    = errors.New("a key that no record can have")
)

// fitAll returns records as adoption takes them.
func (s *Side) fitAll(op string, records []sidestore.Adopted) ([]sidestore.Adopted, error) {
	fitted := slices.Clone(records)
	for i := range fitted {
		a := &fitted[i]
		r, e := a.Entry.Resource, &a.Entry
		if _, served := s.db.stores[r]; !served || r == adapter.ProductImages || r == adapter.Admins {
			return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(r), Err: errNoRecord}
		}
		t := s.db.table(r)
		if err := checkEntry(op, e); err != nil {
			return nil, err
		}
		if e.Key < 0 || e.Key > maxGivenKey {
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: t.schema.Key, Err: errGiven}
		}
		first := &fitted[0].Entry
		isRoot, rootFirst := a.Owner == "", fitted[0].Owner == ""
		switch {
		case isRoot != (i == 0 && rootFirst),
			!rootFirst && (e.Owner == 0 || e.Owner != first.Owner || e.Root != first.Root):
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Err: errNoRoot}
		}
		var err error
		if a.Record, err = t.fit(op, a.Record); err != nil {
			return nil, err
		}
		if at, ok := t.schema.Index(a.Owner); !isRoot && (!ok || !t.columns[at].own()) {
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Owner, Err: errReadOnly}
		}
	}
	return fitted, nil
}

// fit returns r as a record of the table's schema. A value that the table cannot hold
// is a fault.
func (t *table) fit(op string, r adapter.Record) (adapter.Record, error) {
	fitted := adapter.NewRecord(t.schema)
	if r.Schema == nil {
		return fitted, nil
	}
	for i, v := range r.Values {
		name := r.Schema.Attributes[i].Name
		at, ok := t.schema.Index(name)
		switch {
		case v.Kind() == adapter.Absent:
			continue
		case !ok || v.Kind() == adapter.Unset:
			return fitted, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: name, Err: errKind}
		case !t.columns[at].own() && !t.schema.Attributes[at].Added && !isPriceList(name):
			return fitted, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: name, Err: errReadOnly}
		}
		fitted.Values[at] = v
	}
	return fitted, nil
}

// isPriceList reports whether an attribute is a list of prices of products. No other
// resource has one called so.
func isPriceList(attribute string) bool {
	return slices.ContainsFunc(priceLists(), func(l priceList) bool { return l.attribute == attribute })
}

// An adoption is a transaction that stores records of a backend.
type adoption struct {
	*saving
	op     string
	tables map[*table]*given
}

// given is how the records of a table are stored under keys that are given.
type given struct {
	*store
	row  *row
	text string // statement that stores one
}

// of returns how the records of a table are stored.
func (a adoption) of(t *table) *given {
	if a.tables[t] == nil {
		row := newRow(t, t.places(false))
		a.tables[t] = &given{store: newStore(a.db, t), row: row, text: row.insert(a.db.engine, 1)}
	}
	return a.tables[t]
}

// newAdoption returns an adoption in a transaction.
func (db *DB) newAdoption(tx *sql.Tx, op string) adoption {
	return adoption{saving: &saving{db: db, tx: tx, products: db.products, now: now()}, op: op, tables: map[*table]*given{}}
}

// storeAll stores what fitAll returned.
func (a adoption) storeAll(ctx context.Context, records []sidestore.Adopted) ([]adapter.Key, error) {
	root := record{records[0].Entry.Root, records[0].Entry.Owner}
	if records[0].Owner == "" {
		root.resource = records[0].Entry.Resource
	} else if err := a.lockRoot(ctx, root, records[0].Owner); err != nil {
		return nil, err
	}
	if err := a.pass(ctx, records); err != nil {
		return nil, err
	}
	moment := time.Now().UnixMicro()
	keys := make([]adapter.Key, 0, len(records))
	for _, r := range records {
		if r.Owner != "" {
			r.Entry.Root, r.Entry.Owner = root.resource, root.key
			r.Record = r.Record.Clone() // the transaction may run again
			r.Record.Set(r.Owner, adapter.IntegerValue(int64(root.key)))
		}
		key, err := a.store(ctx, r.Entry.Resource, r.Entry.Key, r.Record)
		if err != nil {
			return nil, err
		}
		r.Entry.Key = key
		if err := a.exec(ctx, insertEntry, entryArguments(&r.Entry, moment)...); err != nil {
			return nil, err
		}
		if r.Owner == "" {
			root.key = key
		}
		keys = append(keys, key)
	}
	return keys, a.list(ctx, root)
}

// lockRoot locks a root that is there.
func (a adoption) lockRoot(ctx context.Context, root record, owner string) error {
	if _, served := a.db.stores[root.resource]; !served {
		return &adapter.Error{Kind: adapter.Invalid, Op: a.op, Field: owner, Err: errNoRecord}
	}
	_, err := newStore(a.db, a.db.table(root.resource)).locked(ctx, a.tx, root.key)
	if errors.Is(err, sql.ErrNoRows) {
		return &adapter.Error{Kind: adapter.Invalid, Op: a.op, Field: owner, Err: errNoTarget}
	}
	return err
}

// pass moves the counters of the database past the keys that are given.
func (a adoption) pass(ctx context.Context, records []sidestore.Adopted) error {
	greatest := map[adapter.Resource]adapter.Key{}
	for _, r := range records {
		greatest[r.Entry.Resource] = max(greatest[r.Entry.Resource], r.Entry.Key)
	}
	return a.passAll(ctx, greatest)
}

// passAll moves the counter of each resource past a key.
func (a adoption) passAll(ctx context.Context, greatest map[adapter.Resource]adapter.Key) error {
	if a.db.engine.counting.pass == nil {
		return nil
	}
	for _, t := range a.db.tables { // all transactions in one order
		key := greatest[t.schema.Resource]
		if key == 0 {
			continue
		}
		behind, move := a.db.engine.counting.pass(counter{t.name, t.schema.Key}, int64(key))
		is, err := a.finds(ctx, behind)
		for i := 0; is && err == nil && i < len(move); i++ {
			_, err = a.tx.ExecContext(ctx, move[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// store stores a record under a key, or under the next if that is 0, with what is part
// of its row, and returns the key.
func (a adoption) store(ctx context.Context, resource adapter.Resource, key adapter.Key, record adapter.Record) (adapter.Key, error) {
	t := a.db.table(resource)
	s, r := a.of(t), dated(record.Clone(), a.now)
	op := fmt.Sprintf("%s of %s", a.op, t.schema.Resource)
	err := s.checkUnique(ctx, a.tx, op, key, r)
	if err == nil && t.schema.Resource == adapter.Products {
		err = a.checkSKU(ctx, op, key, r.Get("sku"))
	}
	if err != nil {
		return 0, err
	}
	if key, err = a.insert(ctx, s, key, r); err != nil {
		return 0, err
	}
	r.Set(t.schema.Key, adapter.IntegerValue(int64(key)))
	if err := t.insertAdded(ctx, a.db, a.tx, r); err != nil || t.schema.Resource != adapter.Products {
		return key, err
	}
	if err := a.setParts(ctx, op, key, r); err != nil {
		return 0, err
	}
	return key, a.pointNowhere(ctx, key)
}

// insert stores a row under a key, or under the next if that is 0.
func (a adoption) insert(ctx context.Context, s *given, key adapter.Key, r adapter.Record) (adapter.Key, error) {
	if key == 0 {
		arguments, err := s.fresh.arguments(a.db.engine, r)
		if err != nil {
			return 0, err
		}
		next, err := a.db.insertRow(ctx, a.tx, s.insert, arguments)
		return adapter.Key(next), err
	}
	r.Set(s.table.schema.Key, adapter.IntegerValue(int64(key)))
	arguments, err := s.row.arguments(a.db.engine, r)
	if err == nil {
		_, err = a.db.writing.execIn(ctx, a.tx, s.text, arguments...)
	}
	return key, err
}

// list puts what now is there on the lists of shoppers.
func (a adoption) list(ctx context.Context, root record) error {
	switch root.resource {
	case adapter.Products:
		return a.relist(ctx, root.key)
	case adapter.Stores, adapter.Websites:
		return a.db.relist(ctx, a.tx)
	default:
		return nil
	}
}

// dated gives a customer, an address or a product the times it has not, and returns it.
func dated(r adapter.Record, moment string) adapter.Record {
	switch r.Schema.Resource {
	case adapter.Customers, adapter.CustomerAddresses, adapter.Products:
	default:
		return r
	}
	for _, name := range []string{"created_at", "updated_at"} {
		if r.Get(name).Kind() == adapter.Absent {
			r.Set(name, adapter.TextValue(moment))
		}
	}
	return r
}
