package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// CreateOrderComment handles POST /orders/:id/comments. It accepts any value and converts
// it to the type of its field (stock_orders 6). It sends no mail to the customer; that is
// up to the shop.
func (o *Orders) CreateOrderComment(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := resource.ParseTruncatedKey(o.Dialect, c.Param("id"))
	if err != nil {
		return nil, err
	}
	order, err := o.Store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: c.OwnerID()})
	if err != nil {
		return nil, err
	}
	comment := adapter.NewRecord(o.comments.Schema)
	comment.Set("parent_id", adapter.IntegerValue(int64(key)))
	comment.Set("comment", commentText(&c.Body))
	comment.Set("status", commentStatus(&c.Body, order))
	comment.Set("is_visible_on_front", adapter.IntegerValue(visibleOnFront(&c.Body)))
	comment.Set("is_customer_notified", adapter.IntegerValue(customerNotified(&c.Body)))
	commentKey, err := o.comments.Store.Create(ctx, &adapter.CreateParams{Record: comment})
	switch {
	case resource.IsStoreError(err, adapter.Invalid, "parent_id"):
		return nil, o.Dialect.Fault(contract.NotFound)
	case err != nil:
		return nil, err
	}
	return resource.Created("/orders/comments/", commentKey), nil
}

// lenientText returns the text that any value is stored as.
func lenientText(n *codec.Node) string {
	text, ok := input.StoredText(n)
	if !ok {
		return input.ListPlaceholder
	}
	return text
}

func commentText(body *codec.Node) adapter.Value {
	n, sent := body.Get("comment")
	if !sent || lenientText(n) == "" {
		return adapter.NullValue()
	}
	return adapter.TextValue(input.TruncateBytes(lenientText(n), contract.MaxCommentBytes))
}

// commentStatus returns the status that a comment sets on its order: absent to leave it
// unchanged, null to remove it.
func commentStatus(body *codec.Node, order adapter.Record) adapter.Value {
	n, sent := body.Get("status")
	state := order.Get("state").Text()
	switch {
	case !sent, n.Kind == codec.Null, n.Kind == codec.False, n.Kind == codec.True && state == "":
		return adapter.Value{}
	case n.Kind == codec.True:
		return adapter.TextValue(contract.DefaultStatus(state))
	case lenientText(n) == "":
		return adapter.NullValue()
	default:
		return adapter.TextValue(input.TruncateRunes(lenientText(n), contract.MaxStatusLength))
	}
}

func visibleOnFront(body *codec.Node) int64 {
	n, sent := body.Get("is_visible_on_front")
	if !sent {
		return 0
	}
	return input.CastInteger(n, contract.MaxCommentFlag)
}

func customerNotified(body *codec.Node) int64 {
	n, sent := body.Get("is_customer_notified")
	switch {
	case !sent:
		return 0
	case n.Kind == codec.Null:
		return contract.NotifiedUnknown
	default:
		return input.CastInteger(n, contract.MaxCommentFlag)
	}
}
