package sqlstore

import (
	"math"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// orderBy adds the order of q and the start of its page, as far as SQL can express
// them.
func (s *selection) orderBy(e *engine, sb *sqlbuilder.SelectBuilder, t *table, q *adapter.Query) error {
	ascending, descending := " ASC", " DESC" // keys are never null
	added := false
	if q.OrderBy == "" || q.OrderBy == t.schema.Key {
		s.order = []string{t.keyColumn() + ascending}
		if q.Desc && q.OrderBy != "" {
			s.order[0] = t.keyColumn() + descending
		}
	} else {
		at, err := s.attribute(t, q.OrderBy)
		if err != nil {
			return err
		}
		by := t.columns[at].sortColumn(t.schema.Attributes[at].Kind)
		if by == "" {
			return nil
		}
		direction := e.ascending
		if q.Desc {
			direction = e.descending
		}
		s.order = []string{by + direction, t.keyColumn() + ascending}
		added = t.schema.Attributes[at].Added
	}
	if q.After != nil {
		s.after, s.tail = afterCondition(e, sb, t, q)
		s.residualOnParts = s.residualOnParts || added && s.after == ""
	}
	return nil
}

// afterCondition returns the condition of the records after q.After, and the condition
// of the tail, which sorts after all of those, if there may be one. It returns "" if
// SQL cannot express the condition exactly. A range of the sorted column comes first,
// so that an index can be used; the key breaks ties.
func afterCondition(e *engine, sb *sqlbuilder.SelectBuilder, t *table, q *adapter.Query) (after, tail string) {
	key := int64(q.After.Key)
	switch {
	case q.OrderBy == "" || q.OrderBy == t.schema.Key && !q.Desc:
		return sb.GreaterThan(t.keyColumn(), key), ""
	case q.OrderBy == t.schema.Key:
		return sb.LessThan(t.keyColumn(), key), ""
	}
	at, _ := t.schema.Index(q.OrderBy)
	kind := t.schema.Attributes[at].Kind
	column, later := t.columns[at].sortColumn(kind), sb.GreaterThan(t.keyColumn(), key)
	switch {
	case q.After.Value.Empty() && q.Desc:
		return sb.And(sb.IsNull(column), later), ""
	case q.After.Value.Empty():
		return sb.Or(sb.IsNotNull(column), later), ""
	}
	w := conditionWriter{engine: e, sb: sb, table: t, column: &t.columns[at], kind: kind}
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
