package app

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// BenchmarkStockItem compares a stock item read through the whole stack, over HTTP on
// loopback with authentication, logs and metrics, with a floor: a net/http handler that is
// optimized for this one record. Both servers run in short slices in turn, and the median
// of the pairs is reported.
//
//	ratio             throughput of Portico as a part of the floor's
//	cpu-ratio         processor time of the floor for a request as a part of Portico's:
//	                  equal to ratio if nothing else uses the processors
//	server-allocs/op  allocations of Portico for one request
//
// The floor spends its time mostly in the database and in net/http. Portico's additional
// cost is the pipeline, the record and the log line.
func BenchmarkStockItem(b *testing.B) {
	dir := b.TempDir()
	data, err := demo.Load()
	if err != nil {
		b.Fatal(err)
	}
	db, err := openDemo(b.Context(), dir, data, nil, false)
	if err != nil {
		b.Fatal(err)
	}
	_, server := serveApp(b, db, data, "documented", apptest.WithoutReplyCache)
	floor := httptest.NewServer(newFloor(b, filepath.Join(dir, "demo.db")))
	b.Cleanup(floor.Close)

	header := "Authorization: " + demoTarget(b, "documented").Credentials.Authorization("admin") + "\r\n"
	compareServers(b, server.URL, floor.URL, "/api/rest/stockitems/1", header)
}

// BenchmarkGuestProduct compares the read of one product from a catalog of a thousand with
// a productFloor on the same database, as BenchmarkStockItem does.
func BenchmarkGuestProduct(b *testing.B) { benchmarkProducts(b, "guest", "/api/rest/products/147") }

// BenchmarkGuestProductList10 does the same for a Guest's page of ten products.
func BenchmarkGuestProductList10(b *testing.B) { benchmarkProducts(b, "guest", "/api/rest/products") }

// BenchmarkAdminProductList100 does the same for an Admin's page of a hundred products.
func BenchmarkAdminProductList100(b *testing.B) {
	benchmarkProducts(b, "admin", "/api/rest/products?limit=100")
}

// benchmarkProducts compares reads of path by role with a productFloor.
func benchmarkProducts(b *testing.B, role, path string) {
	dir := b.TempDir()
	db, data := demotest.NewCatalog(b, dir, 1000)
	_, server := serveApp(b, db, data, "documented", apptest.WithoutReplyCache)
	floor := httptest.NewServer(newProductFloor(b, filepath.Join(dir, "demo.db")))
	b.Cleanup(floor.Close)
	header := ""
	if authorization := demoTarget(b, "documented").Credentials.Authorization(role); authorization != "" {
		header = "Authorization: " + authorization + "\r\n"
	}
	compareServers(b, server.URL, floor.URL, path, header)
}

// compareServers checks that both servers give the same reply, and compares their speed.
func compareServers(b *testing.B, ours, floor, path, header string) {
	b.Helper()
	o, f := newLoad(b, ours, path, header), newLoad(b, floor, path, header)
	// The key of a form differs with every call.
	formKey := regexp.MustCompile(`form_key\\/[A-Z2-7]+`)
	got, want := formKey.ReplaceAllString(o.body(b), ""), formKey.ReplaceAllString(f.body(b), "")
	if got != want {
		b.Fatalf("the two servers answer differently:\n%s\n%s", got, want)
	}
	comparePairs(b, o, f)
}

// comparePairs runs two loads in turn and reports ratio and allocations.
func comparePairs(b *testing.B, ours, floor *load) {
	b.Helper()
	const slice, pairs = 150 * time.Millisecond, 9
	b.ResetTimer()
	var ratios, cpuRatios []float64
	for range pairs {
		f, floorCPU := floor.run(b, slice)
		o, ourCPU := ours.run(b, slice)
		ratios, cpuRatios = append(ratios, o/f), append(cpuRatios, floorCPU/ourCPU)
	}
	b.StopTimer()
	slices.Sort(ratios)
	slices.Sort(cpuRatios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(cpuRatios[len(cpuRatios)/2], "cpu-ratio")
	b.ReportMetric(ours.allocations(b), "server-allocs/op")
	b.ReportMetric(floor.allocations(b), "floor-allocs/op")
	b.ReportMetric(0, "ns/op")
}

// A load sends the same request over a few persistent connections. It does not allocate,
// so that all counted allocations are the server's.
type load struct {
	request     []byte
	connections []*loadConnection
}

// A loadConnection is one connection of a load.
type loadConnection struct {
	conn net.Conn
	in   *bufio.Reader
}

// newLoad returns a load of GET requests. All loads send the same Host, because replies
// contain it.
func newLoad(b *testing.B, url, path, header string) *load {
	b.Helper()
	address := url[len("http://"):]
	l := &load{request: []byte("GET " + path + " HTTP/1.1\r\nHost: shop.example\r\nAccept: application/json\r\n" + header + "\r\n")}
	for range 4 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		l.connections = append(l.connections, &loadConnection{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)})
	}
	return l
}

// exchange sends the request and reads the whole reply.
func (c *loadConnection) exchange(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	length := -1
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch {
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")):
			return fmt.Errorf("unexpected reply %q", line)
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			length = 0
			for _, c := range line[len("Content-Length: ") : len(line)-2] {
				length = length*10 + int(c-'0')
			}
		case len(line) == 2:
			_, err := c.in.Discard(length)
			return err
		}
	}
}

// run sends requests for the duration slice. It returns the number of replies a second,
// and the processor time in seconds for one request, client included.
func (l *load) run(b *testing.B, slice time.Duration) (rate, cpu float64) {
	b.Helper()
	var wg sync.WaitGroup
	counts := make([]int, len(l.connections))
	failures := make([]error, len(l.connections))
	start, used := time.Now(), processorTime(b)
	for i, c := range l.connections {
		wg.Go(func() {
			for time.Since(start) < slice && failures[i] == nil {
				failures[i] = c.exchange(l.request)
				counts[i]++
			}
		})
	}
	wg.Wait()
	took, used := time.Since(start), processorTime(b)-used
	total := 0
	for i := range counts {
		if failures[i] != nil {
			b.Fatal(failures[i])
		}
		total += counts[i]
	}
	return float64(total) / took.Seconds(), used / float64(total)
}

// processorTime returns the processor time in seconds that this process has used.
func processorTime(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// allocations returns the number of allocations for one exchange.
func (l *load) allocations(b *testing.B) float64 {
	b.Helper()
	const exchanges = 2000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range exchanges {
		if err := l.connections[0].exchange(l.request); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / exchanges
}

// body returns the body of one reply.
func (l *load) body(b *testing.B) string {
	b.Helper()
	c := l.connections[0]
	if _, err := c.conn.Write(l.request); err != nil {
		b.Fatal(err)
	}
	reply, err := http.ReadResponse(c.in, nil)
	if err != nil {
		b.Fatal(err)
	}
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		b.Fatal(err)
	}
	return string(body)
}

// newFloor returns the floor handler for path.
func newFloor(b *testing.B, path string) http.Handler {
	b.Helper()
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=query_only(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pool.Close() })
	pool.SetMaxIdleConns(8)
	get, err := pool.PrepareContext(b.Context(), "SELECT "+strings.Join(floorColumns, ", ")+" FROM stock_item WHERE item_id = ?")
	if err != nil {
		b.Fatal(err)
	}
	var decimals [25]bool
	for i, name := range floorColumns {
		decimals[i] = slices.Contains([]string{"qty", "min_qty", "min_sale_qty", "max_sale_qty", "notify_stock_qty", "qty_increments"}, name)
	}
	rows := sync.Pool{New: newFloorRow}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(r.URL.Path[len("/api/rest/stockitems/"):], 10, 64)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		row := rows.Get().(*floorRow)
		defer rows.Put(row)
		if err := row.read(r.Context(), get, id, &decimals); err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(row.out)))
		_, _ = w.Write(row.out)
	})
}

// floorColumns lists the columns of the floor's query. They are the fields of the reply,
// in order.
var floorColumns = []string{"item_id", "product_id", "stock_id", "qty", "min_qty", "use_config_min_qty", "is_qty_decimal",
	"backorders", "use_config_backorders", "min_sale_qty", "use_config_min_sale_qty", "max_sale_qty", "use_config_max_sale_qty",
	"is_in_stock", "low_stock_date", "notify_stock_qty", "use_config_notify_stock_qty", "manage_stock", "use_config_manage_stock",
	"stock_status_changed_auto", "use_config_qty_increments", "qty_increments", "use_config_enable_qty_inc",
	"enable_qty_increments", "is_decimal_divided"}

// A floorRow holds the buffers for one request to the floor.
type floorRow struct {
	values [25]any
	into   [25]any
	out    []byte
}

// newFloorRow allocates a floorRow, for a sync.Pool.
func newFloorRow() any {
	row := &floorRow{}
	for i := range row.values {
		row.into[i] = &row.values[i]
	}
	return row
}

// read queries the record and appends it as JSON to row.out.
func (row *floorRow) read(ctx context.Context, get *sql.Stmt, id int64, decimals *[25]bool) error {
	if err := get.QueryRowContext(ctx, id).Scan(row.into[:]...); err != nil {
		return err
	}
	out := row.out[:0]
	for i, value := range row.values {
		out = append(append(append(out, `,"`...), floorColumns[i]...), `":`...)
		switch v := value.(type) {
		case nil:
			out = append(out, "null"...)
			continue
		case string:
			out = append(append(out, '"'), v...)
		case float64:
			out = strconv.AppendFloat(append(out, '"'), v, 'f', 4, 64)
		case int64:
			out = strconv.AppendInt(append(out, '"'), v, 10)
			if decimals[i] {
				out = append(out, ".0000"...)
			}
		}
		out = append(out, '"')
	}
	out[0] = '{'
	row.out = append(out, '}')
	return nil
}
