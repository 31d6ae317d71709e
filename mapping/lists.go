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
	records, err := r.page(ctx, wanted, ownerID, maxRows)
	if err != nil {
		return nil, err
	}
	return r.many(c, form, records)
}

// many answers with a list of records, each cut to what c asks for.
func (r *resource) many(c *Call, form listForm, records []adapter.Record) (*Reply, error) {
	fields, selectionFault := r.selected(c, contract.ListView(c.Format))
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

// page returns the records of the wanted page; maxRows bounds a list without a
// limit. A page beyond the end is the last page again (wire 10).
func (r *resource) page(ctx context.Context, wanted *listquery.List, ownerID, maxRows int64) ([]adapter.Record, error) {
	query := wanted.Query
	query.Limit = wanted.Paging.Limit
	if query.Limit == 0 {
		query.Limit = maxRows
	}
	offset, decided := wanted.Paging.Offset()
	if decided {
		query.Offset = offset
		records, total, err := r.query(ctx, &query, ownerID)
		if err != nil || len(records) > 0 || offset == 0 || total == 0 {
			return records, err
		}
	}
	total, err := r.count(ctx, wanted.Query, ownerID)
	if err != nil || total == 0 {
		return nil, err
	}
	query.Offset = wanted.Paging.OffsetIn(total)
	records, _, err := r.query(ctx, &query, ownerID)
	return records, err
}

// query runs q, and finishes what the store could only do in part. total is the
// number of records the conditions select, or -1 when that is not known.
func (r *resource) query(ctx context.Context, q *adapter.Query, ownerID int64) (records []adapter.Record, total int64, err error) {
	result, err := r.store.List(ctx, &adapter.ListParams{Query: *q, OwnerID: ownerID})
	if err != nil {
		return nil, 0, err
	}
	if result.Partial {
		return adapter.Apply(r.schema, result.Records, q)
	}
	return result.Records, -1, nil
}

// count returns how many records the conditions of q select.
func (r *resource) count(ctx context.Context, q adapter.Query, ownerID int64) (int64, error) {
	result, err := r.store.List(ctx, &adapter.ListParams{Query: q, OwnerID: ownerID, Count: true})
	if err != nil {
		return 0, err
	}
	if result.Partial {
		_, total, err := adapter.Apply(r.schema, result.Records, &q)
		return total, err
	}
	return result.Total, nil
}

// textIs returns the condition that a text is equal to operand.
func textIs(attribute, operand string) adapter.Condition {
	return adapter.Condition{Any: []adapter.Test{{Attribute: attribute, Op: adapter.Eq, Operands: []string{operand}}}}
}

// numberIs returns the condition that an integer is equal to operand.
func numberIs(attribute string, operand int64) adapter.Condition {
	return textIs(attribute, strconv.FormatInt(operand, 10))
}
