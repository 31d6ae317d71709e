//go:build linux

package speed

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/mapping/contract"
)

// BenchmarkCatalog reads a large catalog over HTTP, without a cache of replies. The times of calls
// that are compared take turns.
//
// Pages, for a Guest with ten records a page, and for an Admin with a hundred:
//
//	page-1-ms, page-1-p99-ms  the first page: median, and 99th percentile
//	page-5000/page-1          page 5,000 as a client sees it that reads it again
//	walked/page-1             pages from 5,000 on, one after the other
//	cold/page-1               pages from 5,000 on, each after a write of a product, which ends all known positions
//	direct/page-1             pages from 6,000 on, each for the first time and none after the one
//	                          before it
//	last/page-1               the last page, again
//	last-first-ms             the last page, when the server first hears of it
//	read-ms, read-p99-ms      one product by its id
//	peak-MB                   maximum of the resident memory of the server
//
// Filters logs how long a list takes that is filtered by each field, as a multiple of a read by id.
// Labels compares lists in the order of the labels of options with lists in the order of SKUs.
// Streams reads lists without a limit: number of products, resident memory before, and by how much it
// has grown at most.
func BenchmarkCatalog(b *testing.B) {
	if *products == 0 {
		b.Skip("needs -products")
	}
	dsn := newCatalog(b)
	b.Run("Pages", func(b *testing.B) { benchmarkPages(b, dsn) })
	b.Run("Filters", func(b *testing.B) { benchmarkFilters(b, dsn) })
	b.Run("Streams", func(b *testing.B) { benchmarkStreams(b, dsn) })
	b.Run("Labels", func(b *testing.B) { benchmarkLabels(b, dsn) })
	b.Run("Start", func(b *testing.B) { benchmarkStart(b, dsn) })
	b.Run("Cached", func(b *testing.B) { benchmarkCached(b, dsn) })
	b.Run("Sweep", func(b *testing.B) { benchmarkSweep(b, dsn) })
}

// serveCatalog serves a database without a cache of replies, and without limits that a large catalog
// would reach.
func serveCatalog(b *testing.B, dsn string, environ ...string) *apptest.Process {
	b.Helper()
	return apptest.Start(b, append([]string{
		"PORTICO_SQL_DSN=" + dsn, apptest.WithoutReplyCache, "PORTICO_SERVER_WRITE_TIMEOUT=24h", "PORTICO_UPSTREAM_TIMEOUT=20s",
		fmt.Sprintf("PORTICO_LISTS_MAX_ROWS=%d", *products),
	}, environ...))
}

// clients returns the clients of a server by role.
func clients(b *testing.B, p *apptest.Process) map[string]*apptest.Client {
	b.Helper()
	all := map[string]*apptest.Client{"guest": apptest.NewClient(b, p.Contract, ""), "admin": apptest.NewClient(b, p.Contract, apptest.DemoAdmin())}
	for _, c := range all {
		c.HTTP.Timeout = time.Minute
	}
	return all
}

// benchmarkPages measures pages of lists, and single reads.
func benchmarkPages(b *testing.B, dsn string) {
	p := serveCatalog(b, dsn)
	all := clients(b, p)
	for role, client := range all {
		b.Run(role, func(b *testing.B) {
			limit := map[string]int{"guest": 10, "admin": 100}[role]
			page := func(n int) { mustGet(b, client, fmt.Sprintf("/products?limit=%d&page=%d", limit, n)) }
			last := countPages(b, dsn, role, limit)
			deep := min(5000, last/2)
			if got := client.Get(b, fmt.Sprintf("/products?limit=%d&page=%d", limit, deep)); strings.Count(got.Body, `"made-`) != limit {
				b.Fatalf("page %d has other products: %.500s", deep, got.Body)
			}
			began := time.Now()
			page(last)
			b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "last-first-ms")
			page(deep)
			page(deep + 999)
			took := takeTurns(101,
				func(int) { page(1) },
				func(int) { page(deep) },
				func(i int) { page(deep + 1000 + i) },
				func(int) { page(last) },
				func(i int) { mustGet(b, client, "/products/"+strconv.Itoa(someID(i))) },
			)
			var cold durations
			for i := range 21 {
				path, change := "/products/"+strconv.Itoa(someID(i)), fmt.Sprintf(`{"price":%d}`, i+1)
				if got, err := all["admin"].Call(b.Context(), http.MethodPut, path, change); err != nil || got.Status != http.StatusOK {
					b.Fatalf("PUT %s: %d %v %.200s", path, got.Status, err, got.Body)
				}
				cold = append(cold, takeTurns(1, func(int) { page(deep + i) })[0]...)
			}
			page(deep + 999)
			direct := takeTurns(21, func(i int) { page(deep + 2000 + 7*i) })[0]
			first := took[0].median()
			b.ReportMetric(first, "page-1-ms")
			b.ReportMetric(took[0].quantile(0.99), "page-1-p99-ms")
			b.ReportMetric(took[1].median()/first, fmt.Sprintf("page-%d/page-1", deep))
			b.ReportMetric(took[1].quantile(0.99), fmt.Sprintf("page-%d-p99-ms", deep))
			b.ReportMetric(took[2].median()/first, "walked/page-1")
			b.ReportMetric(cold.median()/first, "cold/page-1")
			b.ReportMetric(direct.median()/first, "direct/page-1")
			b.ReportMetric(took[3].median()/first, "last/page-1")
			b.ReportMetric(took[4].median(), "read-ms")
			b.ReportMetric(took[4].quantile(0.99), "read-p99-ms")
			b.ReportMetric(float64(p.PeakResident(b))/1e6, "peak-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// someID returns the id of a product that every caller may read; they are all over the catalog.
func someID(i int) int { return demotest.FirstGeneratedID + 4 + 100*(i*7919%(*products/100)) }

// countPages returns the number of pages of all products for a role.
func countPages(b *testing.B, dsn, role string, limit int) int {
	b.Helper()
	statement := "SELECT COUNT(*) FROM product"
	if role == "guest" {
		statement = "SELECT COUNT(*) FROM product_listing WHERE store_id = 1"
	}
	var rows int
	if err := sqltest.Raw(b, dsn).QueryRowContext(b.Context(), statement).Scan(&rows); err != nil {
		b.Fatal(err)
	}
	return (rows + limit - 1) / limit
}

// benchmarkFilters measures lists that are filtered by each field, for values that one product in the
// middle of the catalog has, or for absent values if that product has none.
func benchmarkFilters(b *testing.B, dsn string) {
	const breaker = "PORTICO_UPSTREAM_BREAKER_FAILURES=1000" // lists that take too long must not keep others away
	p := serveCatalog(b, dsn, breaker)
	example := exampleProduct(b, dsn)
	for role, client := range clients(b, p) {
		fields, contractRole := contract.StandardFields().AdminProducts, contract.Admin
		if role == "guest" {
			fields, contractRole = contract.StandardFields().PublicProducts, contract.Guest
		}
		read := takeTurns(101, func(i int) { mustGet(b, client, "/products/"+strconv.Itoa(someID(i))) })[0].median()
		var table strings.Builder
		for _, field := range fields.Fields {
			if !field.Queryable(contract.Documented(), contractRole) || field.Filter != contract.FilterByValue || field.Attribute == "" {
				continue
			}
			value := example[field.Name]
			if value == "" {
				value = absentValue(field.Attribute)
			}
			query := url.Values{"filter[0][attribute]": {field.Name}, "filter[0][eq]": {value}}
			var status int
			list := func(int) { status = client.Get(b, "/products?"+query.Encode()).Status }
			took := takeTurns(1, list)[0]
			if took[0] < time.Second {
				took = takeTurns(15, list)[0]
			}
			fmt.Fprintf(&table, "%s filters by %-32s %10.1f times a read by id, status %d\n", role, field.Name, took.median()/read, status)
		}
		b.Logf("a read by id takes %.2f ms\n%s", read, table.String())
	}
	b.ReportMetric(float64(p.PeakResident(b))/1e6, "peak-MB")
	b.ReportMetric(0, "ns/op")
}

// absentValue returns a value of an attribute of products that no product has.
func absentValue(attribute string) string {
	schema := adapter.NewSchemas().Of(adapter.Products)
	if at, _ := schema.Index(attribute); schema.Attributes[at].Kind == adapter.KindTime {
		return "2001-02-03 04:05:06"
	}
	return "7"
}

// exampleProduct returns the values of a product in the middle of the catalog by field.
func exampleProduct(b *testing.B, dsn string) map[string]string {
	b.Helper()
	id := someID(*products / 200)
	rows, err := sqltest.Raw(b, dsn).QueryContext(b.Context(), "SELECT * FROM product WHERE entity_id = "+strconv.Itoa(id))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	cells := make([]any, len(columns))
	for i := range cells {
		cells[i] = new(any)
	}
	if !rows.Next() {
		b.Fatalf("no product %d: %v", id, rows.Err())
	}
	if err := rows.Scan(cells...); err != nil {
		b.Fatal(err)
	}
	values := map[string]string{}
	for i, name := range columns {
		switch value := (*cells[i].(*any)).(type) {
		case nil:
		case time.Time:
			values[name] = value.Format(time.DateTime)
		default:
			values[name] = fmt.Sprint(value)
		}
	}
	return values
}

// benchmarkStreams measures the memory of lists without a limit, with a server for each.
func benchmarkStreams(b *testing.B, dsn string) {
	const most = 1_000_000 // after so many records nothing changes any more
	for role := range map[string]bool{"guest": true, "admin": true} {
		p := serveCatalog(b, dsn, fmt.Sprintf("PORTICO_LISTS_MAX_ROWS=%d", min(*products, most)))
		client := clients(b, p)[role]
		client.HTTP.Timeout = 0
		mustGet(b, client, "/products")
		before := settledMemory(b, p)
		b.ReportMetric(before, role+"-before-MB")
		b.ReportMetric(float64(countStreamed(b, client)), role+"-rows")
		b.ReportMetric(float64(p.PeakResident(b))/1e6-before, role+"-growth-MB")
	}
	b.ReportMetric(0, "ns/op")
}

// countStreamed reads a list without a limit, discards it, and returns the number of its records.
func countStreamed(b *testing.B, c *apptest.Client) (records int) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, c.Base+"/api/rest/products?limit=0", nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	if c.Authorization != "" {
		request.Header.Set("Authorization", c.Authorization)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		b.Fatalf("status %d", response.StatusCode)
	}
	piece := make([]byte, 64<<10)
	for {
		n, err := response.Body.Read(piece)
		for _, c := range piece[:n] {
			if c == '{' {
				records++ // neither texts nor field names contain it
			}
		}
		if err == io.EOF {
			return records - 1 // not counting the root element
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
