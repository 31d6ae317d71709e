package proxy

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"strings"
)

// removeUnsafe deletes the headers with which a client could make the legacy store answer a
// different request than the one that the routing rules, the cache and the signature check have
// seen. It keeps the headers of a trusted proxy about the client.
func removeUnsafe(header http.Header, trusted bool) {
	for name := range header {
		if !plainName(name) || slices.Contains(overrideHeaders(), name) || !trusted && describesClient(name) {
			delete(header, name)
		}
	}
}

// plainName reports whether a name has only letters, digits and hyphens. CGI passes
// X_Rewrite_URL and X.Rewrite.URL to a program under the same name as X-Rewrite-URL.
func plainName(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// overrideHeaders returns the headers that make web servers and frameworks replace the target or
// the method of a request, and the one that CGI programs interpret as their proxy
// (CVE-2016-5385). No proxy needs them on the way to the legacy store.
func overrideHeaders() []string {
	return []string{
		"Proxy", "X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
		"X-Original-Method", "X-Original-Path", "X-Original-Uri", "X-Original-Url", "X-Override-Url", "X-Rewrite-Uri", "X-Rewrite-Url",
	}
}

// describesClient reports whether a header describes the client or its connection to the
// shop, which only a proxy can know.
func describesClient(name string) bool {
	return strings.HasPrefix(name, "X-Forwarded") || slices.Contains([]string{
		"Cf-Connecting-Ip", "Client-Ip", "Fastly-Client-Ip", "Forwarded", "Front-End-Https", "Ssl-Offloaded", "True-Client-Ip",
		"X-Client-Ip", "X-Cluster-Client-Ip", "X-Host", "X-Http-Host-Override", "X-Original-Forwarded-For", "X-Original-Host",
		"X-Original-Remote-Addr", "X-Proxyuser-Ip", "X-Real-Ip", "X-Remote-Addr", "X-Remote-Ip", "X-Url-Scheme",
	}, name)
}

// setForwarded sets the headers that describe the sender of the request to the legacy store. It
// keeps the values that a trusted proxy sent.
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
	before, peer := call.trustedHeader(in, "X-Forwarded-For"), ""
	if address, _, err := net.SplitHostPort(in.RemoteAddr); err == nil {
		peer = address
	}
	if before != "" && peer != "" {
		before += ", "
	}
	set("X-Forwarded-For", before+peer)
	nearest, _, _ := strings.Cut(call.trustedHeader(in, "X-Forwarded-Proto"), ",") // which is the client's scheme
	set("X-Forwarded-Proto", cmp.Or(strings.TrimSpace(nearest), call.Scheme))
	set("Forwarded", call.trustedHeader(in, "Forwarded"))
}

// ForwardedHost returns the X-Forwarded-Host that the legacy store gets.
func (c *Call) ForwardedHost(r *http.Request) string {
	return cmp.Or(c.trustedHeader(r, "X-Forwarded-Host"), r.Host)
}

// trustedHeader returns the value of a header that describes the client, or "" if the peer is not
// trusted.
func (c *Call) trustedHeader(r *http.Request, name string) string {
	if !c.Trusted {
		return ""
	}
	return strings.Join(r.Header[name], ", ")
}
