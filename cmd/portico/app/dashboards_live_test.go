package app

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests/nightly"
	"github.com/portico-commerce/portico/contracttests/programs"
)

// TestDashboardsLive lets a real Prometheus scrape the program under load, and runs every
// query of the dashboard and the rules: each must return data. Counters of rare events
// must exist at 0 before the first event; otherwise panels would look broken, and alerts
// would miss the first event.
func TestDashboardsLive(t *testing.T) {
	nightly.Only(t, "faults")
	programs.Need(t, "prometheus")
	const token = "0123456789abcdef"
	p := start(t, []string{"PORTICO_OPS_TOKEN=" + token, "PORTICO_CACHE_REDIS_URL=" + startRedis(t), "PORTICO_LOG_LEVEL=warn"}, "--demo")
	underLoad(t, p.contract)
	prometheus := startPrometheus(t, p.ops, token)
	pollUntil(t, "a scrape", func() bool { return len(prometheus.query(t, `up{job="portico"} == 1`)) == 1 })

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
		if len(instances) != 1 {
			t.Fatalf("the dashboard finds the replicas %q, want one", instances)
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
		if !poll(func() bool {
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
		metrics := send(t, http.MethodGet, p.ops+"/metrics", "", "Authorization", "Bearer "+token)
		if metrics.status != http.StatusOK {
			t.Fatalf("/metrics: %d %s", metrics.status, metrics.body)
		}
		families, shown := metricFamilies(metrics.body), map[string]bool{}
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
	ctx, cancel := context.WithCancel(t.Context())
	guest, admin := newClient(t, base, ""), newClient(t, base, demoAdmin())
	stranger := newClient(t, base, strings.Replace(demoAdmin(), "bbbb", "eeee", 1))
	calls := []struct {
		name         string
		by           *client
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
	var running sync.WaitGroup
	running.Go(func() {
		pace := time.NewTicker(10 * time.Millisecond) // leaves processor time for the program
		defer pace.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-pace.C:
			}
			c := calls[i%len(calls)]
			got, err := c.by.call(ctx, c.method, c.path, c.body)
			if ctx.Err() == nil && (err != nil || got.status != c.want) {
				t.Errorf("%s: %d %s %v, want %d", c.name, got.status, got.body, err, c.want)
				return
			}
			if i%len(calls) == 0 { // once in each round, a call with a nonce
				address := base + "/api/rest/stockitems/1"
				once := *admin
				once.authorization = signedHeader(http.MethodGet, address, fmt.Sprint("load", i))
				if got, err := once.call(ctx, http.MethodGet, address, ""); ctx.Err() == nil && (err != nil || got.status != http.StatusOK) {
					t.Errorf("a signed call: %d %s %v", got.status, got.body, err)
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

// poll calls done repeatedly and reports whether it returned true in time.
func poll(done func() bool) bool {
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for guard := time.Now().Add(2 * waitTimeout); time.Now().Before(guard); <-again.C {
		if done() {
			return true
		}
	}
	return false
}

// pollUntil fails the test unless done returns true in time. what describes the condition.
func pollUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	if !poll(done) {
		t.Fatalf("there never is %s", what)
	}
}

// startRedis runs a Redis without persistence on a free port until the test ends, and
// returns its URL.
func startRedis(t *testing.T) string {
	t.Helper()
	programs.Need(t, "redis-server")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	p := launchProgram(t, "redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no")
	p.stdout.await(t, p, "Ready to accept connections")
	return "redis://127.0.0.1:" + port
}
