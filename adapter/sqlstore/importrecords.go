package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/rules"
)

// maxExplicitKey is the greatest key that a caller may choose. New records get keys
// greater than all existing ones, and a single record must not exhaust the range.
const maxExplicitKey = 1<<53 - 1

// ImportRecords inserts records of the backend into the local replica, each with its
// mapping, in one transaction, and returns their keys.
//
// Either the first record is a root and the others are its parts, or all are parts of
// one existing root that the mapping of each names. Key 0 means the next free key; keys
// that the database chooses later are greater than any key given here. ImportRecords sets
// a part's RootAttribute and Mapping.RootKey to the root's key, and Mapping.Root to the
// root's resource. It checks and derives nothing that a client's write would, except
// that records without created_at and updated_at get the present time and that the
// product listing is kept up to date.
//
// Kinds: Conflict when a key, an id or a unique value is taken; Invalid; Unsupported
// for images, whose files the local replica does not have; Unavailable; Internal.
func (s *Replica) ImportRecords(ctx context.Context, records []replica.ImportedRecord) ([]adapter.Key, error) {
	const op = "import records"
	checked, err := s.checkImported(op, records)
	if err != nil || len(checked) == 0 {
		return nil, err
	}
	var keys []adapter.Key
	err = s.db.write(ctx, op, func(tx *sql.Tx) error {
		keys, err = s.db.newRecordImport(tx, op).storeAll(ctx, checked)
		return err
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

var (
	errNoRecord = errors.New("records of this resource cannot be stored this way")
	errRootGone = errors.New("no such record")
	errNoRoot   = errors.New("want one root followed by its parts, or parts of one existing root")
	errKeyRange = errors.New("the key is out of range")
)

// checkImported returns records converted to the schemas of their tables, or an error if
// ImportRecords cannot store them.
func (s *Replica) checkImported(op string, records []replica.ImportedRecord) ([]replica.ImportedRecord, error) {
	checked := slices.Clone(records)
	for i := range checked {
		a := &checked[i]
		r, m := a.Mapping.Resource, &a.Mapping
		if _, served := s.db.stores[r]; !served || r == adapter.ProductImages || r == adapter.Admins {
			return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op + " of " + string(r), Err: errNoRecord}
		}
		t := s.db.table(r)
		if err := checkMapping(op, m); err != nil {
			return nil, err
		}
		if m.Key < 0 || m.Key > maxExplicitKey {
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: t.schema.Key, Err: errKeyRange}
		}
		first := &checked[0].Mapping
		isRoot, rootFirst := a.RootAttribute == "", checked[0].RootAttribute == ""
		switch {
		case isRoot != (i == 0 && rootFirst),
			!rootFirst && (m.RootKey == 0 || m.RootKey != first.RootKey || m.Root != first.Root):
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Err: errNoRoot}
		}
		var err error
		if a.Record, err = t.conform(op, a.Record); err != nil {
			return nil, err
		}
		if at, ok := t.schema.Index(a.RootAttribute); !isRoot && (!ok || !t.columns[at].isStored()) {
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.RootAttribute, Err: errReadOnly}
		}
	}
	return checked, nil
}

// conform converts r to the table's schema. It fails with kind Invalid for a value that
// the table cannot hold.
func (t *table) conform(op string, r adapter.Record) (adapter.Record, error) {
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
		case !t.columns[at].isStored() && !t.schema.Attributes[at].Added && !isPriceList(name):
			return fitted, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: name, Err: errReadOnly}
		}
		fitted.Values[at] = v
	}
	return fitted, nil
}

// isPriceList reports whether an attribute is a list of product prices. No other
// resource has attributes of these names.
func isPriceList(attribute string) bool {
	return slices.Contains(rules.PriceLists(), attribute)
}

// A recordImport is a transaction that stores records under keys that the caller
// chooses, without the checks of a client's write.
type recordImport struct {
	*writeTx
	op     string
	now    string
	tables map[*table]*tableImport // see tableFor
}

// A tableImport holds the statements with which a recordImport stores the records of
// one table.
type tableImport struct {
	*store
	rowWithKey       *rowEncoder
	insertWithKeySQL string // inserts one rowWithKey
}

// tableFor returns the statements for a table, which it builds on first use.
func (a recordImport) tableFor(t *table) *tableImport {
	if a.tables[t] == nil {
		row := newRowEncoder(t, t.columnIndexes(false))
		a.tables[t] = &tableImport{store: a.db.records[t.schema.Resource], rowWithKey: row, insertWithKeySQL: row.insertSQL(a.db.engine, 1)}
	}
	return a.tables[t]
}

// newRecordImport returns a recordImport that runs in tx.
func (db *DB) newRecordImport(tx *sql.Tx, op string) recordImport {
	return recordImport{writeTx: &writeTx{db: db, tx: tx}, op: op, now: now(), tables: map[*table]*tableImport{}}
}

// storeAll stores records that checkAdopted has returned.
func (a recordImport) storeAll(ctx context.Context, records []replica.ImportedRecord) ([]adapter.Key, error) {
	root := recordID{records[0].Mapping.Root, records[0].Mapping.RootKey}
	if records[0].RootAttribute == "" {
		root.resource = records[0].Mapping.Resource
	} else if err := a.lockRoot(ctx, root, records[0].RootAttribute); err != nil {
		return nil, err
	}
	if err := a.advanceCounters(ctx, records); err != nil {
		return nil, err
	}
	moment := time.Now().UnixMicro()
	keys := make([]adapter.Key, 0, len(records))
	for _, r := range records {
		if r.RootAttribute != "" {
			r.Mapping.Root, r.Mapping.RootKey = root.resource, root.key
			r.Record = r.Record.Clone() // records is needed unchanged if the transaction is retried
			r.Record.Set(r.RootAttribute, adapter.IntegerValue(int64(root.key)))
		}
		key, err := a.storeRecord(ctx, r.Mapping.Resource, r.Mapping.Key, r.Record)
		if err != nil {
			return nil, err
		}
		r.Mapping.Key = key
		if err := a.exec(ctx, insertMapping, mappingArguments(&r.Mapping, moment)...); err != nil {
			return nil, err
		}
		if r.RootAttribute == "" {
			root.key = key
		}
		keys = append(keys, key)
	}
	return keys, a.refreshListing(ctx, root)
}

// lockRoot locks an existing root. It fails with kind Invalid when there is none.
func (a recordImport) lockRoot(ctx context.Context, root recordID, owner string) error {
	if _, served := a.db.stores[root.resource]; !served {
		return &adapter.Error{Kind: adapter.Invalid, Op: a.op, Field: owner, Err: errNoRecord}
	}
	_, err := a.Lock(ctx, root.resource, root.key)
	if adapter.KindOf(err) == adapter.NotFound {
		return &adapter.Error{Kind: adapter.Invalid, Op: a.op, Field: owner, Err: errRootGone}
	}
	return err
}

// advanceCounters moves the key counters past the keys that records bring along.
func (a recordImport) advanceCounters(ctx context.Context, records []replica.ImportedRecord) error {
	greatest := map[adapter.Resource]adapter.Key{}
	for _, r := range records {
		greatest[r.Mapping.Resource] = max(greatest[r.Mapping.Resource], r.Mapping.Key)
	}
	return a.advanceCountersTo(ctx, greatest)
}

// advanceCountersTo moves the key counter of each resource past a key.
func (a recordImport) advanceCountersTo(ctx context.Context, greatest map[adapter.Resource]adapter.Key) error {
	if a.db.engine.counters.passKey == nil {
		return nil
	}
	for _, t := range a.db.tables { // always in this order, so that transactions cannot deadlock
		key := greatest[t.schema.Resource]
		if key == 0 {
			continue
		}
		behind, move := a.db.engine.counters.passKey(counter{t.name, t.schema.Key}, int64(key))
		is, err := a.rowExists(ctx, behind)
		for i := 0; is && err == nil && i < len(move); i++ {
			_, err = a.tx.ExecContext(ctx, move[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// storeRecord stores one record with its added attributes and, for a product, its
// prices. Key 0 means the next free key. It returns the key.
func (a recordImport) storeRecord(ctx context.Context, resource adapter.Resource, key adapter.Key, record adapter.Record) (adapter.Key, error) {
	t := a.db.table(resource)
	s, r := a.tableFor(t), withTimestamps(record.Clone(), a.now)
	op := fmt.Sprintf("%s of %s", a.op, t.schema.Resource)
	err := rules.CheckUnique(ctx, a, op, key, r)
	if err == nil && t.schema.Resource == adapter.Products {
		err = rules.CheckSKU(ctx, a, op, key, r)
	}
	if err != nil {
		return 0, err
	}
	if key, err = a.insertRow(ctx, s, key, r); err != nil {
		return 0, err
	}
	r.Set(t.schema.Key, adapter.IntegerValue(int64(key)))
	if err := t.insertAdded(ctx, a.db, a.tx, r); err != nil || t.schema.Resource != adapter.Products {
		return key, err
	}
	if err := rules.SetPriceLists(ctx, a, op, r, r); err != nil {
		return 0, err
	}
	return key, rules.InitTypes(ctx, a, key)
}

// insertRow inserts a row under a key, or under the next free key if that is 0.
func (a recordImport) insertRow(ctx context.Context, s *tableImport, key adapter.Key, r adapter.Record) (adapter.Key, error) {
	if key == 0 {
		arguments, err := s.rowWithoutKey.arguments(a.db.engine, r)
		if err != nil {
			return 0, err
		}
		next, err := a.db.insertRow(ctx, a.tx, s.insertSQL, arguments)
		return adapter.Key(next), err
	}
	r.Set(s.table.schema.Key, adapter.IntegerValue(int64(key)))
	arguments, err := s.rowWithKey.arguments(a.db.engine, r)
	if err == nil {
		_, err = a.db.writeStatements.execTx(ctx, a.tx, s.insertWithKeySQL, arguments...)
	}
	return key, err
}

// refreshListing updates the product listing after a root was stored.
func (a recordImport) refreshListing(ctx context.Context, root recordID) error {
	switch root.resource {
	case adapter.Products:
		return a.Saved(ctx, root.key)
	case adapter.Stores, adapter.Websites:
		return a.db.rebuildListing(ctx, a.tx)
	default:
		return nil
	}
}

// withTimestamps returns r; a customer, an address or a product gets moment for each of
// created_at and updated_at that it lacks.
func withTimestamps(r adapter.Record, moment string) adapter.Record {
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
