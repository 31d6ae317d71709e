package mapping

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// createOrderComment handles POST /orders/:id/comments. It accepts any value and converts
// it to the type of its field (stock_orders 6). It sends no mail to the customer; that is
// up to the shop.
func (s *Service) createOrderComment(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.parseTruncatedKey(c.Param("id"))
	if err != nil {
		return nil, err
	}
	order, err := s.orders.store.Get(ctx, &adapter.GetParams{Key: key, OwnerID: ownerID(c.Principal)})
	if err != nil {
		return nil, err
	}
	comment := adapter.NewRecord(s.orders.comments.schema)
	comment.Set("parent_id", adapter.IntegerValue(int64(key)))
	comment.Set("comment", commentText(&c.Body))
	comment.Set("status", commentStatus(&c.Body, order))
	comment.Set("is_visible_on_front", adapter.IntegerValue(visibleOnFront(&c.Body)))
	comment.Set("is_customer_notified", adapter.IntegerValue(customerNotified(&c.Body)))
	commentKey, err := s.orders.comments.store.Create(ctx, &adapter.CreateParams{Record: comment})
	switch {
	case isStoreError(err, adapter.Invalid, "parent_id"):
		return nil, s.dialect.Fault(contract.NotFound)
	case err != nil:
		return nil, err
	}
	return createdReply("/orders/comments/", commentKey), nil
}

// listPlaceholder is what the original stores for a list in place of a text.
const listPlaceholder = "Array"

// lenientText returns the text that any value is stored as.
func lenientText(n *codec.Node) string {
	text, ok := storedText(n)
	if !ok {
		return listPlaceholder
	}
	return text
}

func commentText(body *codec.Node) adapter.Value {
	n, sent := body.Get("comment")
	if !sent || lenientText(n) == "" {
		return adapter.NullValue()
	}
	return adapter.TextValue(truncateBytes(lenientText(n), contract.MaxCommentBytes))
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
		return adapter.TextValue(truncateRunes(lenientText(n), contract.MaxStatusLength))
	}
}

func visibleOnFront(body *codec.Node) int64 {
	n, sent := body.Get("is_visible_on_front")
	if !sent {
		return 0
	}
	return castInteger(n, contract.MaxCommentFlag)
}

func customerNotified(body *codec.Node) int64 {
	n, sent := body.Get("is_customer_notified")
	switch {
	case !sent:
		return 0
	case n.Kind == codec.Null:
		return contract.NotifiedUnknown
	default:
		return castInteger(n, contract.MaxCommentFlag)
	}
}
