package handlers

import (
	"context"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A part is a resource whose records belong to orders: items, addresses or
// comments.
type part struct {
	resource.Resource
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
func (p *part) listsByOrder(ctx context.Context, c *resource.Call, view contract.View, orders []adapter.Key, shown bool) (map[adapter.Key]codec.Node, error) {
	fields, selectionFault := p.SelectFields(c, view)
	if !shown && selectionFault == nil {
		return nil, nil
	}
	lists, renderer := make(map[adapter.Key]codec.Node, len(orders)), p.NewRenderer(c, fields)
	for some := range slices.Chunk(orders, maxOrdersPerQuery) {
		records, err := p.All(ctx, &adapter.ListParams{
			Query: adapter.Query{Where: p.visibleConditions(c, some...)},
			Only:  p.StoredAttributes(fields),
		})
		if err != nil {
			return nil, err
		}
		if len(records) > 0 && selectionFault != nil {
			return nil, selectionFault
		}
		for _, rec := range records {
			order := adapter.Key(rec.Get(p.Schema.RootAttribute).Int())
			list := lists[order]
			list.Kind = codec.Struct
			list.Members = append(list.Members, codec.Member{Key: strconv.Itoa(len(list.Members)), Value: renderer.Render(rec)})
			lists[order] = list
		}
	}
	return lists, nil
}

// visibleConditions selects the records of the given orders that the caller may see.
func (p *part) visibleConditions(c *resource.Call, orders ...adapter.Key) []adapter.Condition {
	ids := make([]string, len(orders))
	for i, key := range orders {
		ids[i] = strconv.FormatInt(int64(key), 10)
	}
	where := []adapter.Condition{resource.NewCondition(p.Schema.RootAttribute, adapter.In, ids...)}
	if c.Principal.Role != contract.Admin {
		where = append(where, p.customerFilter...)
	}
	return where
}

func (p *part) parseListQuery(c *resource.Call) (*input.List, error) {
	return p.ListReader(c.Principal.Role).Parse(p.Schema, &c.Query)
}

// listForOrder replies with the requested page of the records of order.
func (p *part) listForOrder(ctx context.Context, c *resource.Call, order adapter.Key, wanted *input.List) (*resource.Reply, error) {
	wanted.Query.Where = append(p.visibleConditions(c, order), wanted.Query.Where...)
	records, err := p.Rows(ctx, wanted, adapter.ListParams{Only: p.ListAttributes(c)}, c.Limits, resource.NoHook)
	if err != nil {
		return nil, err
	}
	return p.ListReply(c, records)
}
