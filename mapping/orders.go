package mapping

import (
	"context"
	"fmt"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// orders is the family of resources behind /orders (stock_orders 3 to 6): the
// orders, and their parts.
type orders struct {
	resource
	addresses, items, comments orderPart
	// commentList is comments with the fields in the order of their own list.
	commentList orderPart
}

func newOrders(d *contract.Dialect, upstream adapter.Adapter, schemas *adapter.Schemas) (*orders, error) {
	// A Customer sees only the comments that are meant for the storefront.
	onFront := []adapter.Condition{numberIs("is_visible_on_front", 1)}
	o := &orders{
		addresses:   orderPart{field: "addresses", order: "parent_id"},
		items:       orderPart{field: "order_items", order: "order_id"},
		comments:    orderPart{field: "order_comments", order: "parent_id", forCustomers: onFront},
		commentList: orderPart{field: "order_comments", order: "parent_id", forCustomers: onFront},
	}
	for _, part := range []struct {
		of       *resource
		resource adapter.Resource
		fields   *contract.FieldTable
	}{
		{&o.resource, adapter.Orders, contract.OrderFields()},
		{&o.addresses.resource, adapter.OrderAddresses, contract.OrderAddressFields()},
		{&o.items.resource, adapter.OrderItems, contract.OrderItemFields()},
		{&o.comments.resource, adapter.OrderComments, contract.OrderCommentFields()},
		{&o.commentList.resource, adapter.OrderComments, contract.OrderCommentListFields()},
	} {
		var err error
		if *part.of, err = newResource(d, part.fields, upstream, schemas, part.resource); err != nil {
			return nil, fmt.Errorf("%s: %w", part.resource, err)
		}
	}
	return o, nil
}

// getOrder handles GET /orders/:id. Unlike everywhere else the id is only found
// when it is written as it is (stock_orders 3.5).
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
	whole, err := s.orders.withParts(ctx, c, contract.SingleView(c.Format), []adapter.Record{order})
	if err != nil {
		return nil, err
	}
	return whole.one(c, order)
}

// listOrders handles GET /orders.
func (s *Service) listOrders(ctx context.Context, c *Call) (*Reply, error) {
	o := s.orders
	wanted, err := o.reader(c.Principal.Role).Parse(o.schema, &c.Query)
	if err != nil {
		return nil, err
	}
	records, err := o.page(ctx, wanted, adapter.ListParams{OwnerID: ownerID(c.Principal)}, s.settings.MaxRows)
	if err != nil {
		return nil, err
	}
	whole, err := o.withParts(ctx, c, contract.ListView(c.Format), records)
	if err != nil {
		return nil, err
	}
	reply, err := whole.many(c, keyedByID, records)
	if err != nil {
		return nil, err
	}
	reply.Numbered = s.dialect.NumberedOrders
	return reply, nil
}

// withParts returns the orders as a resource for this call alone, whose computed
// fields are the parts of records. They are fetched here, for all records at
// once. What the caller selects holds inside the parts, too (stock_orders 1.5).
func (o *orders) withParts(ctx context.Context, c *Call, view contract.View, records []adapter.Record) (*resource, error) {
	fields, _ := o.reader(c.Principal.Role).Select(view, &c.Query)
	shown := make(map[string]bool, len(fields))
	for _, i := range fields {
		shown[o.fields.Fields[i].Name] = true
	}
	keys := make([]adapter.Key, len(records))
	for i, order := range records {
		keys[i] = o.key(order)
	}
	whole := o.resource
	whole.compute = make(map[string]func(*Call, adapter.Record) (codec.Node, bool))
	for _, part := range []*orderPart{&o.addresses, &o.items, &o.comments} {
		lists, err := part.ofOrders(ctx, c, view, keys, shown[part.field])
		if err != nil {
			return nil, err
		}
		whole.compute[part.field] = func(_ *Call, order adapter.Record) (codec.Node, bool) {
			list, ok := lists[o.key(order)]
			return list, ok
		}
	}
	return &whole, nil
}

func (o *orders) key(order adapter.Record) adapter.Key {
	return adapter.Key(order.Get(o.schema.Key).Int())
}
