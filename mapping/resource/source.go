package resource

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A Source reads the records of one resource.
type Source struct {
	Schema    *adapter.Schema
	Store     adapter.Store
	listCache *ListCache // shared by all sources
	filters   *FilterLimiter
	RegionalSettings
}

// A Backend is the source of records: an adapter with the schemas of its resources, and
// the parts that all lists share.
type Backend struct {
	adapter   adapter.Adapter
	schemas   *adapter.Schemas
	listCache *ListCache
	filters   *FilterLimiter
	regional  RegionalSettings
}

// RegionalSettings are the shop's settings for times and dates (configurations 1). The zero value
// stands for UTC and en_US.
type RegionalSettings struct {
	// Zone is the time zone in which replies show times in ISO 8601 format; nil means UTC.
	Zone *time.Location
	// Locale says how the dates are read that clients write in other forms than YYYY-MM-DD.
	Locale contract.Locale
}

// NewBackend returns a backend whose lists share a cache and a limiter.
func NewBackend(a adapter.Adapter, schemas *adapter.Schemas, lists *ListCache, filters *FilterLimiter, regional RegionalSettings) *Backend {
	return &Backend{a, schemas, lists, filters, regional}
}

// Source returns the source for the records of r, of which there are none if the adapter
// does not offer r.
func (b *Backend) Source(r adapter.Resource) (Source, error) {
	schema := b.schemas.Of(r)
	if schema == nil {
		return Source{}, fmt.Errorf("resource %s has no schema", r)
	}
	store, err := b.adapter.Store(r)
	if adapter.KindOf(err) == adapter.Unsupported {
		store, err = noStore{}, nil
	}
	return Source{schema, store, b.listCache, b.filters, b.regional}, err
}

// All returns the records that p selects.
func (s Source) All(ctx context.Context, p *adapter.ListParams) ([]adapter.Record, error) {
	records, _, _, err := s.query(ctx, p)
	return records, err
}

// query returns the records that p selects, and completes a query that the store could
// answer only in part. total is the number of records that the conditions select, or
// unknownTotal. more is as in [adapter.ListResult].
func (s Source) query(ctx context.Context, p *adapter.ListParams) (records []adapter.Record, total int64, more bool, err error) {
	err = s.filters.run(ctx, s.Schema, &p.Query, func(ctx context.Context) error {
		result, err := s.Store.List(ctx, p)
		switch {
		case err != nil:
		case result.Partial:
			records, total, err = adapter.Apply(ctx, s.Schema, result.Records, &p.Query)
		default:
			records, total, more = result.Records, unknownTotal, result.More
		}
		return err
	})
	return records, total, more, err
}

// count returns the number of records that the conditions of p select.
func (s Source) count(ctx context.Context, p adapter.ListParams) (total int64, err error) {
	p.Count = true
	err = s.filters.run(ctx, s.Schema, &p.Query, func(ctx context.Context) error {
		result, err := s.Store.List(ctx, &p)
		switch {
		case err != nil:
		case result.Partial:
			_, total, err = adapter.Apply(ctx, s.Schema, result.Records, &p.Query)
		default:
			total = result.Total
		}
		return err
	})
	return total, err
}

// NewCondition returns a condition with a single test.
func NewCondition(attribute string, op adapter.Op, operands ...string) adapter.Condition {
	return adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: op, Operands: operands}}}
}

// TextEquals returns the condition that a text equals operand.
func TextEquals(attribute, operand string) adapter.Condition {
	return NewCondition(attribute, adapter.Eq, operand)
}

// IntegerEquals returns the condition that an integer equals operand.
func IntegerEquals(attribute string, operand int64) adapter.Condition {
	return TextEquals(attribute, strconv.FormatInt(operand, 10))
}

// mark returns the position of rec in a list sorted by an attribute.
func (s Source) mark(rec adapter.Record, orderBy string) *adapter.Cursor {
	return &adapter.Cursor{Value: rec.Get(orderBy), Key: rec.Key()}
}

// unknownTotal stands for the length of a list that has not been counted.
const unknownTotal = -1
