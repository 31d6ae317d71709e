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

// An orderPart is a resource whose records belong to orders: lines, addresses or
// comments.
type orderPart struct {
	resource
	field          string // of the order that holds the list of them
	orderAttribute string // the attribute that names their order
	// forCustomers must hold of the records a Customer sees.
	customerFilter []adapter.Condition
}

// maxOrders is the number of orders whose parts are fetched at once; above the
// greatest page, so that every page takes one query for each part.
const maxOrdersPerQuery = 128

// ofOrders returns the lists of the records that belong to orders, in ascending
// order of their ids, as the orders hold them. An order without any has none.
// Unless wanted, they are fetched only where selecting nothing of them is a
// crash, because that takes a record.
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
			order := adapter.Key(rec.Get(p.orderAttribute).Int())
			list := lists[order]
			list.Kind = codec.Struct
			list.Members = append(list.Members, codec.Member{Key: strconv.Itoa(len(list.Members)), Value: renderer.render(rec)})
			lists[order] = list
		}
	}
	return lists, nil
}

// visible returns the conditions that select what the caller sees of the records
// that belong to orders.
func (p *orderPart) visibleConditions(c *Call, orders ...adapter.Key) []adapter.Condition {
	ids := make([]string, len(orders))
	for i, key := range orders {
		ids[i] = strconv.FormatInt(int64(key), 10)
	}
	where := []adapter.Condition{condition(p.orderAttribute, adapter.In, ids...)}
	if c.Principal.Role != contract.Admin {
		where = append(where, p.customerFilter...)
	}
	return where
}

// wanted reads the list modifiers.
func (p *orderPart) parseListQuery(c *Call) (*listquery.List, error) {
	return p.listReader(c.Principal.Role).Parse(p.schema, &c.Query)
}

// listOf answers with the wanted page of the records that belong to order.
func (p *orderPart) listForOrder(ctx context.Context, c *Call, order adapter.Key, wanted *listquery.List, limits rowLimits) (*Reply, error) {
	wanted.Query.Where = append(p.visibleConditions(c, order), wanted.Query.Where...)
	records, err := p.rows(ctx, wanted, adapter.ListParams{}, limits, noBatchHook)
	if err != nil {
		return nil, err
	}
	return p.listReply(c, arrayOfRecords, records)
}

// orderOfAddresses returns the key of the order whose addresses a call names, if the
// caller may see it. The original rounds an id that is not whole.
func (s *Service) addressesOrder(ctx context.Context, c *Call) (adapter.Key, error) {
	read := numeric.ID
	if s.dialect.IDsCut {
		read = numeric.IDRounded
	}
	return s.orderKey(ctx, c, read, "order_id")
}

// orderOfPart is orderOfAddresses for the other parts: there it cuts the id.
func (s *Service) partOrder(ctx context.Context, c *Call) (adapter.Key, error) {
	read := numeric.ID
	if s.dialect.IDsCut {
		read = numeric.IDPart
	}
	return s.orderKey(ctx, c, read, "id")
}

// order returns the key of the order that the path's parameter names, if the
// caller may see it.
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

// listOrderPart looks for the order before it reads the list modifiers
// (stock_orders 1.5).
func (s *Service) listOrderPart(ctx context.Context, c *Call, part *orderPart) (*Reply, error) {
	order, err := s.partOrder(ctx, c)
	if err != nil {
		return nil, err
	}
	wanted, err := part.parseListQuery(c)
	if err != nil {
		return nil, err
	}
	return part.listForOrder(ctx, c, order, wanted, s.limits)
}

// listOrderAddresses handles GET /orders/:order_id/addresses. Other than the
// other lists it reads the modifiers first, and is not found when it is empty
// (stock_orders 1.5 and 5).
func (s *Service) listOrderAddresses(ctx context.Context, c *Call) (*Reply, error) {
	addresses := &s.orders.addresses
	wanted, err := addresses.parseListQuery(c)
	if err != nil {
		return nil, err
	}
	order, err := s.addressesOrder(ctx, c)
	if err != nil {
		return nil, err
	}
	reply, err := addresses.listForOrder(ctx, c, order, wanted, s.limits)
	if err == nil && len(reply.Body.Members) == 0 {
		return nil, s.dialect.Fault(contract.NotFound)
	}
	return reply, err
}

// getOrderAddress handles GET /orders/:order_id/addresses/:address_type. The
// type is compared as the store compares texts, whatever its letter case.
func (s *Service) getOrderAddress(ctx context.Context, c *Call) (*Reply, error) {
	order, err := s.addressesOrder(ctx, c)
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

// getOrderComment handles GET /orders/comments/:id, which is an Admin's alone.
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
