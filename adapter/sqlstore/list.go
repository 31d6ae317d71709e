package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// List returns the records that a query selects. Attributes of the joined table are
// present only if the query names one of them.
func (s *recordStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	if err := s.Table.Schema.CheckFilters(p.Filters); err != nil {
		return nil, err
	}
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	shown := s.Table.AtStoreView(sb, p.StoreID)
	t := shown.WithAdded(s.db.Engine, sb, &p.Query)
	selected, err := Select(s.db.Engine, sb, t, &p.Query)
	if err != nil {
		return nil, err
	}
	sb.From(s.Table.Name).Where(selected.Where...)
	if p.OwnerID != 0 {
		owner, err := s.ownerColumn("list")
		if err != nil {
			return nil, err
		}
		sb.Where(sb.Equal(owner, p.OwnerID))
	}
	for _, name := range p.With {
		if _, err := selected.Attribute(s.Table, name); err != nil {
			return nil, err
		}
	}
	if selected.UsesJoin {
		sb.Join(s.Table.Join, s.Table.On)
	}
	indexes := s.OwnIndexes
	if selected.UsesJoin {
		indexes = s.allIndexes
	}
	if p.Only != nil {
		indexes = s.Table.RequestedIndexes(indexes, slices.Concat(p.With, p.Only), &p.Query)
	}
	sc := s.ScannerPool.Get().(*engine.Scanner)
	defer s.PutScanner(sc)
	sc.SetColumns(s.Table, indexes)
	found, err := s.find(ctx, sb.Select(shown.SelectColumns(indexes)...), selected, p, func(rows engine.Rows) (adapter.Record, error) {
		return sc.Record(s.Table.Schema, rows)
	})
	if err != nil {
		return nil, err
	}
	if err := s.AddValues(ctx, s.db.ReadStatements.Query, found.Records); err != nil {
		return nil, s.db.WrapError(ctx, "list "+string(s.Table.Schema.Resource), err)
	}
	return found, nil
}

// Get returns one record. Attributes of the joined table are absent unless p names
// them.
func (s *recordStore) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	if err := s.Table.Schema.CheckFilters(p.Filters); err != nil {
		return adapter.Record{}, err
	}
	if len(p.With) > 0 || p.StoreID != 0 && s.Table.AtViews.Name != "" {
		return s.getOnDemand(ctx, p)
	}
	r, err := s.getByKey(ctx, p)
	if err != nil || p.OwnerID == 0 {
		return r, err
	}
	if s.Table.Schema.Owner == "" || r.Get(s.Table.Schema.Owner).Int() != p.OwnerID {
		return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("get %s %d of customer %d", s.Table.Schema.Resource, p.Key, p.OwnerID)}
	}
	return r, nil
}

// getByKey returns one record regardless of its owner.
func (s *recordStore) getByKey(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	rows, err := s.db.ReadStatements.Query(ctx, s.GetSQL, int64(p.Key))
	if err == nil {
		var r adapter.Record
		if r, err = s.ScanRecord(rows); err == nil {
			err = s.AddValues(ctx, s.db.ReadStatements.Query, []adapter.Record{r})
		}
		if err == nil {
			return r, nil
		}
	}
	return adapter.Record{}, s.db.WrapError(ctx, fmt.Sprintf("get %s %d", s.Table.Schema.Resource, p.Key), err)
}

// ReadByKey reads one record by a statement whose only parameter is the key.
func (s *recordStore) ReadByKey(ctx context.Context, query engine.QueryFunc, text string, key adapter.Key) (adapter.Record, error) {
	rows, err := query(ctx, text, int64(key))
	if err != nil {
		return adapter.Record{}, err
	}
	r, err := s.ScanRecord(rows)
	if err != nil {
		return adapter.Record{}, err
	}
	return r, s.AddValues(ctx, query, []adapter.Record{r})
}

// getOnDemand returns one record with the on-demand attributes that p names, and with the
// values at its store view. It reads the record as a list of one, since List knows how to
// join them.
func (s *recordStore) getOnDemand(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	key := adapter.Test{Attribute: s.Table.Schema.Key, Op: adapter.Eq, Operands: []string{strconv.FormatInt(int64(p.Key), 10)}}
	found, err := s.List(ctx, &adapter.ListParams{
		Query:   adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{key}}}},
		OwnerID: p.OwnerID,
		StoreID: p.StoreID,
		With:    p.With,
	})
	if err != nil {
		return adapter.Record{}, err
	}
	if len(found.Records) == 0 {
		return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("get %s %d", s.Table.Schema.Resource, p.Key)}
	}
	return found.Records[0], nil
}

// Select translates q to conditions and an order over t for the engine e, and
// adds their arguments to sb. It fails with kind Unsupported for an attribute that t
// does not have.
func Select(e *engine.Engine, sb *sqlbuilder.SelectBuilder, t *engine.Table, q *adapter.Query) (*selection, error) {
	s := &selection{arguments: maxArguments}
	for _, condition := range q.Where {
		expression, exact, err := s.condition(e, sb, t, condition)
		if err != nil {
			return nil, err
		}
		if exact {
			s.Where = append(s.Where, expression)
			continue
		}
		s.Residual = append(s.Residual, condition)
		s.ResidualOnParts = s.ResidualOnParts || slices.ContainsFunc(condition.Any, func(test adapter.Test) bool {
			at, _ := t.Schema.Index(test.Attribute)
			return t.Schema.Attributes[at].Kind == adapter.KindRecords || t.Schema.Attributes[at].Added || t.Columns[at].Late
		})
	}
	return s, s.orderBy(e, sb, t, q)
}

// orderBy adds the order of q and the start of its page, as far as SQL can express
// them.
func (s *selection) orderBy(e *engine.Engine, sb *sqlbuilder.SelectBuilder, t *engine.Table, q *adapter.Query) error {
	ascending, descending := " ASC", " DESC" // keys are never null
	added := false
	if q.OrderBy == "" || q.OrderBy == t.Schema.Key {
		s.Order = []string{t.KeyColumn() + ascending}
		if q.Desc && q.OrderBy != "" {
			s.Order[0] = t.KeyColumn() + descending
		}
	} else {
		at, err := s.Attribute(t, q.OrderBy)
		if err != nil {
			return err
		}
		by := sortExpression(e, t, q, at)
		if by == "" {
			return nil
		}
		direction := e.Ascending
		if q.Desc {
			direction = e.Descending
		}
		s.Order = []string{by + direction, t.KeyColumn() + ascending}
		added = t.Schema.Attributes[at].Added
	}
	if q.After != nil {
		s.After, s.Tail = afterCondition(e, sb, t, q)
		s.ResidualOnParts = s.ResidualOnParts || added && s.After == ""
	}
	return nil
}

// afterCondition returns the condition of the records after q.After, and the condition of
// the tail, which sorts after all of these, if there may be one. It returns "" if SQL
// cannot express the condition exactly. A range of the sorted column comes first, so that
// an index can be used; the key breaks ties.
func afterCondition(e *engine.Engine, sb *sqlbuilder.SelectBuilder, t *engine.Table, q *adapter.Query) (after, tail string) {
	key := int64(q.After.Key)
	switch {
	case q.OrderBy == "" || q.OrderBy == t.Schema.Key && !q.Desc:
		return sb.GreaterThan(t.KeyColumn(), key), ""
	case q.OrderBy == t.Schema.Key:
		return sb.LessThan(t.KeyColumn(), key), ""
	}
	at, _ := t.Schema.Index(q.OrderBy)
	kind := t.Schema.Attributes[at].Kind
	column, later := sortExpression(e, t, q, at), sb.GreaterThan(t.KeyColumn(), key)
	if q.Ranks != nil {
		switch rank := q.Rank(q.After.Value); {
		case rank < 0 && q.Desc:
			return sb.And(sb.IsNull(column), later), ""
		case rank < 0:
			return sb.Or(sb.IsNotNull(column), later), ""
		case q.Desc:
			return sb.Or(sb.LessThan(column, rank), sb.And(sb.Equal(column, rank), later)), sb.IsNull(column)
		default:
			return sb.Or(sb.GreaterThan(column, rank), sb.And(sb.Equal(column, rank), later)), ""
		}
	}
	switch {
	case q.After.Value.Empty() && q.Desc:
		return sb.And(sb.IsNull(column), later), ""
	case q.After.Value.Empty():
		return sb.Or(sb.IsNotNull(column), later), ""
	}
	w := conditionWriter{engine: e, sb: sb, table: t, column: &t.Columns[at], kind: kind}
	compare := func(op adapter.Op) string {
		return w.translate(adapter.Test{Attribute: q.OrderBy, Op: op, Operands: []string{q.After.Value.Text()}})
	}
	reached, passed := compare(adapter.GtEq), compare(adapter.Gt)
	if q.Desc {
		reached, passed, tail = compare(adapter.LtEq), compare(adapter.Lt), sb.IsNull(column)
	}
	if reached == "" || passed == "" {
		return "", ""
	}
	return sb.And(reached, sb.Or(passed, later)), tail
}

// sortExpression returns what q sorts by: the column at of t, or the place of the option that it holds.
// It is NULL for the lowest values, and "" if SQL cannot sort as adapter.Apply does.
func sortExpression(e *engine.Engine, t *engine.Table, q *adapter.Query, at int) string {
	kind := t.Schema.Attributes[at].Kind
	if q.Ranks == nil {
		return t.Columns[at].SortColumn(kind)
	}
	id := t.Columns[at].Name
	if kind == adapter.KindText {
		id = fmt.Sprintf(e.LeadingInteger, id)
	}
	var places strings.Builder
	for _, option := range slices.Sorted(maps.Keys(q.Ranks)) {
		fmt.Fprintf(&places, " WHEN %d THEN %d", option, q.Ranks[option])
	}
	if places.Len() == 0 {
		return "NULLIF(1, 1)" // a constant would be the number of a column
	}
	return "CASE " + id + places.String() + " END"
}

// setPage sets the limit and the offset of a statement, replacing previous ones.
func setPage(sb *sqlbuilder.SelectBuilder, q *adapter.Query) {
	limit := q.Limit
	if q.Offset > 0 {
		sb.Offset(int(q.Offset))
		if limit == 0 {
			limit = math.MaxInt // some engines require a limit with an offset
		}
	}
	if limit > 0 {
		sb.Limit(int(limit))
	}
}
