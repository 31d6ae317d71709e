package sqlstore

import (
	"context"
	"database/sql"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// find answers p by the statement sb, which says what is read from where, and
// which selected has been turned into but for its order and its page. read makes
// a record of the current row. What SQL cannot do exactly is done as the rows go
// by, so that no more of them is kept than the page; it is left to adapter.Apply
// only where the order is not that of SQL, or where the rows do not hold all that
// the conditions are about.
func (s *store) find(ctx context.Context, sb *sqlbuilder.SelectBuilder, selected *selection, p *adapter.ListParams, read func(*sql.Rows) (adapter.Record, error)) (*adapter.ListResult, error) {
	if p.Count && len(selected.rest) == 0 {
		return s.count(ctx, sb.Select("COUNT(*)"))
	}
	partial := selected.beyond || len(selected.order) == 0 && !p.Count
	wanted := sieve{maxBytes: p.MaxBytes}
	var err error
	if partial {
		wanted.maxBytes = 0
		err = s.rows(ctx, s.db.reading.query, sb, read, wanted.take)
	} else {
		wanted.counting = p.Count
		err = s.sifted(ctx, sb, selected, &p.Query, read, &wanted)
	}
	if err != nil {
		return nil, s.db.fault(ctx, "list "+string(s.table.schema.Resource), err)
	}
	return &adapter.ListResult{Records: wanted.records, Total: wanted.total, Partial: partial, More: wanted.more()}, nil
}

// sifted runs sb, in the order of q, for what wanted keeps of it. Behind a mark
// these are two statements where the first comes to its end.
func (s *store) sifted(ctx context.Context, sb *sqlbuilder.SelectBuilder, selected *selection, q *adapter.Query, read func(*sql.Rows) (adapter.Record, error), wanted *sieve) error {
	if err := wanted.prepare(selected, s.table.schema, q); err != nil {
		return &adapter.Error{Kind: adapter.Unsupported, Op: "list " + string(s.table.schema.Resource), Err: err}
	}
	if wanted.counting {
		return s.rows(ctx, s.db.reading.query, sb, read, wanted.take)
	}
	sb.OrderBy(selected.order...)
	after, tail := selected.after, selected.tail
	if q.Offset > 0 && tail != "" { // which may reach into the tail
		after, tail = sb.Or(after, tail), ""
	}
	// The builder writes both statements. It has a Clone, which is not to be used:
	// the garbage collector may take what a copy refers to.
	conditions := sqlbuilder.NewWhereClause().AddWhereClause(sb.WhereClause)
	if after != "" {
		sb.Where(after)
	}
	if err := s.rows(ctx, s.db.reading.query, wanted.cut(sb, q), read, wanted.take); err != nil || tail == "" || wanted.full() || wanted.more() {
		return err
	}
	sb.WhereClause = conditions
	return s.rows(ctx, s.db.reading.query, wanted.cut(sb.Where(tail), q), read, wanted.take)
}

// A querier runs a statement that returns rows.
type querier func(ctx context.Context, text string, arguments ...any) (*sql.Rows, error)

// rows runs a statement and hands each record to take, until that wants no more.
func (s *store) rows(ctx context.Context, query querier, sb *sqlbuilder.SelectBuilder, read func(*sql.Rows) (adapter.Record, error), take func(context.Context, adapter.Record) (more bool, err error)) error {
	text, arguments := sb.Build()
	return s.rowsOf(ctx, query, text, arguments, read, take)
}

// rowsOf is rows for a statement that has been built.
func (s *store) rowsOf(ctx context.Context, query querier, text string, arguments []any, read func(*sql.Rows) (adapter.Record, error), take func(context.Context, adapter.Record) (more bool, err error)) error {
	rows, err := query(ctx, text, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := ctx.Err(); err != nil { // that ends a statement a little later
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

// A sieve keeps what a query wants of the records that pass. The zero sieve keeps
// them all.
type sieve struct {
	records []adapter.Record
	limit   int64 // of records; 0 is none
	// size is that of the records, counted where maxBytes is not 0 and ends them.
	size, maxBytes int64
	total          int64 // of what the conditions select, when counting
	// What the statement leaves to do; nothing without a matcher.
	matcher  *adapter.Matcher
	counting bool
	skip     int64
}

// prepare readies s for what SQL does not do exactly of q.
func (s *sieve) prepare(selected *selection, schema *adapter.Schema, q *adapter.Query) (err error) {
	s.limit = q.Limit
	left := adapter.Query{Where: selected.rest, OrderBy: q.OrderBy, Desc: q.Desc, MatchBytes: q.MatchBytes}
	if selected.after == "" {
		left.After = q.After
	}
	if len(left.Where) > 0 || left.After != nil {
		s.skip = q.Offset
		s.matcher, err = adapter.NewMatcher(schema, &left)
	}
	return err
}

// cut writes the page to the statement that reads on, less what s has of it,
// unless s has to look for that.
func (s *sieve) cut(sb *sqlbuilder.SelectBuilder, q *adapter.Query) *sqlbuilder.SelectBuilder {
	if s.matcher == nil {
		left := *q
		if q.Limit > 0 {
			left.Limit -= int64(len(s.records))
		}
		cut(sb, &left)
	}
	return sb
}

// take looks at the next record, and reports whether s wants more. It fails as
// [adapter.Matcher.Selects] does.
func (s *sieve) take(ctx context.Context, r adapter.Record) (more bool, err error) {
	if s.matcher != nil {
		selected, err := s.matcher.Selects(ctx, r)
		switch {
		case err != nil || !selected:
			return true, err
		case s.counting:
			s.total++
			return true, nil
		case !s.matcher.Behind(r):
			return true, nil
		case s.skip > 0:
			s.skip--
			return true, nil
		}
	}
	s.records = append(s.records, r)
	if s.maxBytes > 0 {
		s.size += r.Size()
	}
	return !s.full() && !s.more(), nil
}

// full reports whether s holds the whole page.
func (s *sieve) full() bool { return s.limit > 0 && int64(len(s.records)) >= s.limit }

// more reports whether s has ended early, because of its size.
func (s *sieve) more() bool { return s.maxBytes > 0 && s.size >= s.maxBytes && !s.full() }
