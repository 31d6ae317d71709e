package sqlstore

import (
	"slices"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

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
		by := t.Columns[at].SortColumn(t.Schema.Attributes[at].Kind)
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
