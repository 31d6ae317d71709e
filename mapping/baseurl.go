package mapping

import "strings"

// baseURL returns the base URL of the shop, without a trailing slash, for the links in
// the reply to c: publicURL if it is set, otherwise the scheme and host that the client
// used.
func baseURL(c *Call, public string) string {
	if public != "" {
		return strings.TrimRight(public, "/")
	}
	return c.scheme + "://" + c.request.Host
}
