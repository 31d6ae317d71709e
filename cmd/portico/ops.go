package main

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// readyTimeout is how long an upstream may take to tell that it is there.
const readyTimeout = 2 * time.Second

// ops serves the operators' port.
type ops struct {
	token    string
	registry *prometheus.Registry
	ping     func(context.Context) error
	// keepsReplies reports whether there may be replies to give without the upstream.
	keepsReplies func() bool
	purge        func(context.Context) error // of all replies that are kept
	reset        func(context.Context) error // nil: not a demo
	profiles     bool                        // whether profiles are served
	differences  http.Handler                // between the two sides of a migration; nil: nobody looks for any
	draining     atomic.Bool
}

// newBuildInfo returns a metric that is always 1 and tells by its labels what runs.
func newBuildInfo(dialect, adapter string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "portico_build_info",
		Help:        "1, with the version of the program, the Go it was built with, its dialect and its adapter.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version(), "dialect": dialect, "adapter": adapter},
	}, func() float64 { return 1 })
}

// handler returns the handler of the operators' port. Health and readiness say
// nothing worth hiding; all else asks for the token, if there is one. Web pages of other
// sites, which the browser of somebody on this machine may show, reach nothing.
func (o *ops) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", o.ready)
	mux.Handle("GET /metrics", o.guarded(promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{})))
	mux.Handle("POST /cache/purge", o.guarded(http.HandlerFunc(o.purgeCache)))
	if o.reset != nil {
		mux.Handle("POST /demo/reset", o.guarded(http.HandlerFunc(o.resetDemo)))
	}
	if o.differences != nil {
		mux.Handle("GET /shadow", o.guarded(o.differences))
	}
	if o.profiles {
		// The package registers them with http.DefaultServeMux too, which no server of
		// ours has for its handler.
		for path, profile := range map[string]http.HandlerFunc{
			"/debug/pprof/": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
			"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
		} {
			mux.Handle("GET "+path, o.guarded(profile))
		}
	}
	return http.NewCrossOriginProtection().Handler(o.onLoopback(mux))
}

// onLoopback refuses requests for another host than this machine where no token is
// asked for: a site can let its own name resolve to 127.0.0.1, and its pages are then of
// the same origin as this port. Only programs send no Host.
func (o *ops) onLoopback(next http.Handler) http.Handler {
	if o.token != "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "" && !isLoopback(r.Host) {
			http.Error(w, "without ops.token this port answers only to localhost, 127.0.0.1 and [::1] as the host of the URL", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether a Host, with or without a port, is this machine.
func isLoopback(host string) bool {
	name := host
	if without, _, err := net.SplitHostPort(host); err == nil {
		name = without
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

func (o *ops) guarded(next http.Handler) http.Handler {
	if o.token == "" {
		return next
	}
	want := []byte("Bearer " + o.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "this port asks for the token of ops.token: Authorization: Bearer …", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// closing tells the clients of next, while the program drains, to come back over
// another connection, which whoever spreads them gives to another server. No
// connection is closed under a request that is on its way, as it would be by
// closing those that seem idle.
func (o *ops) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.draining.Load() {
			w.Header().Set("Connection", "close") // over HTTP/2, GOAWAY
		}
		next.ServeHTTP(w, r)
	})
}

// ready fails while the program drains, and while neither the upstream nor the cache
// can answer anything.
func (o *ops) ready(w http.ResponseWriter, r *http.Request) {
	if o.draining.Load() {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	switch err := o.ping(ctx); {
	case err == nil:
		fmt.Fprintln(w, "ready")
	case o.keepsReplies():
		fmt.Fprintln(w, "ready, with replies of the cache: upstream unavailable")
	default:
		http.Error(w, "upstream unavailable", http.StatusServiceUnavailable)
	}
}

func (o *ops) purgeCache(w http.ResponseWriter, r *http.Request) {
	if err := o.purge(r.Context()); err != nil {
		http.Error(w, "purged here; other replicas follow when Redis can be reached again", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "purged")
}

func (o *ops) resetDemo(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	if err := o.reset(r.Context()); err != nil {
		http.Error(w, "the demo store could not be reset; see the log", http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "reset in %s\n", time.Since(start).Round(time.Millisecond))
}
