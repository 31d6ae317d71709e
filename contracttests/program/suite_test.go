package program

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// TestSuite runs the contract suite against Portico with the default cache, outside nightly runs in one
// of the dialects, in turn. -run 'TestSuite/documented/orders' runs the cases of one file.
func TestSuite(t *testing.T) {
	t.Parallel()
	for _, dialect := range testenv.Rows(t, dialects(), 3) {
		t.Run(dialect, func(t *testing.T) {
			target := apptest.StartDemo(t, dialect).Target(t)
			target.Fixtures = apptest.WritableFixtures(t)
			contracttests.Run(t, target)
		})
	}
}

// dialects returns the names of the dialects.
func dialects() (names []string) {
	for _, d := range contracttests.Dialects() {
		names = append(names, string(d))
	}
	return names
}

// TestSuiteOnEngines runs the suite on every other engine in all dialects, in one of them
// with the cache in Redis, which does not depend on engine and dialect.
func TestSuiteOnEngines(t *testing.T) {
	testenv.OnlyNightly(t, "engines")
	t.Parallel()
	if !testenv.Nightly() {
		return
	}
	withRedis := map[string]string{"sqlite": "documented", "postgres": "magento", "mariadb": "documented"}
	for engine, newDSN := range apptest.DemoDatabases(t) {
		for _, dialect := range dialects() {
			for _, cacheIn := range []string{"memory", "redis"} {
				if (cacheIn == "redis") != (dialect == withRedis[engine]) || engine == "sqlite" && cacheIn == "memory" {
					continue // TestSuite runs the last
				}
				t.Run(fmt.Sprintf("%s/%s/%s", engine, dialect, cacheIn), func(t *testing.T) {
					t.Parallel()
					var environ []string
					if cacheIn == "redis" {
						// Without memory every hit comes from Redis.
						environ = []string{"PORTICO_CACHE_MEMORY_TTL=0s", "PORTICO_CACHE_REDIS_URL=" + apptest.NewRedis(t).URL()}
					}
					target := apptest.StartDemoOn(t, newDSN(t), dialect, environ...).Target(t)
					target.Fixtures = apptest.WritableFixtures(t)
					report := runSuite(t, t.Context(), target, contracttests.Options{Parallel: 4})
					if n := report.Count(contracttests.Skipped); n > 0 {
						t.Errorf("%d cases were skipped", n)
					}
				})
			}
		}
	}
}

// runSuite runs the suite and reports failed cases and records that are left behind as
// errors of the test.
func runSuite(t *testing.T, ctx context.Context, target contracttests.Target, o contracttests.Options) *contracttests.Report {
	t.Helper()
	suite := apptest.Suite(t)
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

// TestSuiteLeavesNoTrace checks that the database is unchanged after the suite, complete
// or interrupted, except for the times at which fixtures were restored.
func TestSuiteLeavesNoTrace(t *testing.T) {
	t.Parallel()
	if !testenv.Nightly() {
		return
	}
	for _, test := range []struct {
		name, dialect string
		cases         int // number of cases after which the run is interrupted; 0: never
	}{
		{"whole", "magento", 0},
		{"interrupted", "documented", 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			dsn := demotest.SQLite(t)
			path := strings.TrimPrefix(dsn, "sqlite:")
			demo := apptest.StartDemoOn(t, dsn, test.dialect)
			before := dump(t, path)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			ended := false
			runSuite(t, ctx, demo.Target(t), contracttests.Options{Parallel: 4, Done: func(_ *contracttests.Result, done, _ int) {
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

// dump returns the rows of every table of a SQLite file as texts, without times and
// counters.
func dump(t *testing.T, path string) map[string][]string {
	t.Helper()
	pool := apptest.OpenStore(t, "sqlite", "file:"+path+"?_pragma=query_only(1)&_pragma=busy_timeout(5000)")
	tables := map[string][]string{}
	for _, name := range apptest.SelectTexts(t, pool, "SELECT name FROM sqlite_master WHERE type = 'table'") {
		// The file of a deleted image stays and keeps its name (Product images: DELETE), and nothing
		// removes the request token of a program that was refused.
		if !strings.HasPrefix(name, "sqlite_") && name != "oauth_nonce" && name != "oauth_token" && name != "media_file" {
			tables[name] = rowsOf(t, pool, name)
		}
	}
	if len(tables) < 5 || len(tables["customer"]) == 0 {
		t.Fatalf("%d tables, %d customers: this is no store", len(tables), len(tables["customer"]))
	}
	return tables
}

// rowsOf returns the sorted rows of a table as texts, without updated_at, and without expires_ms, which a
// running program renews.
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
			if columns[i] != "updated_at" && columns[i] != "expires_ms" {
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

// TestSuiteTrustsNoLocation checks that the suite changes no existing record if a server
// reports a wrong Location for everything it creates.
func TestSuiteTrustsNoLocation(t *testing.T) {
	t.Parallel()
	if !testenv.Nightly() {
		return
	}
	dsn := demotest.SQLite(t)
	path := strings.TrimPrefix(dsn, "sqlite:")
	demo := apptest.StartDemoOn(t, dsn, "documented")
	target := demo.Target(t)
	proxy := apptest.ProxyTo(t, demo.Contract)
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
	suite := apptest.Suite(t)
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

// TestSuiteReadOnly checks that a read-only run sends nothing but GET, and passes cases
// for every resource, outside nightly runs in one of the dialects, in turn.
func TestSuiteReadOnly(t *testing.T) {
	t.Parallel()
	for _, dialect := range testenv.Rows(t, dialects(), 3) {
		t.Run(dialect, func(t *testing.T) {
			target := apptest.StartDemo(t, dialect).Target(t)
			proxy := apptest.ProxyTo(t, target.BaseURL)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					t.Errorf("%s %s in a run that only reads", r.Method, r.URL)
				}
				proxy.ServeHTTP(w, r)
			}))
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

// TestSuiteOnOtherStore runs the suite on a store with other ids than the demo store, and
// with more records than fit on a page.
func TestSuiteOnOtherStore(t *testing.T) {
	t.Parallel()
	if !testenv.Nightly() {
		return
	}
	const dialect = "magento"
	data, fixtures := newOtherStore(t)
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "shop.db")
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: dsn, Migrate: true})
	if err := errors.Join(db.Load(t.Context(), data, nil), db.Close()); err != nil {
		t.Fatal(err)
	}
	target := apptest.StartDemoOn(t, dsn, dialect).Target(t)
	target.Fixtures = fixtures
	report := runSuite(t, t.Context(), target, contracttests.Options{Parallel: 4, Skip: func(id string) string {
		if strings.HasPrefix(id, "oauth/") {
			return "this store has no consumer that asks for consent"
		}
		return ""
	}})
	for _, r := range report.Results {
		if r.Status == contracttests.Skipped && r.Resource != "oauth" {
			t.Errorf("%s was skipped", r.ID())
		}
	}
}

// idShift is added to the ids of the demo store.
const idShift = 1000

// shiftIDs adds idShift to the ids in a value of a data set or of fixtures. Numbers of the
// shop's configuration, such as groups and tax classes, stay.
func shiftIDs(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = shiftIDs(key, v[key])
		}
	case []any:
		for i := range v {
			v[i] = shiftIDs(name, v[i])
		}
	case float64:
		if v > 0 && slices.Contains([]string{
			"entity_id", "customer_id", "order_id", "parent_id", "product_id", "website_id", "websites", "store_id", "default_store_id", "category_id", "item_id",
			"id", "website", "store", "second_store", "other_website", "other_store", "category", "second_category",
			"empty_category", "product", "products",
		}, name) {
			return v + idShift
		}
	}
	return value
}

// newOtherStore returns a store like the demo store with other ids and many more customers
// and products, and the fixtures for it.
func newOtherStore(t *testing.T) (*adapter.Dataset, contracttests.Fixtures) {
	t.Helper()
	var shop map[string]any
	apptest.Parse(t, apptest.ReadFile(t, filepath.Join("..", "..", "adapter", "dataset", "dataset.json")), &shop)
	shiftIDs("", shop)
	for _, kind := range []struct{ records, named, form string }{{"customers", "email", "%d@elsewhere.example"}, {"products", "sku", "elsewhere-%d"}} {
		records := shop[kind.records].([]any)
		for i := range 120 {
			record := maps.Clone(records[0].(map[string]any))
			record["entity_id"] = float64(2*idShift + i)
			record[kind.named] = fmt.Sprintf(kind.form, i)
			records = append(records, record)
		}
		shop[kind.records] = records
	}
	file, err := json.Marshal(shop)
	if err != nil {
		t.Fatal(err)
	}
	data, err := dataset.Decode(bytes.NewReader(file), adapter.NewSchemas(), nil)
	if err != nil {
		t.Fatal(err)
	}
	data.Public = true

	var fixtureFile map[string]any
	if err := yaml.Unmarshal(bytes.ReplaceAll(contracttests.DemoFixtureFile(), []byte("writable: false"), []byte("writable: true")), &fixtureFile); err != nil {
		t.Fatal(err)
	}
	if file, err = json.Marshal(fixtureFile); err != nil {
		t.Fatal(err)
	}
	apptest.Parse(t, string(file), &fixtureFile) // numbers as in the data set
	shiftIDs("", fixtureFile)
	if file, err = json.Marshal(fixtureFile); err != nil {
		t.Fatal(err)
	}
	fixtures, err := contracttests.ParseFixtures(file)
	if err != nil {
		t.Fatal(err)
	}
	return data, fixtures
}
