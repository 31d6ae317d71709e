package app

import (
	"context"
	"crypto/subtle"
	"encoding/json"
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
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	webconsole "github.com/portico-commerce/portico/cmd/portico/app/console"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// ops serves the operators' port.
type ops struct {
	token    string
	registry *prometheus.Registry
	ping     func(context.Context) error
	// hasCachedReplies reports whether the cache may hold replies that can be served
	// without the upstream.
	hasCachedReplies func() bool
	purge            func(context.Context) error // drops all cached replies
	reset            func(context.Context) error // restores the demo store and clears the caches; nil: not a demo
	restore          func(context.Context) error // the part of reset that changes the database
	pprof            bool                        // whether profiles are served
	shadowSamples    http.HandlerFunc            // samples of differences
	migration        http.HandlerFunc            // the Status
	reference        func() *interfaceReference  // in force
	// reload reads the configuration again on behalf of by, a phrase for the log; nil: not offered.
	// It returns the changed settings, or the reason why it applied none of them.
	reload   func(by string) (changed []string, err error)
	draining atomic.Bool
	console  *webconsole.Console // nil: no console
	// contractAddress is the address of the contract's port; "" before it listens.
	contractAddress string
}

// registerBuildInfo registers a metric with the constant value 1, whose labels describe the
// build.
func registerBuildInfo(registerer prometheus.Registerer, p *program.Program, dialect, adapter string) {
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "portico_build_info",
		Help:        "1, with the version of the program, the Go it was built with, its dialect and its adapter.",
		ConstLabels: prometheus.Labels{"version": p.Build.Version, "go": runtime.Version(), "dialect": dialect, "adapter": adapter},
	}, func() float64 { return 1 })
}

// handler returns the handler of the operators' port. Everything but health and readiness
// requires the token, if one is set; the console has a log-in for it. Requests from web pages of other sites are refused,
// because a browser on this machine may show such a page.
func (o *ops) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", o.serveReady)
	mux.Handle("GET /metrics", o.requireToken(promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})))
	mux.Handle("POST /cache/purge", o.requireToken(http.HandlerFunc(o.purgeCache)))
	if o.reset != nil {
		mux.Handle("POST /demo/reset", o.requireToken(http.HandlerFunc(o.resetDemo)))
	}
	mux.Handle("GET /shadow", o.requireToken(o.shadowSamples))
	mux.Handle("GET /migration", o.requireToken(o.migration))
	// It has no secret, but shows the fields that the store has added and withheld.
	mux.Handle("GET /openapi.json", o.requireToken(http.HandlerFunc(o.serveOpenAPI)))
	if o.reload != nil {
		mux.Handle("POST /reload", o.requireToken(http.HandlerFunc(o.reloadConfig)))
	}
	if o.console != nil {
		for _, pattern := range o.console.Paths() {
			mux.Handle(pattern, o.console)
		}
	}
	if o.pprof {
		// Package pprof also registers them with http.DefaultServeMux, but no server of the program
		// uses that handler.
		for path, profile := range map[string]http.HandlerFunc{
			"/debug/pprof/": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
			"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
		} {
			mux.Handle("GET "+path, o.requireToken(profile))
		}
	}
	return privately(http.NewCrossOriginProtection().Handler(o.requireLoopbackHost(mux)))
}

// memoryProfileRate is the number of bytes between two samples of a profile of memory, by default.
const memoryProfileRate = 512 << 10

// WithoutMemoryProfile ends the sampling of memory until a server offers profiles (ops.pprof): nobody could read the
// samples, which take three percent of the processor time of a long list. Call it first in a main function that offers
// no profiles of its own. A rate that GODEBUG sets stays.
func WithoutMemoryProfile() {
	if runtime.MemProfileRate == memoryProfileRate {
		runtime.MemProfileRate = 0
	}
}

// offerMemoryProfile begins the sampling of memory, if it has been ended.
func offerMemoryProfile() {
	if runtime.MemProfileRate == 0 {
		runtime.MemProfileRate = memoryProfileRate
	}
}

// privately prevents browsers and proxies from storing replies of next, and from guessing another
// media type, unless a handler sets other headers.
func privately(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// requireLoopbackHost refuses requests whose Host is not this machine, if no token is set.
// Otherwise a web site could let its own name resolve to 127.0.0.1, and its pages would
// have the same origin as this port. Requests without a Host are served, because no
// browser sends them.
func (o *ops) requireLoopbackHost(next http.Handler) http.Handler {
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

// isLoopback reports whether the value of a Host header, with or without a port, is a name
// or address of the loopback interface.
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

// requireToken refuses requests without the token, if one is set.
func (o *ops) requireToken(next http.Handler) http.Handler {
	if o.token == "" {
		return next
	}
	want := []byte("Bearer " + o.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "this port requires the token of the setting ops.token: Authorization: Bearer …", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveReady answers 503 while the program drains, and while neither the upstream nor the
// cache can answer calls.
func (o *ops) serveReady(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), program.ReadyTimeout)
	defer cancel()
	ready, answer := o.ready(ctx)
	if !ready {
		http.Error(w, answer, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, answer)
}

// ready reports whether the program can answer calls, and returns its answer to a load balancer.
func (o *ops) ready(ctx context.Context) (ready bool, answer string) {
	switch {
	case o.draining.Load():
		return false, "draining"
	case o.ping(ctx) == nil:
		return true, "ready"
	case o.hasCachedReplies():
		return true, "ready, with replies of the cache: upstream unavailable"
	}
	return false, "upstream unavailable"
}

// purgeCache drops all cached replies and lists.
func (o *ops) purgeCache(w http.ResponseWriter, r *http.Request) {
	if err := o.purge(r.Context()); err != nil {
		http.Error(w, "purged here; other replicas follow when Redis can be reached again", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "purged")
}

// reloadConfig reads the configuration again. It answers 200 with the changed settings, or
// 409 with the faults if the former configuration remains in force.
func (o *ops) reloadConfig(w http.ResponseWriter, r *http.Request) {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	changed, err := o.reload("client " + client)
	status, answer := http.StatusOK, any(struct {
		Changed []string `json:"changed"`
	}{append([]string{}, changed...)})
	if err != nil {
		status, answer = http.StatusConflict, struct {
			Faults config.Faults `json:"faults"`
		}{program.Faults(err)}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(answer) // fails only if the client has disconnected
}

// resetDemo restores the demo data set.
func (o *ops) resetDemo(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	if err := o.reset(r.Context()); err != nil {
		http.Error(w, "the demo store could not be reset; see the log", http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "reset in %s\n", time.Since(start).Round(time.Millisecond))
}
