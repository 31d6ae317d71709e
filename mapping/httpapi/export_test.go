package httpapi

import "net/http"

// HoldFirst makes the connection of a request write the first piece of the reply, which has a body of the given size,
// together with the second one.
func HoldFirst(r *http.Request, body int) { connectionOf(r).holdFirst(body) }
