package contract

// Limits of the values of an order comment; longer or greater values are cut to the limit
// (stock_orders 6).
const (
	MaxCommentBytes = 65535 // bytes
	MaxStatusLength = 32    // characters
	MaxCommentFlag  = 65535 // of is_customer_notified and is_visible_on_front
)

// NotifiedUnknown is the value stored for is_customer_notified when the client sends null.
const NotifiedUnknown = 2

// DefaultStatus returns the default order status of an order state.
func DefaultStatus(state string) string {
	if state == "new" {
		return "pending"
	}
	return state
}
