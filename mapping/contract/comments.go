package contract

// Bounds of a comment on an order, beyond which a value is cut (stock_orders 6).
const (
	LongestComment = 65535 // bytes
	LongestStatus  = 32    // characters
	GreatestFlag   = 65535 // of is_customer_notified and is_visible_on_front
)

// NotifiedUnknown is what is_customer_notified is when null is sent for it.
const NotifiedUnknown = 2

// DefaultStatus returns the status that an order of a state has unless it was given
// another.
func DefaultStatus(state string) string {
	if state == "new" {
		return "pending"
	}
	return state
}
