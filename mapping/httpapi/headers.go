package httpapi

import "net/http"

// mostHeaders is the number of headers a reply has at most.
const mostHeaders = 8

// headers sets the headers of one reply. Their values lie side by side, which is
// one allocation in place of one for each: half of what a reply out of memory
// costs.
type headers struct {
	header http.Header
	values []string
}

// set sets a header, whose name must be in canonical form.
func (h *headers) set(name, value string) {
	h.values = append(h.values, value)
	at := len(h.values)
	h.header[name] = h.values[at-1 : at : at]
}
