package mapping

import (
	"context"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// An orderPart is a resource whose records belong to orders: items, addresses or
// comments.
type orderPart struct {
	resource
	field string // of the order that holds their list
	// customerFilter selects the records that a Customer sees.
	customerFilter []adapter.Condition
}

// maxOrdersPerQuery is the number of orders whose parts one query reads. It exceeds the
// largest page, so that a page takes one query for each part.
const maxOrdersPerQuery = 128

// listsByOrder returns, for each order, the list of its records by ascending id; an order
// without records has no list. If the lists are not shown, it reads them only in the
// dialect where an empty selection of fields is a crash, because that takes at least one
// record.
func (p *orderPart) listsByOrder(ctx context.Context, c *Call, view contract.View, orders []adapter.Key, shown bool) (map[adapter.Key]codec.Node, error) {
	fields, selectionFault := p.selectFields(c, view)
	if !shown && selectionFault == nil {
		return nil, nil
	}
	lists, renderer := make(map[adapter.Key]codec.Node, len(orders)), p.newRenderer(c, fields)
	for some := range slices.Chunk(orders, maxOrdersPerQuery) {
		records, err := p.all(ctx, &adapter.ListParams{Query: adapter.Query{Where: p.visibleConditions(c, some...)}})
		if err != nil {
			return nil, err
		}
		if len(records) > 0 && selectionFault != nil {
			return nil, selectionFault
		}
		for _, rec := range records {
			order := adapter.Key(rec.Get(p.schema.RootAttribute).Int())
			list := lists[order]
			list.Kind = codec.Struct
			list.Members = append(list.Members, codec.Member{Key: strconv.Itoa(len(list.Members)), Value: renderer.render(rec)})
			lists[order] = list
		}
	}
	return lists, nil
}

// visibleConditions selects the records of the given orders that the caller may see.
func (p *orderPart) visibleConditions(c *Call, orders ...adapter.Key) []adapter.Condition {
	ids := make([]string, len(orders))
	for i, key := range orders {
		ids[i] = strconv.FormatInt(int64(key), 10)
	}
	where := []adapter.Condition{condition(p.schema.RootAttribute, adapter.In, ids...)}
	if c.Principal.Role != contract.Admin {
		where = append(where, p.customerFilter...)
	}
	return where
}

func (p *orderPart) parseListQuery(c *Call) (*listquery.List, error) {
	return p.listReader(c.Principal.Role).Parse(p.schema, &c.Query)
}

// listForOrder replies with the requested page of the records of order.
func (p *orderPart) listForOrder(ctx context.Context, c *Call, order adapter.Key, wanted *listquery.List, limits rowLimits) (*Reply, error) {
	wanted.Query.Where = append(p.visibleConditions(c, order), wanted.Query.Where...)
	records, err := p.rows(ctx, wanted, adapter.ListParams{}, limits, noBatchHook)
	if err != nil {
		return nil, err
	}
	return p.listReply(c, records)
}

// addressesOrderKey returns the key of the order in the path of a call for addresses, if the
// caller may see it. The original rounds a fractional id there.
func (s *Service) addressesOrderKey(ctx context.Context, c *Call) (adapter.Key, error) {
	read := numeric.ID
	if s.dialect.TruncatesIDs {
		read = numeric.IDRounded
	}
	return s.orderKey(ctx, c, read, "order_id")
}

// partOrderKey is like addressesOrderKey for items and comments, where the original truncates a
// fractional id.
func (s *Service) partOrderKey(ctx context.Context, c *Call) (adapter.Key, error) {
	read := numeric.ID
	if s.dialect.TruncatesIDs {
		read = numeric.IDPart
	}
	return s.orderKey(ctx, c, read, "id")
}

// orderKey returns the key of the order that a path parameter names, if the caller may
// see it. It converts the parameter with read.
func (s *Service) orderKey(ctx context.Context, c *Call, read func(string) (int64, bool), parameter string) (adapter.Key, error) {
	key, err := s.keyOrNotFound(read(c.Param(parameter)))
	if err != nil {
		return 0, err
	}
	_, err = s.orders.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID(c.Principal)})
	return key, err
}

// listOrderItems handles GET /orders/:id/items.
func (s *Service) listOrderItems(ctx context.Context, c *Call) (*Reply, error) {
	return s.listOrderPart(ctx, c, &s.orders.items)
}

// listOrderComments handles GET /orders/:id/comments.
func (s *Service) listOrderComments(ctx context.Context, c *Call) (*Reply, error) {
	return s.listOrderPart(ctx, c, &s.orders.commentList)
}

// listOrderPart looks up the order before it parses the list modifiers (stock_orders
// 1.5).
func (s *Service) listOrderPart(ctx context.Context, c *Call, part *orderPart) (*Reply, error) {
	order, err := s.partOrderKey(ctx, c)
	if err != nil {
		return nil, err
	}
	wanted, err := part.parseListQuery(c)
	if err != nil {
		return nil, err
	}
	return part.listForOrder(ctx, c, order, wanted, s.limits)
}

// listOrderAddresses handles GET /orders/:order_id/addresses. Unlike the other lists, it
// parses the list modifiers before it looks up the order, and replies 404 if the list is
// empty (stock_orders 1.5 and 5).
func (s *Service) listOrderAddresses(ctx context.Context, c *Call) (*Reply, error) {
	addresses := &s.orders.addresses
	wanted, err := addresses.parseListQuery(c)
	if err != nil {
		return nil, err
	}
	order, err := s.addressesOrderKey(ctx, c)
	if err != nil {
		return nil, err
	}
	reply, err := addresses.listForOrder(ctx, c, order, wanted, s.limits)
	if err == nil && len(reply.Body.Members) == 0 {
		return nil, s.dialect.Fault(contract.NotFound)
	}
	return reply, err
}

// getOrderAddress handles GET /orders/:order_id/addresses/:address_type. The comparison
// of the type ignores case, like all comparisons of the store.
func (s *Service) getOrderAddress(ctx context.Context, c *Call) (*Reply, error) {
	order, err := s.addressesOrderKey(ctx, c)
	if err != nil {
		return nil, err
	}
	addresses := &s.orders.addresses
	where := append(addresses.visibleConditions(c, order), textEquals("address_type", c.Param("address_type")))
	found, err := addresses.all(ctx, &adapter.ListParams{Query: adapter.Query{Where: where, Limit: 1}})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, s.dialect.Fault(contract.NotFound)
	}
	return addresses.singleReply(c, found[0])
}

// getOrderComment handles GET /orders/comments/:id, which only an Admin may call.
func (s *Service) getOrderComment(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.parseTruncatedKey(c.Param("id"))
	if err != nil {
		return nil, err
	}
	comment, err := s.orders.comments.store.Get(ctx, &adapter.GetParams{Key: key})
	if err != nil {
		return nil, err
	}
	return s.orders.comments.singleReply(c, comment)
}
