package passthrough

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"strings"
)

// removeUnsafe deletes the headers by which a client could make the old system answer
// another request than the one that the routing rules, the cache and the signature were
// checked for. The word of a trusted proxy about the client is kept.
func removeUnsafe(header http.Header, trusted bool) {
	for name := range header {
		if !plainName(name) || slices.Contains(overrides(), name) || !trusted && describesClient(name) {
			delete(header, name)
		}
	}
}

// plainName reports whether a name has only letters, digits and hyphens. CGI gives a
// program X_Rewrite_URL and X.Rewrite.URL under the same name as X-Rewrite-URL.
func plainName(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// overrides are the headers by which web servers and frameworks replace the target or
// the method of a request, and the one that CGI programs read as the proxy they are to
// use (CVE-2016-5385). No proxy needs them on the way to the old system.
func overrides() []string {
	return []string{
		"Proxy", "X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
		"X-Original-Method", "X-Original-Path", "X-Original-Uri", "X-Original-Url", "X-Override-Url", "X-Rewrite-Uri", "X-Rewrite-Url",
	}
}

// describesClient reports whether a header says who the client is, or how it reached the
// shop: only a proxy can know that.
func describesClient(name string) bool {
	return strings.HasPrefix(name, "X-Forwarded") || slices.Contains([]string{
		"Cf-Connecting-Ip", "Client-Ip", "Fastly-Client-Ip", "Forwarded", "Front-End-Https", "Ssl-Offloaded", "True-Client-Ip",
		"X-Client-Ip", "X-Cluster-Client-Ip", "X-Host", "X-Http-Host-Override", "X-Original-Forwarded-For", "X-Original-Host",
		"X-Original-Remote-Addr", "X-Proxyuser-Ip", "X-Real-Ip", "X-Remote-Addr", "X-Remote-Ip", "X-Url-Scheme",
	}, name)
}

// setForwarded tells the old system who sent the request in, and how: what a trusted
// proxy says of that is believed.
func setForwarded(header http.Header, in *http.Request, call *Call) {
	set := func(name, value string) {
		if value != "" {
			header.Set(name, value)
		}
	}
	set("X-Forwarded-Host", call.ForwardedHost(in))
	if call.shared {
		set("X-Forwarded-Proto", call.Scheme)
		return
	}
	before, peer := call.said(in, "X-Forwarded-For"), ""
	if address, _, err := net.SplitHostPort(in.RemoteAddr); err == nil {
		peer = address
	}
	if before != "" && peer != "" {
		before += ", "
	}
	set("X-Forwarded-For", before+peer)
	set("X-Forwarded-Proto", cmp.Or(call.said(in, "X-Forwarded-Proto"), call.Scheme))
	set("Forwarded", call.said(in, "Forwarded"))
}

// ForwardedHost returns the host that X-Forwarded-Host names to the old system.
func (c *Call) ForwardedHost(r *http.Request) string {
	return cmp.Or(c.said(r, "X-Forwarded-Host"), r.Host)
}

// said returns the value of a header that describes the client, "" where the peer is not
// trusted.
func (c *Call) said(r *http.Request, name string) string {
	if !c.Trusted {
		return ""
	}
	return strings.Join(r.Header[name], ", ")
}
