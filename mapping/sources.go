package mapping

import (
	"context"
	"fmt"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
)

// A source is where the records of one resource come from.
type source struct {
	schema    *adapter.Schema
	store     adapter.Store
	listCache *listCache // of the lists of the store
	filters   *filterLimiter
}

// sourceOf returns the source of the records of r.
func newSource(backend *invalidatingAdapter, schemas *adapter.Schemas, r adapter.Resource) (source, error) {
	schema := schemas.Of(r)
	if schema == nil {
		return source{}, fmt.Errorf("no schema of %s", r)
	}
	store, err := backend.Store(r)
	return source{schema, store, backend.listCache, backend.filters}, err
}

// all returns the records p selects.
func (s source) all(ctx context.Context, p *adapter.ListParams) ([]adapter.Record, error) {
	records, _, _, err := s.query(ctx, p)
	return records, err
}

// query returns the records p selects, and finishes what the store could only do
// in part. total is the number of records the conditions select, or unknown. more is
// that of [adapter.ListResult].
func (s source) query(ctx context.Context, p *adapter.ListParams) (records []adapter.Record, total int64, more bool, err error) {
	err = s.filters.run(ctx, s.schema, &p.Query, func(ctx context.Context) error {
		result, err := s.store.List(ctx, p)
		switch {
		case err != nil:
		case result.Partial:
			records, total, err = adapter.Apply(ctx, s.schema, result.Records, &p.Query)
		default:
			records, total, more = result.Records, unknownTotal, result.More
		}
		return err
	})
	return records, total, more, err
}

// count returns how many records the conditions of p select.
func (s source) count(ctx context.Context, p adapter.ListParams) (total int64, err error) {
	p.Count = true
	err = s.filters.run(ctx, s.schema, &p.Query, func(ctx context.Context) error {
		result, err := s.store.List(ctx, &p)
		switch {
		case err != nil:
		case result.Partial:
			_, total, err = adapter.Apply(ctx, s.schema, result.Records, &p.Query)
		default:
			total = result.Total
		}
		return err
	})
	return total, err
}

// condition returns the condition of one test.
func condition(attribute string, op adapter.Op, operands ...string) adapter.Condition {
	return adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}
}

// textIs returns the condition that a text is equal to operand.
func textEquals(attribute, operand string) adapter.Condition {
	return condition(attribute, adapter.Eq, operand)
}

// numberIs returns the condition that an integer is equal to operand.
func integerEquals(attribute string, operand int64) adapter.Condition {
	return textEquals(attribute, strconv.FormatInt(operand, 10))
}
