package handlers

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// Orders is the group of resources behind /orders (stock_orders 3 to 6): the orders and
// their parts.
type Orders struct {
	resource.Resource
	addresses, items, comments part
	// commentList is comments, with the field order of GET /orders/:id/comments.
	commentList part
}

// NewOrders returns the handler of orders and their parts.
func NewOrders(d *contract.Dialect, fields *contract.Fields, backend *resource.Backend) (*Orders, error) {
	// A Customer sees only comments that are visible in the storefront.
	onFront := []adapter.Condition{resource.IntegerEquals("is_visible_on_front", 1)}
	o := &Orders{
		addresses:   part{field: "addresses"},
		items:       part{field: "order_items"},
		comments:    part{field: "order_comments", customerFilter: onFront},
		commentList: part{field: "order_comments", customerFilter: onFront},
	}
	for _, part := range []struct {
		of       *resource.Resource
		resource adapter.Resource
		fields   *contract.FieldTable
	}{
		{&o.Resource, adapter.Orders, fields.Orders},
		{&o.addresses.Resource, adapter.OrderAddresses, fields.OrderAddresses},
		{&o.items.Resource, adapter.OrderItems, fields.OrderItems},
		{&o.comments.Resource, adapter.OrderComments, fields.OrderComments},
		{&o.commentList.Resource, adapter.OrderComments, fields.OrderCommentList},
	} {
		var err error
		if *part.of, err = resource.NewResource(d, part.fields, backend, part.resource); err != nil {
			return nil, fmt.Errorf("%s: %w", part.resource, err)
		}
	}
	return o, nil
}

// GetOrder handles GET /orders/:id. Unlike other calls, it accepts the id only in its
// canonical spelling (stock_orders 3.5).
func (o *Orders) GetOrder(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	id := c.Param("id")
	key, err := strconv.ParseInt(id, 10, 64)
	if err != nil || key < 1 || strconv.FormatInt(key, 10) != id {
		return nil, o.Dialect.Fault(contract.NotFound)
	}
	order, err := o.Store.Get(ctx, &adapter.GetParams{Key: adapter.Key(key), OwnerID: c.OwnerID()})
	if err != nil {
		return nil, err
	}
	reply := o.newReply(c, contract.SingleView(c.Format))
	if _, err := reply.loadParts(ctx, []adapter.Record{order}); err != nil {
		return nil, err
	}
	return reply.SingleReply(c, order)
}

// ListOrders handles GET /orders.
func (o *Orders) ListOrders(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	wanted, err := o.ListReader(c.Principal.Role).Parse(o.Schema, &c.Query)
	if err != nil {
		return nil, err
	}
	view := contract.ListView(c.Format)
	parts := o.newReply(c, view)
	bounds := adapter.ListParams{OwnerID: c.OwnerID(), Only: o.ListAttributes(c)}
	records, err := o.Rows(ctx, wanted, bounds, c.Limits, parts.loadParts)
	if err == nil && !records.Ended && parts.selectionMayCrash() {
		err = records.ValidateRest(ctx, o.newReply(c, view).loadParts)
	}
	if err != nil {
		return nil, err
	}
	reply, err := parts.ListReply(c, records)
	if err != nil {
		return nil, err
	}
	reply.Numbered = c.Route.NumbersItems(o.Dialect)
	return reply, nil
}

// A reply renders the orders of one reply; their parts are computed fields. The
// caller's selection of fields applies to the parts, too (stock_orders 1.5).
type reply struct {
	resource.Resource // a copy for this call
	c                 *resource.Call
	view              contract.View
	parts             []replyPart
}

// A replyPart is one part of the orders in a reply.
type replyPart struct {
	*part
	shown bool                       // whether the caller selected the field that holds it
	lists map[adapter.Key]codec.Node // by order
}

// newReply returns a reply whose parts have not been loaded yet.
func (o *Orders) newReply(c *resource.Call, view contract.View) *reply {
	r := &reply{Resource: o.Resource, c: c, view: view}
	fields, _ := o.ListReader(c.Principal.Role).Select(view, &c.Query)
	for _, part := range []*part{&o.addresses, &o.items, &o.comments} {
		field, _ := o.Fields.Index(part.field)
		if !o.Fields.Fields[field].Readable(o.Dialect, c.Principal.Role, view) || !c.Principal.Grants.Allow(string(part.Schema.Resource), contract.GET) {
			continue // the caller may not read it (wire 4; configurations 8)
		}
		r.parts = append(r.parts, replyPart{part: part, shown: slices.Contains(fields, field)})
	}
	r.Compute = r.partOf
	return r
}

// partOf returns the list of parts in a field of an order.
func (r *reply) partOf(_ *resource.Call, field *contract.Field, order adapter.Record) (list codec.Node, ok bool) {
	for i := range r.parts {
		if r.parts[i].field == field.Name {
			list, ok = r.parts[i].lists[order.Key()]
		}
	}
	return list, ok
}

// loadParts loads the parts of the orders that are rendered next, with one query per
// part.
func (r *reply) loadParts(ctx context.Context, orders []adapter.Record) ([]adapter.Record, error) {
	keys := make([]adapter.Key, len(orders))
	for i, order := range orders {
		keys[i] = order.Key()
	}
	for i := range r.parts {
		part := &r.parts[i]
		var err error
		if part.lists, err = part.listsByOrder(ctx, r.c, r.view, keys, part.shown); err != nil {
			return nil, err
		}
	}
	return orders, nil
}

// selectionMayCrash reports whether the original crashes if any order has a record of
// some part.
func (r *reply) selectionMayCrash() bool {
	return slices.ContainsFunc(r.parts, func(part replyPart) bool {
		_, selectionFault := part.SelectFields(r.c, r.view)
		return selectionFault != nil
	})
}
