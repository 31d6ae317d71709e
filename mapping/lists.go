package mapping

import (
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// answerList answers a call for a list of r's records. If ownerID is not 0, it lists only
// the records of that customer.
func (r *resource) answerList(ctx context.Context, c *Call, ownerID int64, limits rowLimits) (*Reply, error) {
	wanted, err := r.listReader(c.Principal.Role).Parse(r.schema, &c.Query)
	if err != nil {
		return nil, err
	}
	records, err := r.rows(ctx, wanted, adapter.ListParams{OwnerID: ownerID}, limits, noBatchHook)
	if err != nil {
		return nil, err
	}
	return r.listReply(c, records)
}

// listReply replies with a list of records that hold the fields selected by c.
func (r *resource) listReply(c *Call, records *rows) (*Reply, error) {
	fields, selectionFault := r.selectFields(c, contract.ListView(c.Format))
	if len(records.batch) > 0 && selectionFault != nil {
		return nil, selectionFault
	}
	return r.listReplyWith(c, records, fields), nil
}

// listReplyWith replies with a list of records that hold the given fields. It reads
// further batches only after the first has been rendered.
func (r *resource) listReplyWith(c *Call, records *rows, fields []int) *Reply {
	key, _ := r.schema.Index(r.schema.Key)
	position, renderer := 0, r.newRenderer(c, fields)
	renderer.shownNull = records.shownNull
	entry := func(rec adapter.Record) codec.Member {
		name := rec.Values[key].Text()
		if !c.Route.KeyedByID {
			name = strconv.Itoa(position)
		}
		position++
		return codec.Member{Key: name, Value: renderer.render(rec)}
	}
	release := r.useSlab(renderer, len(records.batch))
	entries := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, len(records.batch))}
	for i, rec := range records.batch {
		entries.Members[i] = entry(rec)
	}
	reply := &Reply{Body: &entries, release: release}
	if records.ended {
		return reply
	}
	records.batch = nil // while the first batch is being sent, only its rendering is needed
	reply.release = func() {
		release()
		renderer.slab = make(slab, 0, len(renderer.columns)) // one record at a time
	}
	reply.NextBatch = func(ctx context.Context, add func(*codec.Member)) (more bool, err error) {
		if err := records.nextBatch(ctx); err != nil {
			return false, err
		}
		for _, rec := range records.batch {
			renderer.slab = renderer.slab[:0] // the previous record has been rendered
			e := entry(rec)
			add(&e)
		}
		records.batch = nil
		return !records.ended, nil
	}
	return reply
}
