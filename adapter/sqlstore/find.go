package sqlstore

import (
	"context"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// find answers p. sb selects the columns and tables to read; selected holds the conditions of
// p; sb lacks their order and page; read makes a record of the current row.
//
// The conditions that SQL cannot evaluate exactly are evaluated while the rows are read, so
// that no more records than the page are held in memory. The result is Partial, which leaves
// the work to adapter.Apply, only if SQL cannot produce the order or if the rows lack values
// that the conditions need.
func (s *recordStore) find(ctx context.Context, sb *sqlbuilder.SelectBuilder, selected *selection, p *adapter.ListParams, read func(engine.Rows) (adapter.Record, error)) (*adapter.ListResult, error) {
	if p.Count && len(selected.Residual) == 0 {
		return s.count(ctx, sb.Select("COUNT(*)"))
	}
	partial := selected.ResidualOnParts || len(selected.Order) == 0 && !p.Count
	wanted := postFilter{maxBytes: p.MaxBytes}
	var err error
	if partial {
		wanted.maxBytes = 0
		err = s.eachRecord(ctx, s.db.ReadStatements.Query, sb, read, wanted.add)
	} else {
		wanted.counting = p.Count
		q := p.Query
		s.skipByKey(sb, selected, p, &q)
		err = s.findInOrder(ctx, sb, selected, &q, read, &wanted)
	}
	if err != nil {
		return nil, s.db.WrapError(ctx, "list "+string(s.Table.Schema.Resource), err)
	}
	return &adapter.ListResult{Records: wanted.records, Total: wanted.total, Partial: partial, More: wanted.truncated()}, nil
}

// skipByKey replaces the offset of q, a list of all records in the order of their keys, by the
// key at which its page begins. To find that key, databases scan an index of keys, where an
// offset would make them read each record before the page.
func (s *recordStore) skipByKey(sb *sqlbuilder.SelectBuilder, selected *selection, p *adapter.ListParams, q *adapter.Query) {
	key := s.Table.Schema.Key
	if q.Offset == 0 || len(q.Where) > 0 || len(p.Filters) > 0 || p.OwnerID != 0 || selected.UsesJoin || q.OrderBy != "" && q.OrderBy != key {
		return
	}
	first := s.db.Engine.Flavor.NewSelectBuilder()
	first.Select(s.Table.KeyColumn()).From(s.Table.Name).OrderBy(selected.Order...).Limit(1).Offset(int(q.Offset))
	reached, passed := " >= ", first.GreaterThan
	if q.Desc && q.OrderBy != "" {
		reached, passed = " <= ", first.LessThan
	}
	if q.After != nil {
		first.Where(passed(s.Table.KeyColumn(), int64(q.After.Key)))
	}
	sb.Where(s.Table.KeyColumn() + reached + "(" + sb.Var(first) + ")")
	q.Offset = 0
}

// findInOrder runs sb in the order of q and adds the matching records to wanted. A page
// after a mark takes two statements if the rows of the first do not fill it.
func (s *recordStore) findInOrder(ctx context.Context, sb *sqlbuilder.SelectBuilder, selected *selection, q *adapter.Query, read func(engine.Rows) (adapter.Record, error), wanted *postFilter) error {
	if err := wanted.prepare(selected, s.Table.Schema, q); err != nil {
		return &adapter.Error{Kind: adapter.Unsupported, Op: "list " + string(s.Table.Schema.Resource), Err: err}
	}
	if wanted.counting {
		return s.eachRecord(ctx, s.db.ReadStatements.Query, sb, read, wanted.add)
	}
	sb.OrderBy(selected.Order...)
	after, tail := selected.After, selected.Tail
	if q.Offset > 0 && tail != "" { // the offset may reach into the tail
		after, tail = sb.Or(after, tail), ""
	}
	// One builder writes both statements. Its Clone method is unsafe: the garbage
	// collector may free what a clone refers to.
	conditions := sqlbuilder.NewWhereClause().AddWhereClause(sb.WhereClause)
	if after != "" {
		sb.Where(after)
	}
	if err := s.eachRecord(ctx, s.db.ReadStatements.Query, wanted.setPage(sb, q), read, wanted.add); err != nil || tail == "" || wanted.full() || wanted.truncated() {
		return err
	}
	sb.WhereClause = conditions
	return s.eachRecord(ctx, s.db.ReadStatements.Query, wanted.setPage(sb.Where(tail), q), read, wanted.add)
}

// eachRecord runs a statement and passes each record to take, until take returns false.
func (s *recordStore) eachRecord(ctx context.Context, query engine.QueryFunc, sb *sqlbuilder.SelectBuilder, read func(engine.Rows) (adapter.Record, error), take func(context.Context, adapter.Record) (more bool, err error)) error {
	text, arguments := sb.Build()
	return s.eachRecordOf(ctx, query, text, arguments, read, take)
}

// eachRecordOf is eachRecord for a statement that was already built.
func (s *recordStore) eachRecordOf(ctx context.Context, query engine.QueryFunc, text string, arguments []any, read func(engine.Rows) (adapter.Record, error), take func(context.Context, adapter.Record) (more bool, err error)) error {
	rows, err := query(ctx, text, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := ctx.Err(); err != nil { // drivers notice a cancelled context later
			return err
		}
		r, err := read(rows)
		if err != nil {
			return err
		}
		if more, err := take(ctx, r); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// A postFilter collects the records of a list. It applies to each row the parts of the query
// that the statement could not: residual conditions, the start of the page, the offset, and
// the limits. The zero postFilter keeps all records.
type postFilter struct {
	records []adapter.Record
	limit   int64 // greatest number of records; 0 means no limit
	// size is the size of the records; the list ends when it reaches maxBytes. Both are
	// unused if maxBytes is 0.
	size, maxBytes int64
	total          int64 // number of matching records, if counting is set
	// matcher evaluates the conditions that the statement could not; nil if there are none.
	// counting and toSkip, the rest of the offset, are used only with a matcher.
	matcher  *adapter.Matcher
	counting bool
	toSkip   int64
}

// prepare sets s up for the parts of q that SQL cannot do exactly.
func (s *postFilter) prepare(selected *selection, schema *adapter.Schema, q *adapter.Query) (err error) {
	s.limit = q.Limit
	left := adapter.Query{Where: selected.Residual, OrderBy: q.OrderBy, Desc: q.Desc, MatchBytes: q.MatchBytes}
	if selected.After == "" {
		left.After = q.After
	}
	if len(left.Where) > 0 || left.After != nil {
		s.toSkip = q.Offset
		s.matcher, err = adapter.NewMatcher(schema, &left)
	}
	return err
}

// setPage adds q's offset to the statement, and q's limit minus the number of records that
// earlier statements of the same list have found. It adds neither if s has to filter the rows
// first: it then counts them itself.
func (s *postFilter) setPage(sb *sqlbuilder.SelectBuilder, q *adapter.Query) *sqlbuilder.SelectBuilder {
	if s.matcher == nil {
		left := *q
		if q.Limit > 0 {
			left.Limit -= int64(len(s.records))
		}
		setPage(sb, &left)
	}
	return sb
}

// add adds the next record if it matches, and reports whether s needs more. It fails like
// [adapter.Matcher.Matches].
func (s *postFilter) add(ctx context.Context, r adapter.Record) (more bool, err error) {
	if s.matcher != nil {
		selected, err := s.matcher.Matches(ctx, r)
		switch {
		case err != nil || !selected:
			return true, err
		case s.counting:
			s.total++
			return true, nil
		case !s.matcher.IsAfterCursor(r):
			return true, nil
		case s.toSkip > 0:
			s.toSkip--
			return true, nil
		}
		r = r.Clone() // r shares an allocation with rejected records
	}
	s.records = append(s.records, r)
	if s.maxBytes > 0 {
		s.size += r.Size()
	}
	return !s.full() && !s.truncated(), nil
}

// full reports whether s holds the whole page.
func (s *postFilter) full() bool { return s.limit > 0 && int64(len(s.records)) >= s.limit }

// truncated reports whether s ended the page early because of maxBytes.
func (s *postFilter) truncated() bool { return s.maxBytes > 0 && s.size >= s.maxBytes && !s.full() }
