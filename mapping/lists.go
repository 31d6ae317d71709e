package mapping

import (
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
)

// A listForm says how a list of records is written in JSON (Conventions 2).
type listForm uint8

const (
	arrayOfRecords listForm = iota
	keyedByID               // an object, each record under its id
)

// list answers a call for a list of r's records, those of the caller alone if
// ownerID is not 0.
func (r *resource) list(ctx context.Context, c *Call, form listForm, ownerID, maxRows int64) (*Reply, error) {
	wanted, err := r.reader(c.Principal.Role).Parse(r.schema, &c.Query)
	if err != nil {
		return nil, err
	}
	fields, selectionFault := r.selected(c, contract.ListView(c.Format))
	records, err := r.page(ctx, wanted, ownerID, maxRows)
	if err != nil {
		return nil, err
	}
	if len(records) > 0 && selectionFault != nil {
		return nil, selectionFault
	}
	entries := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, len(records))}
	key, _ := r.schema.Index(r.schema.Key)
	for i, rec := range records {
		name := strconv.Itoa(i)
		if form == keyedByID {
			name = rec.Values[key].Text()
		}
		entries.Members[i] = codec.Member{Key: name, Value: r.render(c, rec, fields)}
	}
	return &Reply{Body: &entries}, nil
}

// page returns the records of the wanted page that are the caller's, all of them
// if ownerID is 0.
func (r *resource) page(ctx context.Context, wanted *listquery.List, ownerID, maxRows int64) ([]adapter.Record, error) {
	return r.pageOf(ctx, wanted, adapter.ListParams{OwnerID: ownerID}, maxRows)
}

// pageOf returns the records of the wanted page among those that bounds leave;
// maxRows bounds a list without a limit. A page beyond the end is the last page
// again (wire 10).
func (r *resource) pageOf(ctx context.Context, wanted *listquery.List, bounds adapter.ListParams, maxRows int64) ([]adapter.Record, error) {
	query := wanted.Query
	query.Limit = wanted.Paging.Limit
	if query.Limit == 0 {
		query.Limit = maxRows
	}
	offset, decided := wanted.Paging.Offset()
	if decided {
		query.Offset = offset
		records, total, err := r.query(ctx, &query, bounds)
		if err != nil || len(records) > 0 || offset == 0 || total == 0 {
			return records, err
		}
	}
	total, err := r.count(ctx, wanted.Query, bounds)
	if err != nil || total == 0 {
		return nil, err
	}
	query.Offset = wanted.Paging.OffsetIn(total)
	records, _, err := r.query(ctx, &query, bounds)
	return records, err
}

// query runs q within bounds, and finishes what the store could only do in part. total is the
// number of records the conditions select, or -1 when that is not known.
func (r *resource) query(ctx context.Context, q *adapter.Query, bounds adapter.ListParams) (records []adapter.Record, total int64, err error) {
	bounds.Query = *q
	result, err := r.store.List(ctx, &bounds)
	if err != nil {
		return nil, 0, err
	}
	if result.Partial {
		return adapter.Apply(r.schema, result.Records, q)
	}
	return result.Records, -1, nil
}

// count returns how many records within bounds the conditions of q select.
func (r *resource) count(ctx context.Context, q adapter.Query, bounds adapter.ListParams) (int64, error) {
	bounds.Query, bounds.Count = q, true
	result, err := r.store.List(ctx, &bounds)
	if err != nil {
		return 0, err
	}
	if result.Partial {
		_, total, err := adapter.Apply(r.schema, result.Records, &q)
		return total, err
	}
	return result.Total, nil
}
