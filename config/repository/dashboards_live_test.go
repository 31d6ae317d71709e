package repository

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestDashboardsLive lets a real Prometheus scrape three processes, which have all metrics
// together, and runs every query of the dashboard and the rules: each must return data. Counters
// of rare events must exist at 0 before the first event; otherwise panels would look broken, and
// alerts would miss the first event. Exemplars and native histograms must arrive, too.
func TestDashboardsLive(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	testenv.Need(t, "prometheus")
	const token = "0123456789abcdef"
	common := []string{"PORTICO_OPS_TOKEN=" + token, "PORTICO_LOG_LEVEL=error"}
	p := apptest.Start(t, append(common, "PORTICO_CACHE_REDIS_URL="+apptest.NewRedis(t).URL()), "--demo")
	underLoad(t, p.Contract)
	ops := []string{p.Ops, startMigrating(t, p.Contract, common).Ops, startBackedUp(t, common).Ops}
	prometheus := startPrometheus(t, token, "exemplar-storage", ops...)
	native := startPrometheus(t, token, "exemplar-storage,native-histograms", ops...)
	for _, server := range []*prometheusServer{prometheus, native} {
		testenv.Await(t, "a scrape of all processes", func() bool { return len(server.query(t, `up{job="portico"} == 1`)) == len(ops) })
	}

	d := readDashboard(t)
	recorded, alerts := readRules(t, "rules.yml"), readRules(t, "alerts.yml")
	queries := queriesOf(d)
	for _, r := range recorded {
		queries = append(queries, metricQuery{where: "rule " + r.Record, expr: r.Record})
	}
	for _, a := range alerts {
		queries = append(queries, metricQuery{where: "alert " + a.Alert, expr: wouldFire(a.Expr)})
	}

	t.Run("data", func(t *testing.T) {
		// The variable's values, from the query that is in the dashboard.
		var instances []string
		for _, variable := range d.Templating.List {
			if of := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(variable.Definition); of != nil && variable.Name == "instance" {
				instances = prometheus.labelValues(t, of[2], of[1])
			}
		}
		if len(instances) != len(ops) {
			t.Fatalf("the dashboard finds the replicas %q, want %d", instances, len(ops))
		}
		legend := regexp.MustCompile(`\{\{(\w+)\}\}`)
		without := map[string]metricQuery{}
		for _, q := range queries {
			q.expr = asGrafana(q.expr, instances)
			if strings.Contains(q.expr, "$") {
				t.Errorf("%s has a variable that the dashboard does not have: %s", q.where, q.expr)
				continue
			}
			without[q.where] = q
		}
		if !testenv.Poll(t, func() bool {
			for where, q := range without {
				if slices.ContainsFunc(prometheus.query(t, q.expr), sample.number) {
					delete(without, where)
				}
			}
			return len(without) == 0
		}) {
			for _, where := range slices.Sorted(maps.Keys(without)) {
				t.Errorf("%s has no data: %s", where, without[where].expr)
			}
		}
		for _, q := range queries {
			for _, label := range legend.FindAllStringSubmatch(q.legend, -1) {
				for _, s := range prometheus.query(t, asGrafana(q.expr, instances)) {
					if _, ok := s.Metric[label[1]]; !ok {
						t.Errorf("%s has no label %s for its legend", q.where, label[1])
						break
					}
				}
			}
		}
	})

	// By now every call of the load has been made and counted.
	t.Run("names", func(t *testing.T) {
		families, shown := map[string]string{}, map[string]bool{}
		for _, one := range ops {
			metrics := apptest.Send(t, http.MethodGet, one+"/metrics", "", "Authorization", "Bearer "+token)
			if metrics.Status != http.StatusOK {
				t.Fatalf("/metrics: %d %s", metrics.Status, metrics.Body)
			}
			maps.Copy(families, metricFamilies(metrics.Body))
		}
		for _, r := range recorded {
			checkNames(t, metricQuery{where: "expression of rule " + r.Record, expr: r.Expr}, recorded, families)
		}
		for _, q := range queries {
			checkNames(t, q, recorded, families)
		}
		for _, q := range queriesOf(d) {
			for _, name := range metricNames(q.expr) {
				shown[family(name, families)] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(families)) {
			if strings.HasPrefix(name, "portico_") && !shown[name] {
				t.Errorf("no panel of the dashboard shows %s", name)
			}
		}
	})

	t.Run("exemplars", func(t *testing.T) {
		for name, server := range map[string]*prometheusServer{"classic": prometheus, "native": native} {
			testenv.Await(t, "an exemplar for the "+name+" Prometheus", func() bool {
				got := apptest.Send(t, http.MethodGet, p.Contract+"/api/rest/products/1", "", "Accept", "application/json", "traceparent", sampledTrace)
				return got.Status == http.StatusOK && slices.Contains(server.exemplars(t, "portico_request_duration_seconds_bucket", "trace_id"), sampledTraceID) ||
					slices.Contains(server.exemplars(t, "portico_request_duration_seconds", "trace_id"), sampledTraceID)
			})
		}
	})

	t.Run("native histograms", func(t *testing.T) {
		for _, metric := range []string{"portico_request_duration_seconds", "portico_upstream_call_duration_seconds", "portico_backend_request_duration_seconds"} {
			testenv.Await(t, metric, func() bool { return len(native.query(t, "histogram_count("+metric+") > 0")) > 0 })
			if len(prometheus.query(t, metric+"_bucket")) == 0 {
				t.Errorf("%s has no classic buckets for a Prometheus that takes no native histograms", metric)
			}
		}
	})
}

// A trace as a client names it.
const (
	sampledTraceID = "0af7651916cd43dd8448eb211c80319c"
	sampledTrace   = "00-" + sampledTraceID + "-b7ad6b7169203331-01"
)

// startMigrating starts a process in front of the legacy store at legacy, with shadow reads,
// recordings and mirrored writes. The legacy store's database cannot be reached.
func startMigrating(t *testing.T, legacy string, environ []string) *apptest.Process {
	t.Helper()
	folder := t.TempDir()
	environ = slices.Concat(environ, apptest.LegacyConsumer(), []string{
		apptest.RoutesFile(t, "resource: all, calls: reads, to: portico, shadow: true", "resource: all, calls: writes, to: portico, mirror: true", "resource: outside, to: legacy"),
		"PORTICO_SQL_DSN=sqlite:" + filepath.Join(folder, "store.db"), "PORTICO_SQL_MEDIA_DIR=" + folder,
		"PORTICO_LEGACY_URL=" + legacy, "PORTICO_FOLLOW_DSN=mysql:shop@tcp(127.0.0.1:1)/shop", "PORTICO_RECORD_DIR=" + folder,
	})
	p := apptest.Start(t, environ)
	guest := apptest.NewClient(t, p.Contract, "")
	keepCalling(t, 200*time.Millisecond, func(ctx context.Context, _ int) bool {
		// The empty store answers differently.
		if got, err := guest.Call(ctx, http.MethodGet, "/products", ""); ctx.Err() == nil && (err != nil || got.Status != http.StatusOK) {
			t.Errorf("a shadowed read: %d %s %v", got.Status, got.Body, err)
			return false
		}
		return true
	})
	return p
}

// startBackedUp starts a process in front of a backend that does not answer, with a certificate.
func startBackedUp(t *testing.T, environ []string) *apptest.Process {
	t.Helper()
	folder := t.TempDir()
	return apptest.Start(t, slices.Concat(environ, apptest.NewKeyFolder(t, apptest.NewKeyPair(t, 30*24)).Environ(), []string{
		"PORTICO_SQL_DSN=sqlite:" + filepath.Join(folder, "replica.db"), "PORTICO_SQL_MEDIA_DIR=" + folder,
		"PORTICO_ADAPTER=" + "rest", "PORTICO_REST_URL=http://127.0.0.1:1", "PORTICO_REST_USER=u", "PORTICO_REST_SECRET=s", "PORTICO_REST_SCAN_EVERY=1s",
		"PORTICO_REST_VARS=currency=eur,location=l,region=r,profile=p",
	}))
}

// keepCalling calls call at intervals, each time with another number from 0 on, until it returns
// false, or the test ends and the context with it.
func keepCalling(t *testing.T, interval time.Duration, call func(ctx context.Context, i int) bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		pace := time.NewTicker(interval) // leaves processor time for the program
		defer pace.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-pace.C:
				if !call(ctx, i) {
					return
				}
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// checkNames checks that all metrics in a query exist.
func checkNames(t *testing.T, q metricQuery, recorded []rule, families map[string]string) {
	t.Helper()
	for _, name := range metricNames(q.expr) {
		isRecorded := slices.ContainsFunc(recorded, func(r rule) bool { return r.Record == name })
		if !isRecorded && families[family(name, families)] == "" {
			t.Errorf("%s asks for %s, which the program does not have", q.where, name)
		}
	}
}

// underLoad makes calls of every kind that the metrics distinguish to the server at base,
// until the test ends.
func underLoad(t *testing.T, base string) {
	t.Helper()
	guest, admin := apptest.NewClient(t, base, ""), apptest.NewClient(t, base, apptest.DemoAdmin())
	stranger := apptest.NewClient(t, base, strings.Replace(apptest.DemoAdmin(), "bbbb", "eeee", 1))
	calls := []struct {
		name         string
		by           *apptest.Client
		method, path string
		body         string
		want         int
	}{
		{"a product", guest, http.MethodGet, "/products/1", "", 200},
		{"another product", guest, http.MethodGet, "/products/2", "", 200},
		{"products", guest, http.MethodGet, "/products", "", 200},
		{"images", guest, http.MethodGet, "/products/1/images", "", 200},
		{"no such product", guest, http.MethodGet, "/products/99999", "", 404},
		{"no such path", guest, http.MethodGet, "/nothing", "", 404},
		{"a product of an Admin", admin, http.MethodGet, "/products/1", "", 200},
		{"a list without a limit", admin, http.MethodGet, "/stockitems?limit=0", "", 200},
		{"orders", admin, http.MethodGet, "/orders", "", 200},
		{"customers", admin, http.MethodGet, "/customers", "", 200},
		{"a wrong signature", stranger, http.MethodGet, "/stockitems", "", 401},
		{"a write", admin, http.MethodPut, "/stockitems", `[{"item_id":1,"qty":7}]`, 207},
	}
	keepCalling(t, 10*time.Millisecond, func(ctx context.Context, i int) bool {
		c := calls[i%len(calls)]
		got, err := c.by.Call(ctx, c.method, c.path, c.body)
		if ctx.Err() == nil && (err != nil || got.Status != c.want) {
			t.Errorf("%s: %d %s %v, want %d", c.name, got.Status, got.Body, err, c.want)
			return false
		}
		if i%len(calls) == 0 { // once in each round, a call with a nonce
			address := base + "/api/rest/stockitems/1"
			once := *admin
			once.Authorization = apptest.SignedHeader(http.MethodGet, address, fmt.Sprint("load", i))
			if got, err := once.Call(ctx, http.MethodGet, address, ""); ctx.Err() == nil && (err != nil || got.Status != http.StatusOK) {
				t.Errorf("a signed call: %d %s %v", got.Status, got.Body, err)
				return false
			}
		}
		return true
	})
}
