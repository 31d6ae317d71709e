package mapping

import (
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
)

// list answers a call for a list of r's records as an array (Conventions 2).
func (r *resource) list(ctx context.Context, c *Call, maxRows int64) (*Reply, error) {
	wanted, err := r.reader(c.Principal.Role).Parse(r.schema, &c.Query)
	if err != nil {
		return nil, err
	}
	fields, selectionFault := r.selected(c, contract.List)
	records, err := r.page(ctx, wanted, maxRows)
	if err != nil {
		return nil, err
	}
	if len(records) > 0 && selectionFault != nil {
		return nil, selectionFault
	}
	entries := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, len(records))}
	for i, rec := range records {
		entries.Members[i] = codec.Member{Key: strconv.Itoa(i), Value: r.render(rec, fields)}
	}
	return &Reply{Body: &entries}, nil
}

// page returns the records of the wanted page; maxRows bounds a list without a
// limit. A page beyond the end is the last page again (wire 10).
func (r *resource) page(ctx context.Context, wanted *listquery.List, maxRows int64) ([]adapter.Record, error) {
	query := wanted.Query
	query.Limit = wanted.Paging.Limit
	if query.Limit == 0 {
		query.Limit = maxRows
	}
	offset, decided := wanted.Paging.Offset()
	if decided {
		query.Offset = offset
		records, total, err := r.query(ctx, &query)
		if err != nil || len(records) > 0 || offset == 0 || total == 0 {
			return records, err
		}
	}
	total, err := r.count(ctx, wanted.Query)
	if err != nil || total == 0 {
		return nil, err
	}
	query.Offset = wanted.Paging.OffsetIn(total)
	records, _, err := r.query(ctx, &query)
	return records, err
}

// query runs q, and finishes what the store could only do in part. total is the
// number of records the conditions select, or -1 when that is not known.
func (r *resource) query(ctx context.Context, q *adapter.Query) (records []adapter.Record, total int64, err error) {
	result, err := r.store.List(ctx, &adapter.ListParams{Query: *q})
	if err != nil {
		return nil, 0, err
	}
	if result.Partial {
		return adapter.Apply(r.schema, result.Records, q)
	}
	return result.Records, -1, nil
}

// count returns how many records the conditions of q select.
func (r *resource) count(ctx context.Context, q adapter.Query) (int64, error) {
	result, err := r.store.List(ctx, &adapter.ListParams{Query: q, Count: true})
	if err != nil {
		return 0, err
	}
	if result.Partial {
		_, total, err := adapter.Apply(r.schema, result.Records, &q)
		return total, err
	}
	return result.Total, nil
}
