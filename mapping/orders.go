package mapping

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// orders is the group of resources behind /orders (stock_orders 3 to 6): the orders and
// their parts.
type orders struct {
	resource
	addresses, items, comments orderPart
	// commentList is comments, with the field order of GET /orders/:id/comments.
	commentList orderPart
}

func newOrders(d *contract.Dialect, fields *contract.Fields, backend *invalidatingAdapter, schemas *adapter.Schemas) (*orders, error) {
	// A Customer sees only comments that are visible in the storefront.
	onFront := []adapter.Condition{integerEquals("is_visible_on_front", 1)}
	o := &orders{
		addresses:   orderPart{field: "addresses"},
		items:       orderPart{field: "order_items"},
		comments:    orderPart{field: "order_comments", customerFilter: onFront},
		commentList: orderPart{field: "order_comments", customerFilter: onFront},
	}
	for _, part := range []struct {
		of       *resource
		resource adapter.Resource
		fields   *contract.FieldTable
	}{
		{&o.resource, adapter.Orders, fields.Orders},
		{&o.addresses.resource, adapter.OrderAddresses, fields.OrderAddresses},
		{&o.items.resource, adapter.OrderItems, fields.OrderItems},
		{&o.comments.resource, adapter.OrderComments, fields.OrderComments},
		{&o.commentList.resource, adapter.OrderComments, fields.OrderCommentList},
	} {
		var err error
		if *part.of, err = newResource(d, part.fields, backend, schemas, part.resource); err != nil {
			return nil, fmt.Errorf("%s: %w", part.resource, err)
		}
	}
	return o, nil
}

// getOrder handles GET /orders/:id. Unlike other calls, it accepts the id only in its
// canonical spelling (stock_orders 3.5).
func (s *Service) getOrder(ctx context.Context, c *Call) (*Reply, error) {
	id := c.Param("id")
	key, err := strconv.ParseInt(id, 10, 64)
	if err != nil || key < 1 || strconv.FormatInt(key, 10) != id {
		return nil, s.dialect.Fault(contract.NotFound)
	}
	order, err := s.orders.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(key), OwnerID: ownerID(c.Principal)})
	if err != nil {
		return nil, err
	}
	reply := s.orders.newReply(c, contract.SingleView(c.Format))
	if _, err := reply.loadParts(ctx, []adapter.Record{order}); err != nil {
		return nil, err
	}
	return reply.singleReply(c, order)
}

// listOrders handles GET /orders.
func (s *Service) listOrders(ctx context.Context, c *Call) (*Reply, error) {
	o := s.orders
	wanted, err := o.listReader(c.Principal.Role).Parse(o.schema, &c.Query)
	if err != nil {
		return nil, err
	}
	view := contract.ListView(c.Format)
	parts := o.newReply(c, view)
	records, err := o.rows(ctx, wanted, adapter.ListParams{OwnerID: ownerID(c.Principal)}, s.limits, parts.loadParts)
	if err == nil && !records.ended && parts.selectionMayCrash() {
		err = records.validateRest(ctx, o.newReply(c, view).loadParts)
	}
	if err != nil {
		return nil, err
	}
	reply, err := parts.listReply(c, records)
	if err != nil {
		return nil, err
	}
	reply.Numbered = s.dialect.NumberedOrders
	return reply, nil
}

// An orderReply renders the orders of one reply; their parts are computed fields. The
// caller's selection of fields applies to the parts, too (stock_orders 1.5).
type orderReply struct {
	resource // a copy for this call
	c        *Call
	view     contract.View
	parts    []replyPart
}

// A replyPart is one part of the orders in a reply.
type replyPart struct {
	*orderPart
	shown bool                       // whether the caller selected the field that holds it
	lists map[adapter.Key]codec.Node // by order
}

// newReply returns a reply whose parts have not been loaded yet.
func (o *orders) newReply(c *Call, view contract.View) *orderReply {
	r := &orderReply{resource: o.resource, c: c, view: view}
	fields, _ := o.listReader(c.Principal.Role).Select(view, &c.Query)
	for _, part := range []*orderPart{&o.addresses, &o.items, &o.comments} {
		field, _ := o.fields.Index(part.field)
		if !o.fields.Fields[field].Readable(o.dialect, c.Principal.Role, view) {
			continue // not readable for the role (wire 4)
		}
		r.parts = append(r.parts, replyPart{orderPart: part, shown: slices.Contains(fields, field)})
	}
	r.compute = make(map[string]func(*Call, adapter.Record) (codec.Node, bool))
	for i := range r.parts {
		part := &r.parts[i]
		r.compute[part.field] = func(_ *Call, order adapter.Record) (codec.Node, bool) {
			list, ok := part.lists[order.Key()]
			return list, ok
		}
	}
	return r
}

// loadParts loads the parts of the orders that are rendered next, with one query per
// part.
func (r *orderReply) loadParts(ctx context.Context, orders []adapter.Record) ([]adapter.Record, error) {
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
func (r *orderReply) selectionMayCrash() bool {
	return slices.ContainsFunc(r.parts, func(part replyPart) bool {
		_, selectionFault := part.selectFields(r.c, r.view)
		return selectionFault != nil
	})
}
