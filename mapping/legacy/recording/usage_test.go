package recording

import (
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/resource"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

func counter(t *testing.T, dir, instance string, every time.Duration) *Counter {
	t.Helper()
	c, err := NewCounter(CounterOptions{Dir: dir, Instance: instance, Every: every, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// of returns an exchange with the consumer key, status and target.
func of(key string, status int, target string) *proxy.Exchange {
	return exchanged("GET", target, func(e *proxy.Exchange) {
		if key != "" {
			e.Request.Header.Set("Authorization", `OAuth realm="x",oauth_consumer_key="`+key+`",oauth_token="t"`)
		}
		e.Status = status
	})
}

// lines returns counts as text lines without times.
func lines(u *Usage) []string {
	var all []string
	for _, row := range u.Rows() {
		var uses []string
		for use, n := range row.Uses {
			uses = append(uses, fmt.Sprintf("%s×%d", use, n))
		}
		slices.Sort(uses)
		all = append(all, fmt.Sprintf("%d %s %s %s %d %s %s | %s", row.Count, row.Consumer, row.Call, row.Side, row.Status, row.Format, row.Agent, strings.Join(uses, ", ")))
	}
	return all
}

func TestUses(t *testing.T) {
	for _, c := range []struct{ name, target, want string }{
		{"none", "/api/rest/orders", ""},
		{"page", "/api/rest/orders?page=1&limit=2&dir=asc&attrs=status", "page, limit, dir, attrs"},
		{"order", "/api/rest/orders?order=status&order=created_at", "order created_at"},
		{"filter", "/api/rest/customers?filter%5B1%5D[attribute]=email&filter[1][like]=ada%25&filter[2][attribute]=group_id&filter[2][in][]=1", "filter email like, filter group_id in"},
		{"field of another role", "/api/rest/products?order=final_price_with_tax", "order final_price_with_tax"},
		{"names invented by the client", "/api/rest/customers?order=ada&ada=1&filter[1][ada]=1&oauth_token=1", "order other, other parameter, filter other other"},
		{"path", "/api/rest/products/store/french/category/4", "store in the path, category in the path"},
		{"no route", "/api/rest/ada?order=ada", "order other"},
		{"query over the limit", "/api/rest/orders?" + strings.Repeat("page=1&", 2000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(usesOf(exchanged("GET", c.target, nil)), ", "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	behind := exchanged("GET", "/index.php/api/rest/orders", func(e *proxy.Exchange) {
		e.Request = resource.CutScript(e.Request, contract.IndexScript, "/api/rest/orders")
	})
	if got := strings.Join(usesOf(behind), ", "); got != "called behind /index.php" {
		t.Error(got)
	}
	headers := exchanged("GET", "/api/rest/orders", func(e *proxy.Exchange) {
		e.Request.Header.Set("Accept", "application/xml;q=0.5, */*")
		e.Request.Header.Set("Content-Type", "ada/x")
		e.Request.Header.Set("Version", "1")
	})
	if got := strings.Join(usesOf(headers), ", "); got != "Accept: application/xml, Content-Type: other, Version" {
		t.Error(got)
	}
}

func TestCounter(t *testing.T) {
	dir := t.TempDir()
	saw := func(c *Counter) {
		c.Observe(of("invented", 401, "/api/rest/orders"))
		c.Observe(of("known-consumer", 200, "/api/rest/orders?page=1"))
		c.Observe(of("known-consumer", 200, "/api/rest/orders"))
		c.Observe(of("known-consumer", 404, "/api/rest/orders/9"))
		c.Observe(of("", 403, "/api/rest/customers"))
		c.Observe(exchanged("PUT", "/api/rest/stockitems", func(e *proxy.Exchange) {
			e.Legacy = true
			e.Request.Header.Set("User-Agent", "Robot/2")
			e.ReplyHeader.Set("Content-Type", "application/xml; charset=utf-8")
			e.Start = e.Start.Add(time.Hour)
		}))
	}
	want := func(times int) []string {
		return []string{
			fmt.Sprintf("%d known-co getOrder portico 404 json none | ", times),
			fmt.Sprintf("%d guest listCustomers portico 403 json none | ", times),
			fmt.Sprintf("%d known-co listOrders portico 200 json none | page×%d", 2*times, times),
			fmt.Sprintf("%d unnamed listOrders portico 401 json none | ", times),
			fmt.Sprintf("%d guest updateStockItems legacy 200 xml Robot | ", times),
		}
	}
	for _, instance := range []string{"one", "one", "two"} {
		c := counter(t, dir, instance, time.Hour)
		saw(c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	u, err := ReadUsage(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(u); !slices.Equal(got, want(3)) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(paths) != 2 {
		t.Errorf("files %s", paths)
	}
	if row := u.Rows()[4]; !row.First.Equal(row.Last) || row.First.Hour() != 6 {
		t.Errorf("from %v to %v", row.First, row.Last)
	}
}

// TestCounterWritesSoon: a complete file exists while the counter runs.
func TestCounterWritesSoon(t *testing.T) {
	dir := t.TempDir()
	c := counter(t, dir, "one", time.Millisecond)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 250 {
				c.Observe(exchanged("GET", "/api/rest/orders?page=1", nil))
			}
		})
	}
	testenv.Await(t, "the log", func() bool {
		u, err := ReadUsage(os.DirFS(dir))
		if err != nil && !strings.Contains(err.Error(), "no usage files") {
			t.Fatal(err)
		}
		return err == nil && u.Rows()[0].Count == 1000
	})
	group.Wait()
}

func TestCounterWriteErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	var log testenv.Log
	c, err := NewCounter(CounterOptions{Dir: dir, Instance: "one", Every: time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Observe(exchanged("GET", "/api/rest/orders", nil))
	testenv.Await(t, "the log", func() bool { return lineCount(&log) > 0 })
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if u, err := ReadUsage(os.DirFS(dir)); err != nil || len(u.Rows()) != 1 || lineCount(&log) != 1 {
		t.Errorf("%v, %d lines in the log", err, lineCount(&log))
	}
}

// TestUsageIsBounded: clients that invent consumers, programs and parameters do not
// make the counts grow, and every request is counted.
func TestUsageIsBounded(t *testing.T) {
	var u Usage
	const n = maxConsumers + maxAgents + 20
	for i := range n {
		u.add(&Row{Caller: Caller{Consumer: fmt.Sprint("c", i), Agent: fmt.Sprint("a", i), Call: "getOrder", Status: 200 + i%40}, Count: 1, Uses: map[string]int64{"page": 1}})
	}
	for i := range 2 * maxRows {
		u.add(&Row{Caller: Caller{Consumer: fmt.Sprint("c", i%maxConsumers), Call: "getOrder", Status: 200 + i/100}, Count: 1})
	}
	one := Row{Caller: Caller{Consumer: "c0", Agent: "a0", Call: "getOrder", Status: 200}}
	for i := range 2 * maxUses {
		one.Uses = map[string]int64{fmt.Sprint("filter ", i): 1}
		u.add(&one)
	}
	var count int64
	consumers := map[string]bool{}
	for _, row := range u.Rows() {
		count += row.Count
		consumers[row.Consumer] = true
		if len(row.Uses) > maxUses+1 {
			t.Errorf("%d uses", len(row.Uses))
		}
	}
	if count != n+2*maxRows || len(consumers) > maxConsumers+1 || len(u.rows) > maxRows+101 {
		t.Errorf("%d requests of %d consumers in %d rows", count, len(consumers), len(u.rows))
	}
}

func TestReadUsageErrors(t *testing.T) {
	for name, c := range map[string]struct {
		fsys fstest.MapFS
		want string
	}{
		"no usage file":   {fstest.MapFS{"other.json": {}}, "no usage files"},
		"no JSON":         {fstest.MapFS{"usage-a.json": {Data: []byte("{")}}, "usage-a.json: not a usage file"},
		"another version": {fstest.MapFS{"usage-a.json": {Data: []byte(`{"version":2}`)}}, "version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadUsage(c.fsys); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "usage-one.json"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewCounter(CounterOptions{Dir: dir, Instance: "one"}); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Error(err)
	}
}

// FuzzReadUsage: reading any file returns counts or an error.
func FuzzReadUsage(f *testing.F) {
	f.Add([]byte(`{"version":1,"rows":[{"consumer":"a","count":-1,"uses":{"page":1}},null,{}]}`))
	f.Add([]byte(`{"version":1,"rows":[{"first":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		u, err := ReadUsage(fstest.MapFS{"usage-a.json": {Data: text}})
		if err == nil {
			u.Rows()
		}
	})
}

// FuzzConsumer: the recorded name of a consumer is always short and
// plain.
func FuzzConsumer(f *testing.F) {
	for _, authorization := range []string{"", "OAuth", `OAuth oauth_consumer_key="abc"`, `oauth x,oauth_consumer_key=%zz`, "OAuth oauth_consumer_key=\"\xff\"", "Bearer x"} {
		f.Add(authorization, "oauth_consumer_key=%00", "A/1 (b)")
	}
	f.Fuzz(func(t *testing.T, authorization, query, agent string) {
		e := exchanged("GET", "/api/rest/orders", nil)
		e.Request.Header.Set("Authorization", authorization)
		e.Request.Header.Set("User-Agent", agent)
		e.Request.URL.RawQuery = query
		row := rowOf(e)
		if !regexp.MustCompile(`^[A-Za-z0-9._-]{1,8}$`).MatchString(row.Consumer) || !regexp.MustCompile(`^[A-Za-z0-9 ;,=/*+._"-]{1,32}$`).MatchString(row.Agent) {
			t.Errorf("%q, %q", row.Consumer, row.Agent)
		}
		for use := range row.Uses {
			if !regexp.MustCompile(`^[A-Za-z_ :/*+-]{1,60}$`).MatchString(use) {
				t.Errorf("use %q", use)
			}
		}
	})
}
