package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// addressesOrderKey returns the key of the order in the path of a call for addresses, if the
// caller may see it. The original rounds a fractional id there.
func (o *Orders) addressesOrderKey(ctx context.Context, c *resource.Call) (adapter.Key, error) {
	read := codec.ParseID
	if o.Dialect.TruncatesIDs {
		read = codec.ParseRoundedID
	}
	return o.orderKey(ctx, c, read, "order_id")
}

// partOrderKey is like addressesOrderKey for items and comments, where the original truncates a
// fractional id.
func (o *Orders) partOrderKey(ctx context.Context, c *resource.Call) (adapter.Key, error) {
	read := codec.ParseID
	if o.Dialect.TruncatesIDs {
		read = codec.ParseIDPart
	}
	return o.orderKey(ctx, c, read, "id")
}

// orderKey returns the key of the order that a path parameter names, if the caller may
// see it. It converts the parameter with read.
func (o *Orders) orderKey(ctx context.Context, c *resource.Call, read func(string) (int64, bool), parameter string) (adapter.Key, error) {
	id, isID := read(c.Param(parameter))
	key, err := resource.KeyOrNotFound(o.Dialect, id, isID)
	if err != nil {
		return 0, err
	}
	_, err = o.Store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: c.OwnerID()})
	return key, err
}

// ListOrderItems handles GET /orders/:id/items.
func (o *Orders) ListOrderItems(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	return o.listOrderPart(ctx, c, &o.items)
}

// ListOrderComments handles GET /orders/:id/comments.
func (o *Orders) ListOrderComments(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	return o.listOrderPart(ctx, c, &o.commentList)
}

// listOrderPart looks up the order before it parses the list modifiers (stock_orders
// 1.5).
func (o *Orders) listOrderPart(ctx context.Context, c *resource.Call, part *part) (*resource.Reply, error) {
	order, err := o.partOrderKey(ctx, c)
	if err != nil {
		return nil, err
	}
	wanted, err := part.parseListQuery(c)
	if err != nil {
		return nil, err
	}
	return part.listForOrder(ctx, c, order, wanted)
}

// ListOrderAddresses handles GET /orders/:order_id/addresses. Unlike the other lists, it
// parses the list modifiers before it looks up the order, and replies 404 if the list is
// empty (stock_orders 1.5 and 5).
func (o *Orders) ListOrderAddresses(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	addresses := &o.addresses
	wanted, err := addresses.parseListQuery(c)
	if err != nil {
		return nil, err
	}
	order, err := o.addressesOrderKey(ctx, c)
	if err != nil {
		return nil, err
	}
	reply, err := addresses.listForOrder(ctx, c, order, wanted)
	if err == nil && len(reply.Body.Members) == 0 {
		return nil, o.Dialect.Fault(contract.NotFound)
	}
	return reply, err
}

// GetOrderAddress handles GET /orders/:order_id/addresses/:address_type. The comparison
// of the type ignores case, like all comparisons of the store.
func (o *Orders) GetOrderAddress(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	order, err := o.addressesOrderKey(ctx, c)
	if err != nil {
		return nil, err
	}
	addresses := &o.addresses
	where := append(addresses.visibleConditions(c, order), resource.TextEquals("address_type", c.Param("address_type")))
	found, err := addresses.All(ctx, &adapter.ListParams{Query: adapter.Query{Where: where, Limit: 1}})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, o.Dialect.Fault(contract.NotFound)
	}
	return addresses.SingleReply(c, found[0])
}

// GetOrderComment handles GET /orders/comments/:id, which only an Admin may call.
func (o *Orders) GetOrderComment(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := resource.ParseTruncatedKey(o.Dialect, c.Param("id"))
	if err != nil {
		return nil, err
	}
	comment, err := o.comments.Store.Get(ctx, &adapter.GetParams{Key: key})
	if err != nil {
		return nil, err
	}
	return o.comments.SingleReply(c, comment)
}
