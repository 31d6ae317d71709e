package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
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
func (s *recordStore) ScanRecord(rows *sql.Rows) (adapter.Record, error) {
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
	clear(sc.Cells)
	s.ScannerPool.Put(sc)
}
