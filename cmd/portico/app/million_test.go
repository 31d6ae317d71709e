package app

import (
	"flag"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// million enables the benchmark of a large catalog, which takes a minute and 1.5 GB to
// create.
var million = flag.Int("million", 0, "number of products for BenchmarkMillion, 1000000 say; 0 leaves it out")

// BenchmarkMillion reads a large catalog over HTTP:
//
//	go test ./cmd/portico/app -run '^$' -bench Million -benchtime 1x -million 1000000
//
// Each figure is a median of requests that took turns, in milliseconds or as a multiple of
// another figure.
//
//	page-1-ms          the first page of ten, for a Guest
//	walked/page-1      pages around 5,000, one after the other
//	direct/page-1      pages from 5,000 on, each for the first time and none
//	                   after the one before it
//	again/page-1       the same once more
//	sku-ms, sku/1000   a filter by SKU, and as a multiple of the same on a
//	                   thousand products
//	*-rows, *-MB       a list with limit=0: number of products, and maximum growth of
//	                   the heap while it was read
func BenchmarkMillion(b *testing.B) {
	if *million == 0 {
		b.Skip("needs -million")
	}
	large, small := serveCatalogue(b, *million), serveCatalogue(b, 1000)
	get := func(base, path string) {
		response := openReply(b, base+"/api/rest"+path, "")
		if reply := apptest.ReadReply(b, response); len(reply.Body) < 100 {
			b.Fatalf("%s: %s", path, reply.Body)
		}
	}
	const rounds = 31
	page := func(n int) func(int) { return func(int) { get(large, "/products?page="+strconv.Itoa(n)) } }
	page(5000 - 1)(0)
	took := medians(rounds,
		page(1),
		func(i int) { page(5000 + i)(0) },
		func(i int) { page(6000 + 7*i)(0) },
		func(i int) { page(6000 + 7*i)(0) },
	)
	b.ReportMetric(took[0], "page-1-ms")
	b.ReportMetric(took[1]/took[0], "walked/page-1")
	b.ReportMetric(took[2]/took[0], "direct/page-1")
	b.ReportMetric(took[3]/took[0], "again/page-1")

	sku := func(base string, most int) func(int) {
		return func(i int) {
			get(base, "/products?filter[0][attribute]=sku&filter[0][eq]=MADE-"+strconv.Itoa(demotest.FirstGeneratedID+4+100*(i*7919%(most/100))))
		}
	}
	took = medians(rounds, sku(small, 1000), sku(large, *million))
	b.ReportMetric(took[1], "sku-ms")
	b.ReportMetric(took[1]/took[0], "sku/1000")

	admin := demoTarget(b, "documented").Credentials.Authorization("admin")
	for role, authorization := range map[string]string{"guest": "", "admin": admin} {
		rows, grown := measureStream(b, large+"/api/rest/products?limit=0", authorization)
		b.ReportMetric(float64(rows), role+"-rows")
		b.ReportMetric(grown, role+"-MB")
	}
	b.ReportMetric(0, "ns/op")
}

// serveCatalogue serves a catalog without limits on lists, and returns the base URL.
func serveCatalogue(b *testing.B, products int) string {
	b.Helper()
	db, data := demotest.NewCatalog(b, b.TempDir(), products)
	_, server := serveApp(b, db, data, "documented", apptest.WithoutReplyCache, "PORTICO_LISTS_MAX_ROWS="+strconv.Itoa(products), "PORTICO_SERVER_WRITE_TIMEOUT=24h")
	return server.URL
}

// medians runs all calls in turn, with the number of the round, and returns the median
// time of each in milliseconds.
func medians(rounds int, calls ...func(round int)) []float64 {
	took := make([][]time.Duration, len(calls))
	for round := range rounds {
		for i, call := range calls {
			begin := time.Now()
			call(round)
			took[i] = append(took[i], time.Since(begin))
		}
	}
	all := make([]float64, len(calls))
	for i, t := range took {
		slices.Sort(t)
		all[i] = float64(t[rounds/2].Microseconds()) / 1000
	}
	return all
}

// measureStream reads a list and discards it. It returns the number of records, and by how
// many MB the heap of this process, server included, has grown at most meanwhile.
func measureStream(b *testing.B, url, authorization string) (records int, grown float64) {
	b.Helper()
	heap := func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	runtime.GC()
	before := heap()
	response := openReply(b, url, authorization)
	defer func() { _ = response.Body.Close() }()
	const sampleEvery = 16 << 20
	piece, read := make([]byte, 64<<10), 0
	for {
		n, err := response.Body.Read(piece)
		for _, c := range piece[:n] {
			if c == '{' {
				records++ // neither texts nor field names contain it
			}
		}
		if read += n; read/sampleEvery != (read-n)/sampleEvery {
			grown = max(grown, heap()-before)
		}
		if err == io.EOF {
			return records - 1, grown // not counting the root element
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// openReply sends a request for JSON over a persistent connection, and returns the reply
// with its body unread.
func openReply(b *testing.B, url, authorization string) *http.Response {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d", url, response.StatusCode)
	}
	return response
}
