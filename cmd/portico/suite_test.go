package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// TestSuite runs the contract suite against Portico in both dialects, as the
// program keeps replies by default. -run 'TestSuite/documented/orders' runs the
// cases of one file.
func TestSuite(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects() {
		t.Run(dialect, func(t *testing.T) {
			target := demoTarget(t, dialect)
			target.Fixtures = throwawayFixtures(t)
			contracttests.Run(t, target)
		})
	}
}

func dialects() []string { return []string{"documented", "magento"} }

// alreadyRun reports whether TestSuite is enough: with -short, which is for the race
// detector. The others run the same code on other data.
func alreadyRun() bool { return !nightly.Whole() }

// TestSuiteOnEngines runs the suite on every other engine in both dialects, in one of
// them with replies kept in Redis: what is kept there knows neither the engine nor the
// dialect.
func TestSuiteOnEngines(t *testing.T) {
	nightly.Only(t, "engines")
	t.Parallel()
	if alreadyRun() {
		return
	}
	withRedis := map[string]string{"sqlite": "documented", "postgres": "magento", "mariadb": "documented"}
	for engine, newDSN := range newDatabases() {
		for _, dialect := range dialects() {
			for _, kept := range []string{"memory", "redis"} {
				if (kept == "redis") != (dialect == withRedis[engine]) || engine == "sqlite" && kept == "memory" {
					continue // TestSuite runs the last
				}
				t.Run(fmt.Sprintf("%s/%s/%s", engine, dialect, kept), func(t *testing.T) {
					t.Parallel()
					var environ []string
					if kept == "redis" {
						// Memory keeps nothing, so that every hit comes from Redis.
						environ = []string{"PORTICO_CACHE_MEMORY_TTL=0s", "PORTICO_CACHE_REDIS_URL=" + startRedis(t)}
					}
					a, server := startDemoWith(t, sqlstore.Options{DSN: newDSN(t), MediaDir: t.TempDir(), Migrate: true}, dialect, environ...)
					target := targetOf(t, a, server, dialect)
					target.Fixtures = throwawayFixtures(t)
					report := runSuite(t, t.Context(), target, contracttests.Options{Parallel: 4})
					if n := report.Count(contracttests.Skipped); n > 0 {
						t.Errorf("%d cases were skipped", n)
					}
				})
			}
		}
	}
}

// throwawayFixtures are those of the demo store where no comment is too many.
func throwawayFixtures(t *testing.T) contracttests.Fixtures {
	t.Helper()
	file := bytes.ReplaceAll(contracttests.DemoFixtureFile(), []byte("writable: false"), []byte("writable: true"))
	fixtures, err := contracttests.ParseFixtures(file)
	if err != nil {
		t.Fatal(err)
	}
	return fixtures
}

// runSuite runs the suite and fails the test with what failed in it.
func runSuite(t *testing.T, ctx context.Context, target contracttests.Target, o contracttests.Options) *contracttests.Report {
	t.Helper()
	suite, err := contracttests.NewSuite()
	if err != nil {
		t.Fatal(err)
	}
	report, err := suite.Run(ctx, target, o)
	if err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	for _, r := range report.Results {
		if r.Status == contracttests.Failed {
			t.Errorf("%s\n%s", r.ID(), r.Failure)
		}
	}
	for _, left := range report.Leftovers {
		t.Errorf("left behind: %s", left)
	}
	if len(report.Results) == 0 {
		t.Error("no case was run")
	}
	return report
}

// TestSuiteLeavesNoTrace: after the suite, and after one that is interrupted, the
// database holds what it held before, but for the time at which fixtures were put
// back.
func TestSuiteLeavesNoTrace(t *testing.T) {
	t.Parallel()
	if alreadyRun() {
		return
	}
	for _, test := range []struct {
		name, dialect string
		cases         int // after which the run is interrupted; 0: never
	}{
		{"whole", "magento", 0},
		{"interrupted", "documented", 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "demo.db")
			a, server := startDemoOn(t, "sqlite:"+path, test.dialect)
			before := dump(t, path)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			ended := false
			runSuite(t, ctx, targetOf(t, a, server, test.dialect), contracttests.Options{Parallel: 4, Done: func(_ *contracttests.Result, done, _ int) {
				if done == test.cases {
					ended = true
					interrupt()
				}
			}})
			if ended != (test.cases > 0) {
				t.Errorf("interrupted: %t", ended)
			}
			if diff := cmp.Diff(before, dump(t, path)); diff != "" {
				t.Errorf("the store has changed:\n%s", diff)
			}
		})
	}
}

// dump returns the rows of every table of a SQLite file, each as a text, without
// what time and counting leave behind.
func dump(t *testing.T, path string) map[string][]string {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=query_only(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	tables := map[string][]string{}
	names, err := pool.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		t.Fatal(err)
	}
	for names.Next() {
		var name string
		if err := names.Scan(&name); err != nil {
			t.Fatal(err)
		}
		// The file of a deleted image stays and keeps its name (Product images: DELETE).
		if !strings.HasPrefix(name, "sqlite_") && name != "oauth_nonce" && name != "media_file" {
			tables[name] = nil
		}
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	for name := range tables {
		tables[name] = rowsOf(t, pool, name)
	}
	if len(tables) < 5 || len(tables["customer"]) == 0 {
		t.Fatalf("%d tables, %d customers: this is no store", len(tables), len(tables["customer"]))
	}
	return tables
}

func rowsOf(t *testing.T, pool *sql.DB, table string) []string {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		var row strings.Builder
		for i, value := range values {
			if columns[i] != "updated_at" {
				fmt.Fprintf(&row, "%s=%v ", columns[i], *value.(*any))
			}
		}
		all = append(all, row.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// TestSuiteTrustsNoLocation: a server that says of everything that it made the first
// record of the store does not have that changed or deleted.
func TestSuiteTrustsNoLocation(t *testing.T) {
	t.Parallel()
	if alreadyRun() {
		return
	}
	path := filepath.Join(t.TempDir(), "demo.db")
	a, server := startDemoOn(t, "sqlite:"+path, "documented")
	target := targetOf(t, a, server, "documented")
	upstream, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	proxy.ModifyResponse = func(r *http.Response) error {
		if location := r.Header.Get("Location"); location != "" {
			r.Header.Set("Location", location[:strings.LastIndexByte(location, '/')+1]+"1")
		}
		return nil
	}
	liar := httptest.NewServer(proxy)
	t.Cleanup(liar.Close)
	target.BaseURL = liar.URL
	before := dump(t, path)
	suite, err := contracttests.NewSuite()
	if err != nil {
		t.Fatal(err)
	}
	report, err := suite.Run(t.Context(), target, contracttests.Options{Parallel: 4})
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(contracttests.Failed) < 100 || len(report.Leftovers) == 0 {
		t.Errorf("%d cases failed, and %d things are left behind", report.Count(contracttests.Failed), len(report.Leftovers))
	}
	after := dump(t, path)
	for table, rows := range before {
		for _, row := range rows {
			if !slices.Contains(after[table], row) {
				t.Errorf("%s has no longer %s", table, row)
			}
		}
	}
}

// TestSuiteReadOnly: a run that may only read sends nothing but GET, and finds
// something to look at for every resource.
func TestSuiteReadOnly(t *testing.T) {
	for _, dialect := range dialects() {
		t.Run(dialect, func(t *testing.T) {
			target := demoTarget(t, dialect)
			upstream, err := url.Parse(target.BaseURL)
			if err != nil {
				t.Fatal(err)
			}
			proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				if r.In.Method != http.MethodGet {
					t.Errorf("%s %s in a run that only reads", r.In.Method, r.In.URL)
				}
				r.SetURL(upstream)
				r.Out.Host = r.In.Host
			}}
			server := httptest.NewServer(proxy)
			t.Cleanup(server.Close)
			target.BaseURL = server.URL
			report := runSuite(t, t.Context(), target, contracttests.Options{Parallel: 4, ReadOnly: true})
			passed := map[string]int{}
			for _, r := range report.Results {
				if r.Status == contracttests.Passed {
					passed[r.Resource]++
				}
			}
			for _, r := range report.Results {
				if passed[r.Resource] == 0 {
					t.Errorf("nothing of %s can be looked at without writing", r.Resource)
					passed[r.Resource] = 1
				}
			}
		})
	}
}

// TestSuiteElsewhere runs the suite on a store whose ids are not those of the demo,
// and which has more records than a page shows. No dialect knows of ids.
func TestSuiteElsewhere(t *testing.T) {
	t.Parallel()
	if alreadyRun() {
		return
	}
	const dialect = "magento"
	data, fixtures := elsewhere(t)
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "shop.db"), MediaDir: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	a, server := serveApp(t, db, data, dialect)
	target := targetOf(t, a, server, dialect)
	target.Fixtures = fixtures
	report := runSuite(t, t.Context(), target, contracttests.Options{Parallel: 4})
	if n := report.Count(contracttests.Skipped); n > 0 {
		t.Errorf("%d cases were skipped", n)
	}
}

// moved is how far the ids of the other store are from those of the demo.
const moved = 1000

// move returns a value of a data set or of fixtures with the ids in it moved. What a
// shop's configuration numbers, such as groups and tax classes, stays.
func move(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = move(key, v[key])
		}
	case []any:
		for i := range v {
			v[i] = move(name, v[i])
		}
	case float64:
		if v > 0 && slices.Contains([]string{
			"entity_id", "customer_id", "order_id", "parent_id", "product_id", "website_id", "websites", "store_id", "default_store_id", "category_id", "item_id",
			"id", "website", "store", "second_store", "other_website", "other_store", "category", "second_category",
			"empty_category", "product", "products",
		}, name) {
			return v + moved
		}
	}
	return value
}

// elsewhere returns a store like the demo but with other ids, and with many more
// customers and products, and what of it the suite must be told.
func elsewhere(t *testing.T) (*adapter.Dataset, contracttests.Fixtures) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "..", "adapter", "demo", "dataset.json"))
	if err != nil {
		t.Fatal(err)
	}
	var shop map[string]any
	if err := json.Unmarshal(file, &shop); err != nil {
		t.Fatal(err)
	}
	move("", shop)
	for _, kind := range []struct{ records, named, form string }{{"customers", "email", "%d@elsewhere.example"}, {"products", "sku", "elsewhere-%d"}} {
		records := shop[kind.records].([]any)
		for i := range 120 {
			record := maps.Clone(records[0].(map[string]any))
			record["entity_id"] = float64(2*moved + i)
			record[kind.named] = fmt.Sprintf(kind.form, i)
			records = append(records, record)
		}
		shop[kind.records] = records
	}
	if file, err = json.Marshal(shop); err != nil {
		t.Fatal(err)
	}
	data, err := demo.Decode(bytes.NewReader(file), adapter.NewSchemas())
	if err != nil {
		t.Fatal(err)
	}
	data.Public = true

	var told map[string]any
	if err := yaml.Unmarshal(bytes.ReplaceAll(contracttests.DemoFixtureFile(), []byte("writable: false"), []byte("writable: true")), &told); err != nil {
		t.Fatal(err)
	}
	if file, err = json.Marshal(told); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &told); err != nil { // numbers as in the data set
		t.Fatal(err)
	}
	move("", told)
	if file, err = json.Marshal(told); err != nil {
		t.Fatal(err)
	}
	fixtures, err := contracttests.ParseFixtures(file)
	if err != nil {
		t.Fatal(err)
	}
	return data, fixtures
}
