package resource

import (
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// AnswerList answers a call for a list of r's records. If ownerID is not 0, it lists only
// the records of that customer.
func (r *Resource) AnswerList(ctx context.Context, c *Call, ownerID int64) (*Reply, error) {
	wanted, err := r.ListReader(c.Principal.Role).Parse(r.Schema, &c.Query)
	if err != nil {
		return nil, err
	}
	bounds := adapter.ListParams{OwnerID: ownerID, Only: r.ListAttributes(c)}
	records, err := r.Rows(ctx, wanted, bounds, c.Limits, NoHook)
	if err != nil {
		return nil, err
	}
	return r.ListReply(c, records)
}

// ListAttributes returns the names of the stored attributes that a list answering c shows, as
// [adapter.ListParams.Only] takes them. Computed fields may need others.
func (r *Resource) ListAttributes(c *Call) []string {
	fields, _ := r.SelectFields(c, contract.ListView(c.Format))
	return r.StoredAttributes(fields)
}

// ListReply replies with a list of records that hold the fields selected by c.
func (r *Resource) ListReply(c *Call, records *Rows) (*Reply, error) {
	fields, selectionFault := r.SelectFields(c, contract.ListView(c.Format))
	if len(records.Batch) > 0 && selectionFault != nil {
		return nil, selectionFault
	}
	return r.ListReplyWith(c, records, fields), nil
}

// ListReplyWith replies with a list of records that hold the given fields. It reads
// further batches only after the first has been rendered.
func (r *Resource) ListReplyWith(c *Call, records *Rows, fields []int) *Reply {
	key, _ := r.Schema.Index(r.Schema.Key)
	position, renderer := 0, r.NewRenderer(c, fields)
	renderer.shownNull = records.ShownNull
	entry := func(rec adapter.Record) codec.Member {
		name := rec.Values[key].Text()
		if !c.Route.KeyedByID {
			name = strconv.Itoa(position)
		}
		position++
		return codec.Member{Key: name, Value: renderer.Render(rec)}
	}
	release := r.useSlab(renderer, len(records.Batch))
	entries := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, len(records.Batch))}
	for i, rec := range records.Batch {
		entries.Members[i] = entry(rec)
	}
	reply := &Reply{Body: &entries, Release: release}
	if records.Ended {
		return reply
	}
	records.Batch = nil // while the first batch is being sent, only its rendering is needed
	reply.Release = func() {
		release()
		renderer.slab = make(slab, 0, len(renderer.columns)) // one record at a time
	}
	reply.NextBatch = func(ctx context.Context, add func(*codec.Member)) (more bool, err error) {
		if err := records.NextBatch(ctx); err != nil {
			return false, err
		}
		for _, rec := range records.Batch {
			renderer.slab = renderer.slab[:0] // the previous record has been rendered
			e := entry(rec)
			add(&e)
		}
		records.Batch = nil
		return !records.Ended, nil
	}
	return reply
}
