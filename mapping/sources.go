package mapping

import (
	"context"
	"fmt"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
)

// A source reads the records of one resource.
type source struct {
	schema    *adapter.Schema
	store     adapter.Store
	listCache *listCache // shared by all sources
	filters   *filterLimiter
}

// newSource returns the source for the records of r, of which there are none if the
// adapter does not offer r.
func newSource(backend *invalidatingAdapter, schemas *adapter.Schemas, r adapter.Resource) (source, error) {
	schema := schemas.Of(r)
	if schema == nil {
		return source{}, fmt.Errorf("resource %s has no schema", r)
	}
	store, err := backend.Store(r)
	if adapter.KindOf(err) == adapter.Unsupported {
		store, err = noStore{}, nil
	}
	return source{schema, store, backend.listCache, backend.filters}, err
}

// all returns the records that p selects.
func (s source) all(ctx context.Context, p *adapter.ListParams) ([]adapter.Record, error) {
	records, _, _, err := s.query(ctx, p)
	return records, err
}

// query returns the records that p selects, and completes a query that the store could
// answer only in part. total is the number of records that the conditions select, or
// unknownTotal. more is that of [adapter.ListResult].
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

// count returns the number of records that the conditions of p select.
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

// condition returns a condition with a single test.
func condition(attribute string, op adapter.Op, operands ...string) adapter.Condition {
	return adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}
}

// textEquals returns the condition that a text equals operand.
func textEquals(attribute, operand string) adapter.Condition {
	return condition(attribute, adapter.Eq, operand)
}

// integerEquals returns the condition that an integer equals operand.
func integerEquals(attribute string, operand int64) adapter.Condition {
	return textEquals(attribute, strconv.FormatInt(operand, 10))
}
