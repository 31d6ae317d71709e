package httpapi

import "net/http"

// maxHeaders is the maximum number of headers that a reply sets.
const maxHeaders = 8

// headers sets the headers of one reply. It stores all values in one slice, which saves an
// allocation per header: half the cost of a cached reply.
type headers struct {
	header http.Header
	values []string
}

// set sets a header. The name must be in canonical form.
func (h *headers) set(name, value string) {
	h.values = append(h.values, value)
	at := len(h.values)
	h.header[name] = h.values[at-1 : at : at]
}
