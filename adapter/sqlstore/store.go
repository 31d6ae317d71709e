package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// A store reads and changes the records of one table. What creating and deleting
// them means differs from resource to resource.
type store struct {
	db         *DB
	table      *table
	get        string // statement that reads one record by its key
	lock       string // the same, and locks it
	own, every *sync.Pool
}

func newStore(db *DB, t *table) *store {
	sb := db.engine.flavor.NewSelectBuilder()
	sb.Select(t.selected(false)...).From(t.name).Where(sb.Equal(t.key(), nil))
	get, _ := sb.Build()
	return &store{
		db: db, table: t, get: get, lock: get + db.engine.lock,
		own:   newScanners(t, t.places(false)),
		every: newScanners(t, t.places(true)),
	}
}

// selected returns the columns a scanner reads: those of the attributes, without
// those of the joined table unless joined, and the list of nulls.
func (t *table) selected(joined bool) []string {
	var names []string
	for _, a := range t.places(joined) {
		names = append(names, t.columns[a].name)
	}
	if t.nulls {
		names = append(names, t.name+".nulls")
	}
	return names
}

// List returns the records a query selects. Attributes of the joined table are
// there only when the query names one of them.
func (s *store) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	sb := s.db.engine.flavor.NewSelectBuilder()
	selected, err := selectRecords(s.db.engine, sb, s.table, &p.Query)
	if err != nil {
		return nil, err
	}
	sb.From(s.table.name).Where(selected.where...)
	if p.OwnerID != 0 {
		owner, err := s.owner("list")
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
	if selected.joined {
		sb.Join(s.table.join, s.table.on)
	}
	if p.Count && !selected.partial {
		return s.count(ctx, sb.Select("COUNT(*)"))
	}
	sb.Select(s.table.selected(selected.joined)...)
	if !selected.partial {
		sb.OrderBy(selected.order...)
		cut(sb, &p.Query)
	}
	scanners := s.own
	if selected.joined {
		scanners = s.every
	}
	records, err := s.records(ctx, sb, scanners)
	if err != nil {
		return nil, s.db.fault(ctx, "list "+string(s.table.schema.Resource), err)
	}
	return &adapter.ListResult{Records: records, Partial: selected.partial}, nil
}

// cut writes the page. Not every engine takes an offset without a limit.
func cut(sb *sqlbuilder.SelectBuilder, q *adapter.Query) {
	switch {
	case q.Offset > 0 && q.Limit > 0:
		sb.SQL("LIMIT " + sb.Var(q.Limit) + " OFFSET " + sb.Var(q.Offset))
	case q.Offset > 0:
		sb.SQL("LIMIT " + sb.Var(int64(math.MaxInt64)) + " OFFSET " + sb.Var(q.Offset))
	case q.Limit > 0:
		sb.SQL("LIMIT " + sb.Var(q.Limit))
	}
}

func (s *store) count(ctx context.Context, sb *sqlbuilder.SelectBuilder) (*adapter.ListResult, error) {
	result := &adapter.ListResult{}
	text, arguments := sb.Build()
	rows, err := s.db.reading.query(ctx, text, arguments...)
	if err == nil {
		err = scanOne(rows, &result.Total)
	}
	if err != nil {
		return nil, s.db.fault(ctx, "count "+string(s.table.schema.Resource), err)
	}
	return result, nil
}

// scanOne reads the first row into the variables and closes rows; it fails with
// sql.ErrNoRows when there is none.
func scanOne(rows *sql.Rows, into ...any) error {
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	return rows.Close()
}

func (s *store) records(ctx context.Context, sb *sqlbuilder.SelectBuilder, scanners *sync.Pool) ([]adapter.Record, error) {
	text, arguments := sb.Build()
	rows, err := s.db.reading.query(ctx, text, arguments...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	sc := scanners.Get().(*scanner)
	defer scanners.Put(sc)
	var records []adapter.Record
	for rows.Next() {
		r, err := sc.record(s.table.schema, rows)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, rows.Err()
}

// owner returns the column that says whose a record is.
func (s *store) owner(op string) (string, error) {
	if s.table.schema.Owner == "" {
		return "", &adapter.Error{Kind: adapter.Unsupported, Op: op + " " + string(s.table.schema.Resource), Err: errNoOwner}
	}
	return s.table.column(s.table.schema.Owner).name, nil
}

var errNoOwner = errors.New("the records belong to nobody")

// Get returns one record, without the attributes of the joined table unless p
// names them.
func (s *store) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	if len(p.With) > 0 {
		return s.getWith(ctx, p)
	}
	r, err := s.getAny(ctx, p)
	if err != nil || p.OwnerID == 0 {
		return r, err
	}
	if s.table.schema.Owner == "" || r.Get(s.table.schema.Owner).Int() != p.OwnerID {
		return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("get %s %d of customer %d", s.table.schema.Resource, p.Key, p.OwnerID)}
	}
	return r, nil
}

// getAny returns one record, whoever it belongs to.
func (s *store) getAny(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	rows, err := s.db.reading.query(ctx, s.get, int64(p.Key))
	if err == nil {
		var r adapter.Record
		if r, err = s.only(rows); err == nil {
			return r, nil
		}
	}
	return adapter.Record{}, s.db.fault(ctx, fmt.Sprintf("get %s %d", s.table.schema.Resource, p.Key), err)
}

// only reads the one row and closes rows.
func (s *store) only(rows *sql.Rows) (adapter.Record, error) {
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return adapter.Record{}, err
		}
		return adapter.Record{}, sql.ErrNoRows
	}
	sc := s.own.Get().(*scanner)
	defer s.own.Put(sc)
	r, err := sc.record(s.table.schema, rows)
	if err != nil {
		return adapter.Record{}, err
	}
	return r, rows.Close()
}

// Update changes one record inside a transaction that has locked it before it
// reads.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update %s %d", s.table.schema.Resource, p.Key)
	stmt, err := s.db.writing.prepared(ctx, s.lock)
	if err != nil {
		return s.db.fault(ctx, op, err)
	}
	var refused error
	var stored string // the statement that stored the change
	err = s.db.write(ctx, op, func(tx *sql.Tx) error {
		current, err := s.locked(ctx, tx, stmt, p.Key)
		if err != nil {
			return err
		}
		var change adapter.Record
		if change, refused = p.Change(current.Clone()); refused != nil {
			return refused
		}
		stored, err = s.write(ctx, tx, op, p.Key, current, change)
		return err
	})
	if refused != nil {
		return refused
	}
	if err == nil && stored != "" {
		// For the next change of the same attributes. This one is done.
		_, _ = s.db.writing.prepared(ctx, stored)
	}
	return err
}

// locked reads one record and locks it. stmt is the statement s.lock, or nil.
func (s *store) locked(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, key adapter.Key) (adapter.Record, error) {
	for range maxAttempts {
		r, err := s.readIn(ctx, tx, stmt, s.lock, key)
		if !errors.Is(err, sql.ErrNoRows) {
			return r, err
		}
		// A transaction that takes the record away may put it back, as Reset does:
		// who waited for its lock has then lost sight of the record.
		if _, err := s.readIn(ctx, tx, nil, s.get, key); err != nil {
			return adapter.Record{}, err
		}
	}
	return adapter.Record{}, &adapter.Error{Kind: adapter.Unavailable, Op: "lock " + string(s.table.schema.Resource), Err: errReplaced}
}

// readIn reads one record by a statement that is prepared as stmt, or not.
func (s *store) readIn(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, text string, key adapter.Key) (adapter.Record, error) {
	rows, err := queryIn(ctx, tx, stmt, text, int64(key))
	if err != nil {
		return adapter.Record{}, err
	}
	return s.only(rows)
}

// write stores the values of change that differ from those of current, and
// returns the statement that did, "" when there are none.
func (s *store) write(ctx context.Context, tx *sql.Tx, op string, key adapter.Key, current, change adapter.Record) (text string, err error) {
	ub := s.db.engine.flavor.NewUpdateBuilder()
	ub.Update(s.table.name)
	changed := false
	for i, v := range change.Values {
		a, c := &s.table.schema.Attributes[i], &s.table.columns[i]
		if v.Kind() == adapter.Absent {
			continue
		}
		argument, err := s.db.engine.bind(a, v)
		if err != nil {
			return "", &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: err}
		}
		before, err := s.db.engine.bind(a, current.Values[i])
		if err != nil {
			return "", err
		}
		if argument == before && current.Values[i].Kind() != adapter.Absent {
			continue
		}
		if a.ReadOnly || c.joined || c.name == "" {
			return "", &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errReadOnly}
		}
		ub.SetMore(ub.Assign(bare(c.name), argument))
		if c.folded != "" {
			ub.SetMore(ub.Assign(bare(c.folded), fold(v)))
		}
		changed = true
	}
	if !changed {
		return "", nil
	}
	text, arguments := ub.Where(ub.Equal(bare(s.table.key()), int64(key))).Build()
	_, err = s.db.writing.execIn(ctx, tx, text, arguments...)
	return text, err
}

var (
	errReadOnly = errors.New("kept by the store itself")
	errReplaced = errors.New("the record is replaced again and again")
	errKind     = errors.New("a value of another kind than the attribute")
	errTime     = errors.New("not a time between the years 1 and 9999")
)

// bare returns a column's name without its table.
func bare(column string) string { return column[strings.IndexByte(column, '.')+1:] }

// bind returns what a statement binds for v, a value of a. The result is
// comparable.
func (e *engine) bind(a *adapter.Attribute, v adapter.Value) (any, error) {
	switch v.Kind() {
	case adapter.Absent, adapter.Null:
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
			units, err := parseDecimal(v.Text())
			if err != nil {
				return nil, err
			}
			return e.decimal(units), nil
		case adapter.KindTime:
			if !isTime(v.Text()) {
				return nil, errTime
			}
			return v.Text(), nil
		}
	}
	return nil, errKind
}

// firstTime is the first moment that every engine can hold.
const firstTime = "0001-01-01 00:00:00"

// isTime reports whether s is a moment that every engine can hold, in the form
// of adapter.KindTime.
func isTime(s string) bool {
	t, err := time.Parse(time.DateTime, s)
	return err == nil && s >= firstTime && t.Format(time.DateTime) == s
}

// fold returns what the folded column of a text gets.
func fold(v adapter.Value) any {
	if v.Empty() {
		return nil
	}
	return adapter.Fold(v.Text())
}
