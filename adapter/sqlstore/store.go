package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// A store reads and writes the records of one table.
type store struct {
	db      *DB
	table   *table
	getSQL  string // reads one record by its key
	lockSQL string // the same with a lock
	// ownIndexes are the schema indexes of the attributes in columns of the table;
	// allIndexes include those of the joined table.
	ownIndexes, allIndexes []int
	scannerPool            *sync.Pool
	writePlan
}

func newStore(db *DB, t *table) *store {
	sb := db.engine.flavor.NewSelectBuilder()
	sb.Select(t.selectColumns(t.columnIndexes(false))...).From(t.name).Where(sb.Equal(t.keyColumn(), nil))
	get, _ := sb.Build()
	return &store{
		db: db, table: t, getSQL: get, lockSQL: get + db.engine.lockClause,
		ownIndexes: t.columnIndexes(false), allIndexes: t.columnIndexes(true), scannerPool: newScannerPool(),
		writePlan: newWritePlan(db.engine, t),
	}
}

// selectColumns returns the columns that a scanner reads: those of the attributes at
// the given schema indexes, then the list of nulls if the table has one.
func (t *table) selectColumns(indexes []int) []string {
	names := make([]string, 0, len(indexes)+1)
	for _, a := range indexes {
		names = append(names, t.columns[a].name)
	}
	if t.nulls {
		names = append(names, t.name+".nulls")
	}
	return names
}

// List returns the records that a query selects. Attributes of the joined table are
// present only if the query names one of them.
func (s *store) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	if err := s.table.schema.CheckFilters(p.Filters); err != nil {
		return nil, err
	}
	sb := s.db.engine.flavor.NewSelectBuilder()
	shown := s.table.atStoreView(sb, p.StoreID)
	t := shown.withAdded(s.db.engine, sb, &p.Query)
	selected, err := selectRecords(s.db.engine, sb, t, &p.Query)
	if err != nil {
		return nil, err
	}
	sb.From(s.table.name).Where(selected.where...)
	if p.OwnerID != 0 {
		owner, err := s.ownerColumn("list")
		if err != nil {
			return nil, err
		}
		sb.Where(sb.Equal(owner, p.OwnerID))
	}
	for _, name := range p.With {
		if _, err := selected.attribute(s.table, name); err != nil {
			return nil, err
		}
	}
	if selected.usesJoin {
		sb.Join(s.table.join, s.table.on)
	}
	indexes := s.ownIndexes
	if selected.usesJoin {
		indexes = s.allIndexes
	}
	if p.Only != nil {
		indexes = s.table.requestedIndexes(indexes, slices.Concat(p.With, p.Only), &p.Query)
	}
	sc := s.scannerPool.Get().(*scanner)
	defer s.putScanner(sc)
	sc.setColumns(s.table, indexes)
	found, err := s.find(ctx, sb.Select(shown.selectColumns(indexes)...), selected, p, func(rows *sql.Rows) (adapter.Record, error) {
		return sc.record(s.table.schema, rows)
	})
	if err != nil {
		return nil, err
	}
	if err := s.addValues(ctx, s.db.readStatements.query, found.Records); err != nil {
		return nil, s.db.wrapError(ctx, "list "+string(s.table.schema.Resource), err)
	}
	return found, nil
}

func (s *store) count(ctx context.Context, sb *sqlbuilder.SelectBuilder) (*adapter.ListResult, error) {
	result := &adapter.ListResult{}
	text, arguments := sb.Build()
	rows, err := s.db.readStatements.query(ctx, text, arguments...)
	if err == nil {
		err = scanOne(rows, &result.Total)
	}
	if err != nil {
		return nil, s.db.wrapError(ctx, "count "+string(s.table.schema.Resource), err)
	}
	return result, nil
}

// scanOne scans the first row into dest and closes rows. It fails with sql.ErrNoRows if
// there is none.
func scanOne(rows *sql.Rows, dest ...any) error {
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	return rows.Close()
}

// ownerColumn returns the column with the id of the customer that a record belongs to.
func (s *store) ownerColumn(op string) (string, error) {
	if s.table.schema.Owner == "" {
		return "", &adapter.Error{Kind: adapter.Unsupported, Op: op + " " + string(s.table.schema.Resource), Err: errNoOwner}
	}
	return s.table.column(s.table.schema.Owner).name, nil
}

var errNoOwner = errors.New("records of this resource have no owner")

// Get returns one record. Attributes of the joined table are absent unless p names
// them.
func (s *store) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	if err := s.table.schema.CheckFilters(p.Filters); err != nil {
		return adapter.Record{}, err
	}
	if len(p.With) > 0 || p.StoreID != 0 && s.table.atViews.name != "" {
		return s.getOnDemand(ctx, p)
	}
	r, err := s.getByKey(ctx, p)
	if err != nil || p.OwnerID == 0 {
		return r, err
	}
	if s.table.schema.Owner == "" || r.Get(s.table.schema.Owner).Int() != p.OwnerID {
		return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("get %s %d of customer %d", s.table.schema.Resource, p.Key, p.OwnerID)}
	}
	return r, nil
}

// getByKey returns one record regardless of its owner.
func (s *store) getByKey(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	rows, err := s.db.readStatements.query(ctx, s.getSQL, int64(p.Key))
	if err == nil {
		var r adapter.Record
		if r, err = s.scanRecord(rows); err == nil {
			err = s.addValues(ctx, s.db.readStatements.query, []adapter.Record{r})
		}
		if err == nil {
			return r, nil
		}
	}
	return adapter.Record{}, s.db.wrapError(ctx, fmt.Sprintf("get %s %d", s.table.schema.Resource, p.Key), err)
}

// scanRecord reads a single row and closes rows. It fails with sql.ErrNoRows if there
// is none.
func (s *store) scanRecord(rows *sql.Rows) (adapter.Record, error) {
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return adapter.Record{}, err
		}
		return adapter.Record{}, sql.ErrNoRows
	}
	sc := s.scannerPool.Get().(*scanner)
	defer s.putScanner(sc)
	sc.setColumns(s.table, s.ownIndexes)
	r, err := sc.record(s.table.schema, rows)
	if err != nil {
		return adapter.Record{}, err
	}
	return r, rows.Close()
}

// unqualified returns a column's name without its table.
func unqualified(column string) string { return column[strings.IndexByte(column, '.')+1:] }

// bind returns the argument of a statement for v, a value of a. Arguments are
// comparable.
func (e *engine) bind(a *adapter.Attribute, v adapter.Value) (any, error) {
	switch v.Kind() {
	case adapter.Absent, adapter.Null, adapter.Unset:
		return nil, nil
	case adapter.Integer:
		if a.Kind == adapter.KindInteger {
			return v.Int(), nil
		}
	case adapter.Texts:
		if a.Kind == adapter.KindTexts {
			return strings.Join(v.Texts(), "\n"), nil
		}
	case adapter.Text:
		switch a.Kind {
		case adapter.KindText:
			return v.Text(), nil
		case adapter.KindDecimal:
			units, ok := adapter.ParseDecimal(v.Text())
			if !ok {
				return nil, errDecimal
			}
			return e.decimal(units), nil
		case adapter.KindTime:
			if !adapter.IsTime(v.Text()) {
				return nil, errTime
			}
			return v.Text(), nil
		}
	}
	return nil, errKind
}

// fold returns the value of a text's folded column.
func fold(v adapter.Value) any {
	if v.Empty() || v.Kind() == adapter.Unset {
		return nil
	}
	return adapter.Fold(v.Text())
}

var (
	errReadOnly = errors.New("the attribute is read-only")
	errKind     = errors.New("the value is not of the attribute's kind")
	errDecimal  = errors.New("must be a decimal with at most four decimal places")
	errTime     = errors.New("must be a time between the years 1 and 9999")
)
