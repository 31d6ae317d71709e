package httpapi

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// reportUnheard logs once that a forwarding header of a request is ignored, and what to do if a proxy has
// sent it.
func (a *API) reportUnheard(r *http.Request) {
	name := "X-Forwarded-Proto"
	if len(r.Header[name]) == 0 {
		if name = "Forwarded"; len(r.Header[name]) == 0 {
			return
		}
	}
	advice := "add the peer to trusted_proxies (PORTICO_TRUSTED_PROXIES) if it is your proxy: until then signatures for https may fail, and limits and the log take the peer for the client"
	if a.trusted(r.RemoteAddr) {
		if name != "Forwarded" {
			return
		}
		advice = "let the proxy send X-Forwarded-Proto and X-Forwarded-For, which Portico reads"
	}
	a.unheard.Do(func() {
		a.Log.LogAttrs(r.Context(), slog.LevelWarn, "a forwarding header is ignored", slog.String("header", name), slog.String("peer", r.RemoteAddr), slog.String("advice", advice))
	})
}

// Scheme returns the scheme that the client used to reach the outermost server.
func (o *Options) Scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	if o.saysHTTPS(r.Header) && o.trusted(r.RemoteAddr) {
		return "https"
	}
	return "http"
}

// saysHTTPS reports whether the headers of a proxy say that the request came to it over https
// (configurations 2). A value other than http in the offloader header does; empty values and 0 mean
// nothing, as in the original.
func (o *Options) saysHTTPS(sent http.Header) bool {
	if nearest, _, _ := strings.Cut(sent.Get("X-Forwarded-Proto"), ","); strings.EqualFold(strings.TrimSpace(nearest), "https") {
		return true // a list begins with the proxy that is nearest to the client
	}
	return slices.ContainsFunc(o.OffloaderHeaders, func(name string) bool {
		values := sent[name]
		return len(values) > 0 && values[0] != "" && values[0] != "0" && values[0] != "http"
	})
}

// OffloaderHeaders returns the spellings in which package net/http shows a header with a name such as
// SSL_OFFLOADED: proxies send a hyphen in place of the underscore, because some servers drop headers
// with underscores. It returns nil for "".
func OffloaderHeaders(name string) []string {
	if name == "" {
		return nil
	}
	names := []string{http.CanonicalHeaderKey(name), http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))}
	return slices.Compact(names)
}

func (o *Options) trusted(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	return err == nil && slices.ContainsFunc(o.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(peer.Addr().Unmap()) })
}
