package mapping

import (
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
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
	records, err := r.page(ctx, wanted, adapter.ListParams{OwnerID: ownerID}, maxRows)
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
	return r.manyCut(c, form, records, fields), nil
}

// manyCut answers with a list of records, each cut to the given fields.
func (r *resource) manyCut(c *Call, form listForm, records []adapter.Record, fields []int) *Reply {
	entries := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, len(records))}
	key, _ := r.schema.Index(r.schema.Key)
	for i, rec := range records {
		name := strconv.Itoa(i)
		if form == keyedByID {
			name = rec.Values[key].Text()
		}
		entries.Members[i] = codec.Member{Key: name, Value: r.render(c, rec, fields)}
	}
	return &Reply{Body: &entries}
}
