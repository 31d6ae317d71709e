package mapping

import "strings"

// baseURL returns what stands before the paths of the shop in the URLs c is
// answered, without a slash at its end: public, or else as the client reached
// the service.
func baseURL(c *Call, public string) string {
	if public != "" {
		return strings.TrimRight(public, "/")
	}
	return c.scheme + "://" + c.request.Host
}
