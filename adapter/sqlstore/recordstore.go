package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A recordStore reads and writes the records of one table.
type recordStore struct {
	db      *engine.DB
	Table   *engine.Table
	GetSQL  string // reads one record by its key
	LockSQL string // the same with a lock
	// OwnIndexes are the schema indexes of the attributes in columns of the table;
	// allIndexes include the attributes of the joined table.
	OwnIndexes, allIndexes []int
	ScannerPool            *sync.Pool
	engine.WritePlan
	counted bool // the table product_count holds how many products there are
}

func newStore(db *engine.DB, t *engine.Table) *recordStore {
	sb := db.Engine.Flavor.NewSelectBuilder()
	sb.Select(t.SelectColumns(t.ColumnIndexes(false))...).From(t.Name).Where(sb.Equal(t.KeyColumn(), nil))
	get, _ := sb.Build()
	return &recordStore{
		db: db, Table: t, GetSQL: get, LockSQL: get + db.Engine.LockClause,
		OwnIndexes: t.ColumnIndexes(false), allIndexes: t.ColumnIndexes(true), ScannerPool: engine.NewScannerPool(),
		WritePlan: engine.NewWritePlan(db.Engine, t),
	}
}

func (s *recordStore) count(ctx context.Context, sb *sqlbuilder.SelectBuilder) (*adapter.ListResult, error) {
	result := &adapter.ListResult{}
	text, arguments := sb.Build()
	err := engine.First(s.db.ReadStatements.Query(ctx, text, arguments...)).Scan(&result.Total)
	if err != nil {
		return nil, s.db.WrapError(ctx, "count "+string(s.Table.Schema.Resource), err)
	}
	return result, nil
}

// ownerColumn returns the column with the id of the customer that a record belongs to.
func (s *recordStore) ownerColumn(op string) (string, error) {
	if s.Table.Schema.Owner == "" {
		return "", &adapter.Error{Kind: adapter.Unsupported, Op: op + " " + string(s.Table.Schema.Resource), Err: errNoOwner}
	}
	return s.Table.Column(s.Table.Schema.Owner).Name, nil
}

var errNoOwner = errors.New("records of this resource have no owner")

// ScanRecord reads a single row and closes rows. It fails with sql.ErrNoRows if there
// is none.
func (s *recordStore) ScanRecord(rows engine.Rows) (adapter.Record, error) {
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return adapter.Record{}, err
		}
		return adapter.Record{}, sql.ErrNoRows
	}
	sc := s.ScannerPool.Get().(*engine.Scanner)
	defer s.PutScanner(sc)
	sc.SetColumns(s.Table, s.OwnIndexes)
	r, err := sc.Record(s.Table.Schema, rows)
	if err != nil {
		return adapter.Record{}, err
	}
	return r, rows.Close()
}

// PutScanner returns a scanner to the pool. It clears the references to records, so
// that the pool does not keep them alive.
func (s *recordStore) PutScanner(sc *engine.Scanner) {
	sc.Forget()
	s.ScannerPool.Put(sc)
}

// A RecordSet reads the records of all resources.
type RecordSet struct {
	Schemas  *adapter.Schemas
	Tables   []*engine.Table
	Records  map[adapter.Resource]*recordStore // of all tables
	ReaderOf map[adapter.Resource]rules.Reader
	Products products
}

// NewRecordSet returns the records of a database.
func NewRecordSet(db *engine.DB, schemas *adapter.Schemas) *RecordSet {
	s := &RecordSet{
		Schemas: schemas, Tables: engine.Layout(schemas),
		Records: map[adapter.Resource]*recordStore{}, ReaderOf: map[adapter.Resource]rules.Reader{},
	}
	for _, t := range s.Tables {
		own := newStore(db, t)
		s.Records[t.Schema.Resource], s.ReaderOf[t.Schema.Resource] = own, own
	}
	s.Products = newProducts(s.Records[adapter.Products], s.Records[adapter.StockItems])
	s.ReaderOf[adapter.Products], s.ReaderOf[adapter.ProductImages] = s.Products, newProductImages(s.Records[adapter.ProductImages])
	return s
}

// Table returns the table of a resource, which must exist.
func (s *RecordSet) Table(r adapter.Resource) *engine.Table {
	for _, t := range s.Tables {
		if t.Schema.Resource == r {
			return t
		}
	}
	panic("sqlstore: no table for " + string(r))
}

// RecordCounters returns the counters of the records and of the prices of products, by their
// resources, in an order that is always the same so that transactions that move them
// cannot deadlock.
func (s *RecordSet) RecordCounters() (resources []adapter.Resource, counters []engine.Counter) {
	for _, t := range s.Tables {
		resources, counters = append(resources, t.Schema.Resource), append(counters, engine.Counter{Table: t.Name, Column: t.Schema.Key})
	}
	products := s.Schemas.Of(adapter.Products)
	for _, list := range rules.PriceLists() {
		at, _ := products.Index(list)
		nested := products.Attributes[at].Nested
		resources, counters = append(resources, nested.Resource), append(counters, engine.Counter{Table: priceTable(list), Column: nested.Key})
	}
	return resources, counters
}

// priceTable returns the table of a price list.
func priceTable(list string) string { return "product_" + list }
