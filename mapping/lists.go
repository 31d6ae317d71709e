package mapping

import (
	"context"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A listForm says how a list of records is written in JSON (contract 2, convention 2).
type listForm uint8

const (
	arrayOfRecords listForm = iota
	keyedByID               // an object, each record under its id
)

// list answers a call for a list of r's records, those of the caller alone if
// ownerID is not 0.
func (r *resource) list(ctx context.Context, c *Call, form listForm, ownerID int64, limits rowLimits) (*Reply, error) {
	wanted, err := r.reader(c.Principal.Role).Parse(r.schema, &c.Query)
	if err != nil {
		return nil, err
	}
	records, err := r.rows(ctx, wanted, adapter.ListParams{OwnerID: ownerID}, limits, asRead)
	if err != nil {
		return nil, err
	}
	return r.many(c, form, records)
}

// many answers with a list of records, each cut to what c asks for.
func (r *resource) many(c *Call, form listForm, records *rows) (*Reply, error) {
	fields, selectionFault := r.selected(c, contract.ListView(c.Format))
	if len(records.batch) > 0 && selectionFault != nil {
		return nil, selectionFault
	}
	return r.manyCut(c, form, records, fields), nil
}

// manyCut answers with a list of records, each cut to the given fields. Those
// beyond the first batch are read when the first has been rendered.
func (r *resource) manyCut(c *Call, form listForm, records *rows, fields []int) *Reply {
	key, _ := r.schema.Index(r.schema.Key)
	place, renderer := 0, r.renderer(c, fields)
	renderer.shownNull = records.shownNull
	entry := func(rec adapter.Record) codec.Member {
		name := rec.Values[key].Text()
		if form == arrayOfRecords {
			name = strconv.Itoa(place)
		}
		place++
		return codec.Member{Key: name, Value: renderer.render(rec)}
	}
	release := r.takeSlab(renderer, len(records.batch))
	entries := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, len(records.batch))}
	for i, rec := range records.batch {
		entries.Members[i] = entry(rec)
	}
	reply := &Reply{Body: &entries, release: release}
	if records.ended {
		return reply
	}
	records.batch = nil // while the first is being sent, only what is rendered is needed
	reply.release = func() {
		release()
		renderer.slab = make(slab, 0, len(renderer.columns)) // for one record at a time
	}
	reply.NextBatch = func(ctx context.Context, add func(*codec.Member)) (more bool, err error) {
		if err := records.following(ctx); err != nil {
			return false, err
		}
		for _, rec := range records.batch {
			renderer.slab = renderer.slab[:0] // the record before has been rendered
			e := entry(rec)
			add(&e)
		}
		records.batch = nil
		return !records.ended, nil
	}
	return reply
}
