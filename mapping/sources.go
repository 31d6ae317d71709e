package mapping

import (
	"context"
	"fmt"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/listquery"
)

// A source is where the records of one resource come from.
type source struct {
	schema *adapter.Schema
	store  adapter.Store
}

// sourceOf returns the source of the records of r.
func sourceOf(upstream adapter.Adapter, schemas *adapter.Schemas, r adapter.Resource) (source, error) {
	schema := schemas.Of(r)
	if schema == nil {
		return source{}, fmt.Errorf("no schema of %s", r)
	}
	store, err := upstream.Store(r)
	return source{schema, store}, err
}

// all returns the records p selects.
func (s source) all(ctx context.Context, p *adapter.ListParams) ([]adapter.Record, error) {
	records, _, err := s.query(ctx, p)
	return records, err
}

// page returns the records of the wanted page among those that bounds leave;
// maxRows bounds a list without a limit. A page beyond the end is the last page
// again (wire 10).
func (s source) page(ctx context.Context, wanted *listquery.List, bounds adapter.ListParams, maxRows int64) ([]adapter.Record, error) {
	bounds.Query = wanted.Query
	p := bounds
	p.Query.Limit = wanted.Paging.Limit
	if p.Query.Limit == 0 {
		p.Query.Limit = maxRows
	}
	offset, decided := wanted.Paging.Offset()
	if decided {
		p.Query.Offset = offset
		records, total, err := s.query(ctx, &p)
		if err != nil || len(records) > 0 || offset == 0 || total == 0 {
			return records, err
		}
	}
	total, err := s.count(ctx, bounds)
	if err != nil || total == 0 {
		return nil, err
	}
	p.Query.Offset = wanted.Paging.OffsetIn(total)
	return s.all(ctx, &p)
}

// query returns the records p selects, and finishes what the store could only do
// in part. total is the number of records the conditions select, or -1 when that
// is not known.
func (s source) query(ctx context.Context, p *adapter.ListParams) (records []adapter.Record, total int64, err error) {
	result, err := s.store.List(ctx, p)
	if err != nil {
		return nil, 0, err
	}
	if result.Partial {
		return adapter.Apply(s.schema, result.Records, &p.Query)
	}
	return result.Records, -1, nil
}

// count returns how many records the conditions of p select.
func (s source) count(ctx context.Context, p adapter.ListParams) (int64, error) {
	p.Count = true
	result, err := s.store.List(ctx, &p)
	if err != nil {
		return 0, err
	}
	if result.Partial {
		_, total, err := adapter.Apply(s.schema, result.Records, &p.Query)
		return total, err
	}
	return result.Total, nil
}

// condition returns the condition of one test.
func condition(attribute string, op adapter.Op, operands ...string) adapter.Condition {
	return adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}
}

// textIs returns the condition that a text is equal to operand.
func textIs(attribute, operand string) adapter.Condition {
	return condition(attribute, adapter.Eq, operand)
}

// numberIs returns the condition that an integer is equal to operand.
func numberIs(attribute string, operand int64) adapter.Condition {
	return textIs(attribute, strconv.FormatInt(operand, 10))
}
