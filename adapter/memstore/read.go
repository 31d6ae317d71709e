package memstore

import (
	"cmp"
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"iter"
	"slices"
	"strconv"
)

// A reader reads the records of one resource. It implements [rules.Reader]. Each call
// reads one state, so that it sees all of a write or nothing of it.
type reader struct {
	db     *database
	schema *adapter.Schema
}

// List returns the records that a query selects.
func (r reader) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	op := "list " + string(r.schema.Resource)
	s, err := r.db.read(ctx, op)
	if err != nil {
		return nil, err
	}
	if p.OwnerID != 0 && r.schema.Owner == "" {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	v, err := newView(r.schema, p)
	if err != nil {
		return nil, err
	}
	var rows []*row
	for row := range s.tables[r.schema.Resource].candidates(p) {
		if v.selects(s, row) {
			rows = append(rows, row)
		}
	}
	q := p.Query
	if len(q.Where) == 0 && q.OrderBy == "" && !p.Count {
		rows, q = pageOf(rows, &q), adapter.Query{}
	}
	records := make([]adapter.Record, len(rows))
	for i, row := range rows {
		records[i] = s.show(v, row)
	}
	records, total, err := adapter.Apply(ctx, r.schema, records, &q)
	switch {
	case adapter.KindOf(err) == adapter.Invalid: // an invalid expression
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: err}
	case err != nil:
		return nil, err
	case p.Count:
		return &adapter.ListResult{Total: total}, nil
	}
	for i := range records {
		v.narrow(records[i])
	}
	size := int64(0)
	for i := range records {
		if size += records[i].Size(); p.MaxBytes > 0 && size >= p.MaxBytes {
			return &adapter.ListResult{Records: records[:i+1], More: i+1 < len(records)}, nil
		}
	}
	return &adapter.ListResult{Records: records}, nil
}

// pageOf returns the page of rows that a query without conditions selects in the order of
// the keys, which is the order of the rows. So only these have to be put together.
func pageOf(rows []*row, q *adapter.Query) []*row {
	if q.After != nil {
		at, found := slices.BinarySearchFunc(rows, q.After.Key, func(r *row, key adapter.Key) int { return cmp.Compare(r.record.Key(), key) })
		if found {
			at++
		}
		rows = rows[at:]
	}
	rows = rows[min(q.Offset, int64(len(rows))):]
	if q.Limit > 0 {
		rows = rows[:min(q.Limit, int64(len(rows)))]
	}
	return rows
}

// Get returns one record.
func (r reader) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	op := fmt.Sprintf("get %s %d", r.schema.Resource, p.Key)
	s, err := r.db.read(ctx, op)
	if err != nil {
		return adapter.Record{}, err
	}
	v, err := newView(r.schema, &adapter.ListParams{
		OwnerID: p.OwnerID, StoreID: p.StoreID, WebsiteScope: p.WebsiteScope, Filters: p.Filters, With: p.With, Only: p.Only,
	})
	if err != nil {
		return adapter.Record{}, err
	}
	row := s.row(r.schema.Resource, p.Key)
	if row == nil || !v.selects(s, row) {
		return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound, Op: op}
	}
	record := s.show(v, row)
	v.narrow(record)
	return record, nil
}

// candidates returns all rows that p may select: the rows that an index finds by the owner
// or by a condition, otherwise all.
func (t *table) candidates(p *adapter.ListParams) iter.Seq[*row] {
	if p.OwnerID != 0 {
		if rows, ok := t.lookUp(t.schema.Owner, []string{strconv.FormatInt(p.OwnerID, 10)}); ok {
			return rows
		}
	}
	for _, condition := range p.Query.Where {
		if len(condition.Any) != 1 {
			continue
		}
		if test := condition.Any[0]; test.Op == adapter.In || test.Op == adapter.Eq {
			if rows, ok := t.lookUp(test.Attribute, test.Operands); ok {
				return rows
			}
		}
	}
	return t.rows.all()
}

// lookUp returns the rows whose attribute equals one of the operands of a query. ok is
// false if the table cannot find them.
func (t *table) lookUp(attribute string, operands []string) (rows iter.Seq[*row], ok bool) {
	at, _ := t.schema.Index(attribute)
	if at != t.by && attribute != t.schema.Key {
		return nil, false
	}
	var keys []adapter.Key
	for _, operand := range operands {
		if t.schema.Attributes[at].Kind == adapter.KindText {
			keys = append(keys, t.keysBy(adapter.Fold(operand))...)
			continue
		}
		number, err := strconv.ParseInt(operand, 10, 64)
		switch {
		case err != nil: // such as 1.0, which equals 1
			return nil, false
		case attribute == t.schema.Key:
			keys = append(keys, adapter.Key(number))
		default:
			keys = append(keys, t.keysBy(strconv.FormatInt(number, 10))...)
		}
	}
	slices.Sort(keys)
	return t.byKeys(slices.Compact(keys)), true
}
