package sqlstore

import (
	"math"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

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
	column, later := t.Columns[at].SortColumn(kind), sb.GreaterThan(t.KeyColumn(), key)
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
