package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/redact"
)

func table() *contract.Table { return contract.NewTable(contract.Routes(contract.StandardFields())) }

// exchanged returns an exchange such as proxy.Tap returns.
func exchanged(method, target string, change func(*proxy.Exchange)) *proxy.Exchange {
	r := httptest.NewRequest(method, "http://shop.example"+target, nil)
	a, _ := table().Address(method, r.URL.EscapedPath())
	e := &proxy.Exchange{
		Address: a, Start: time.Date(2012, 3, 4, 5, 6, 7, 0, time.UTC), Scheme: "http", Request: r,
		Status: 200, ReplyHeader: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, ReplyBody: proxy.ReplyCopy{Bytes: []byte("[]")},
	}
	if change != nil {
		change(e)
	}
	return e
}

func body(text string) proxy.ReplyCopy { return proxy.ReplyCopy{Bytes: []byte(text)} }

// gzipped returns a gzip-compressed body.
func gzipped(t *testing.T, text string) proxy.ReplyCopy {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return proxy.ReplyCopy{Bytes: b.Bytes()}
}

// counts counts outcomes.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) count(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[outcome]++
}

func (c *counts) of(outcome string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[outcome]
}

// recorder returns a recorder of all exchanges into dir, with changed options.
func recorder(t *testing.T, dir string, change func(*Options)) (*Recorder, *counts) {
	t.Helper()
	c := &counts{n: map[string]int{}}
	o := Options{
		Dir: dir, Instance: "test", Mask: redact.NewMasker(table(), []byte("key")), Limits: Limits{Sample: 1, PerSecond: 10_000, MaxBytes: 1 << 30, BodyBytes: 2 << 20},
		Every: time.Hour, Count: c.count, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	r, err := NewRecorder(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, c
}

// files returns the conversations in all files of dir.
func files(t *testing.T, dir string) []conversation {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []conversation
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var some []conversation
		if err := json.Unmarshal(text, &some); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, some...)
	}
	return all
}

// TestHeadersAreMasked puts a name into every header of a request and its reply, in every place
// that allows free text from clients and servers.
func TestHeadersAreMasked(t *testing.T) {
	const name = "AdaByron"
	values := []string{name, "application/" + name, "application/json;" + name + "=" + name, `"` + name + `"`, "de-" + name, "Basic realm=" + name, "/" + name, "http://shop.example/customer/" + name,
		"http://shop.example/api/rest/products/1?email=" + name}
	for _, value := range values {
		e := exchanged("GET", "/api/rest/products/1", func(e *proxy.Exchange) {
			e.Status = http.StatusUnauthorized
			e.ReplyBody = body("")
			e.ReplyHeader = http.Header{}
			for _, header := range []string{
				"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Allow", "Authorization", "Cache-Control", "Content-Disposition", "Content-Encoding",
				"Content-Language", "Content-Location", "Content-Type", "Cookie", "Date", "Etag", "Expect", "Forwarded", "From", "If-Match", "If-Modified-Since", "If-None-Match",
				"If-Range", "Link", "Location", "Origin", "Pragma", "Range", "Referer", "Server", "Set-Cookie", "User-Agent", "Vary", "Version", "Via", "Warning",
				"Www-Authenticate", "X-Forwarded-For", "X-Http-Method-Override", "X-Request-Id",
			} {
				e.Request.Header[header], e.ReplyHeader[header] = []string{value, value}, []string{value, value}
			}
		})
		got, err := newConversation(&Options{Mask: redact.NewMasker(table(), []byte("key")), Limits: Limits{BodyBytes: 1 << 10}}, e)
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		text, err := marshal(got)
		if err != nil || strings.Contains(strings.ToLower(string(text)), strings.ToLower(name)) {
			t.Errorf("%s: %v, recorded is\n%s", value, err, text)
		}
	}
}

func TestConverse(t *testing.T) {
	bomb := gzipped(t, "["+strings.Repeat(" ", 2<<10)+"]")
	signed := `OAuth oauth_consumer_key="0123456789abcdef", oauth_token="secret"`
	for _, c := range []struct {
		name, method, target string
		change               func(*proxy.Exchange)
		want                 string // step and note; "" for none
	}{
		{"read of a Guest", "GET", "/api/rest/products/1?attrs=sku", func(e *proxy.Exchange) {
			e.Request.Header.Set("Accept", "application/json")
			e.ReplyBody = body(`{"sku":"mug","image_url":"http:\/\/shop.example\/a.jpg","url":"http:\/\/shop.example.org\/"}`)
		}, `guest GET /products/1?attrs=sku accept application/json → 200 {"sku":"mug","image_url":"{{base_url}}\/a.jpg","url":"http:\/\/shop.example.org\/"}`},
		{"write of an Admin", "POST", "/api/rest/customers", func(e *proxy.Exchange) {
			e.Role = "admin"
			e.Request.Header.Set("Authorization", signed)
			e.Request.Header.Set("Content-Type", "application/json")
			e.RequestBody = body(`{"website_id":1,"email":""}`)
			e.ReplyHeader = http.Header{"Location": {"http://shop.example/api/rest/customers/7"}}
			e.ReplyBody = body("")
		}, `admin POST /customers content type application/json {"website_id":1,"email":""} → 200 at {{base_url}}/api/rest/customers/7 `},
		{"of a Customer", "GET", "/api/rest/orders", func(e *proxy.Exchange) { e.Role = "customer"; e.Request.Header.Set("Authorization", signed) },
			`customer_1 GET /orders → 200 [] (The caller was a Customer, whose identity is not recorded.)`},
		{"answered by the legacy store", "GET", "/api/rest/orders", func(e *proxy.Exchange) { e.Legacy = true; e.Request.Header.Set("Authorization", signed) },
			`admin GET /orders → 200 [] (The caller is unknown: only the legacy store knew. The legacy store answered.)`},
		{"refused", "GET", "/api/rest/orders", func(e *proxy.Exchange) { e.Status = 401; e.Request.Header.Set("Authorization", signed) },
			`admin GET /orders → 401 [] (OAuth rejected the call.)`},
		{"signed in the query", "GET", "/api/rest/orders?oauth_consumer_key=abc&page=1", func(e *proxy.Exchange) { e.Role = "admin" }, `admin GET /orders?page=1 → 200 []`},
		{"unknown method", "ADABYRON", "/api/rest/orders", nil, `guest OTHER /orders → 200 []`},
		{"another interface", "GET", "/api/restless/x", nil, `guest GET !/api/`},
		{"reply with an unknown field", "GET", "/api/rest/customers", func(e *proxy.Exchange) { e.ReplyBody = body(`{"hobby":"chess"}`) },
			`guest GET /customers → 200 {{any}} (The body of the reply (17 bytes) is not recorded.)`},
		{"HTML reply", "GET", "/api/rest/customers", func(e *proxy.Exchange) {
			e.ReplyHeader.Set("Content-Type", "text/html")
			e.ReplyBody = body("Service temporary unavailable")
		}, `guest GET /customers → 200 Service temporary unavailable`},
		{"base URL in a form", "GET", "/api/rest/products/1/images", func(e *proxy.Exchange) {
			e.ReplyHeader.Set("Content-Type", "text/plain")
			e.ReplyBody = body("0%5Burl%5D=http%3A%2F%2Fshop.example%2Fa&1%5Burl%5D=https://old.example/b")
		}, `guest GET /products/1/images → 200 0%5Burl%5D={{base_url}}%2Fa&1%5Burl%5D={{base_url}}/b`},
		{"gzip reply", "GET", "/api/rest/customers", func(e *proxy.Exchange) {
			e.ReplyHeader.Set("Content-Encoding", "gzip")
			e.ReplyBody = gzipped(t, `[{"entity_id":"1"}]`)
		}, `guest GET /customers → 200 [{"entity_id":"1"}]`},
		{"reply that decompresses beyond the limit", "GET", "/api/rest/customers", func(e *proxy.Exchange) {
			e.ReplyHeader.Set("Content-Encoding", "gzip")
			e.ReplyBody = bomb
		}, fmt.Sprintf("guest GET /customers → 200 {{any}} (The body of the reply (%d bytes) is not recorded.)", len(bomb.Bytes))},
		{"reply in an unknown content coding", "GET", "/api/rest/customers", func(e *proxy.Exchange) { e.ReplyHeader.Set("Content-Encoding", "br") },
			`guest GET /customers → 200 {{any}} (The body of the reply (2 bytes) is not recorded.)`},
		{"reply that is not gzip", "GET", "/api/rest/customers", func(e *proxy.Exchange) { e.ReplyHeader.Set("Content-Encoding", "gzip") },
			`guest GET /customers → 200 {{any}} (The body of the reply (2 bytes) is not recorded.)`},
		{"request with an unknown field", "POST", "/api/rest/customers", func(e *proxy.Exchange) { e.RequestBody = body(`{"hobby":"chess"}`) }, ""},
		{"request with a long media type", "POST", "/api/rest/customers", func(e *proxy.Exchange) {
			e.Request.Header.Set("Content-Type", strings.Repeat("a", 300))
			e.RequestBody = body(`{}`)
		}, ""},
		{"broken", "GET", "/api/rest/orders", func(e *proxy.Exchange) { e.Broken = true }, ""},
		{"body over the limit", "GET", "/api/rest/orders", func(e *proxy.Exchange) { e.ReplyBody = body(strings.Repeat(" ", 2<<10)) }, ""},
		{"too long", "GET", "/api/rest/orders", func(e *proxy.Exchange) { e.ReplyBody.Cut = true }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := newConversation(&Options{Mask: redact.NewMasker(table(), []byte("key")), Bases: []string{"https://old.example"}, Limits: Limits{BodyBytes: 1 << 10}}, exchanged(c.method, c.target, c.change))
			if c.want == "" {
				if err == nil {
					t.Errorf("written: %+v", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s := got.Steps[0]
			text := fmt.Sprintf("%s %s %s", s.As, s.Method, s.Path)
			for _, part := range []struct {
				label string
				value *string
			}{{" accept ", s.Accept}, {" content type ", s.ContentType}, {" ", s.Body}} {
				if part.value != nil {
					text += part.label + *part.value
				}
			}
			text += fmt.Sprintf(" → %d ", s.Response.Status)
			if s.Response.Location != nil {
				text += "at " + *s.Response.Location + " "
			}
			text += s.Response.Body
			if got.Note != "" {
				text += " (" + got.Note + ")"
			}
			if text != c.want && (c.name != "another interface" || !strings.HasPrefix(text, c.want)) {
				t.Errorf("%s\nwant %s", text, c.want)
			}
			if written, err := json.Marshal(got); err != nil || bytes.Contains(written, []byte("0123")) || bytes.Contains(written, []byte("secret")) {
				t.Errorf("%s tells who called (%v)", written, err)
			}
		})
	}
}

func TestRecorderContinues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	for round := range 2 {
		r, c := recorder(t, dir, nil)
		for range 10 {
			r.Observe(exchanged("GET", "/api/rest/orders", nil))
		}
		r.Observe(exchanged("GET", "/api/rest/orders", func(e *proxy.Exchange) { e.Broken = true }))
		r.Observe(exchanged("GET", "/api/rest/orders", func(e *proxy.Exchange) { e.ReplyBody.Cut = true }))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if got := len(files(t, dir)); got != 10*(round+1) {
			t.Errorf("%d exchanges are in files", got)
		}
		if c.of(Written) != 10 || c.of(Unreadable) != 1 || c.of(Limited) != 1 || c.of(Dropped) != 0 {
			t.Errorf("counted %v", c.n)
		}
		r.Observe(exchanged("GET", "/api/rest/orders", nil)) // too late, and no harm
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v (%v)", info.Mode(), err)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v)", path, info.Mode(), err)
		}
	}
}

// TestRecorderWritesSoon: exchanges are written while the recorder runs, and
// files are always complete lists.
func TestRecorderWritesSoon(t *testing.T) {
	dir := t.TempDir()
	r, c := recorder(t, dir, func(o *Options) { o.Every = time.Millisecond })
	long := strings.Repeat(" ", 200<<10)
	for sent := 1; sent <= 20; sent++ {
		r.Observe(exchanged("GET", "/api/rest/products", func(e *proxy.Exchange) { e.ReplyBody = body("[" + long + "]") }))
		testenv.Await(t, "the log", func() bool { return c.of(Written) == sent })
		if got := len(files(t, dir)); got != sent {
			t.Fatalf("%d exchanges are in files, and %d were written", got, sent)
		}
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(paths) < 3 {
		t.Errorf("all in %d files", len(paths))
	}
	rest, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(rest) > 0 {
		t.Errorf("left over: %s", rest)
	}
}

func TestRecorderLimits(t *testing.T) {
	t.Run("share", func(t *testing.T) {
		r, c := recorder(t, t.TempDir(), func(o *Options) { o.Sample = 0.5 })
		wanted := 0
		for range 1000 {
			if r.Wants(nil, nil) == proxy.Bodies {
				wanted++
			}
		}
		if wanted < 350 || wanted > 650 || len(c.n) > 0 {
			t.Errorf("wanted %d of 1000, counted %v", wanted, c.n)
		}
	})
	t.Run("rate", func(t *testing.T) {
		r, c := recorder(t, t.TempDir(), func(o *Options) { o.PerSecond = 0.001 })
		if r.Wants(nil, nil) != proxy.Bodies || r.Wants(nil, nil) != proxy.WantNothing || c.of(Limited) != 1 {
			t.Errorf("counted %v", c.n)
		}
	})
	t.Run("none", func(t *testing.T) {
		r, c := recorder(t, t.TempDir(), func(o *Options) { o.PerSecond = 0 })
		if r.Wants(nil, nil) != proxy.WantNothing || c.of(Limited) != 1 {
			t.Errorf("counted %v", c.n)
		}
	})
	t.Run("size", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "exchanges-1.json"), make([]byte, 2000), 0o600); err != nil {
			t.Fatal(err)
		}
		r, c := recorder(t, dir, func(o *Options) { o.MaxBytes = 4000 })
		for range 20 {
			r.Observe(exchanged("GET", "/api/rest/orders", nil))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if written := c.of(Written); written == 0 || written > 10 || c.of(Limited) != 20-written {
			t.Errorf("counted %v", c.n)
		}
		again, c := recorder(t, dir, func(o *Options) { o.MaxBytes = 3000 })
		if again.Wants(nil, nil) != proxy.WantNothing || c.of(Limited) != 1 {
			t.Errorf("a full folder is written to: %v", c.n)
		}
	})
	t.Run("changed limits", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "exchanges-1.json"), make([]byte, 2000), 0o600); err != nil {
			t.Fatal(err)
		}
		r, c := recorder(t, dir, func(o *Options) { o.MaxBytes = 1000 })
		if r.Wants(nil, nil) != proxy.WantNothing {
			t.Error("a full folder is written to")
		}
		more := Limits{Sample: 1, PerSecond: 10_000, MaxBytes: 1 << 20, BodyBytes: 1 << 20}
		r.SetLimits(more)
		if r.Wants(nil, nil) != proxy.Bodies {
			t.Error("a folder with room is full")
		}
		r.Observe(exchanged("GET", "/api/rest/orders", nil))
		// The sizes stay: the exchange above may be written with any of these limits.
		sample, perSecond := more, more
		sample.Sample, perSecond.PerSecond = 0, 0
		for name, none := range map[string]Limits{"sample": sample, "rate": perSecond} {
			if r.SetLimits(none); r.Wants(nil, nil) != proxy.WantNothing {
				t.Errorf("%s 0: exchanges are selected", name)
			}
		}
		r.SetLimits(more)
		if err := r.Close(); err != nil || c.of(Written) != 1 {
			t.Errorf("%v, counted %v", err, c.n)
		}
	})
	t.Run("queue", func(t *testing.T) {
		r := &Recorder{queue: make(chan *proxy.Exchange, 1)} // without a consumer
		c := &counts{n: map[string]int{}}
		r.Count = c.count
		r.Observe(nil)
		r.Observe(nil)
		if c.of(Dropped) != 1 {
			t.Errorf("counted %v", c.n)
		}
	})
}

// blocked returns a path where no folder can be created, even by root, and a function that
// unblocks it.
func blocked(t *testing.T) (dir string, free func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(file, "folder"), func() {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMissingFolder: callers do not wait, errors are logged at intervals, and the unwritten
// exchanges are written later.
func TestMissingFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	var log testenv.Log
	r, c := recorder(t, dir, func(o *Options) {
		o.Every, o.Log = time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))
	})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file in its place
		t.Fatal(err)
	}
	r.Observe(exchanged("GET", "/api/rest/orders", nil))
	testenv.Await(t, "the log", func() bool { return lineCount(&log) > 0 })
	for range 10 { // a MiB each: too much to keep
		r.Observe(exchanged("GET", "/api/rest/products", func(e *proxy.Exchange) { e.ReplyBody = body("[" + strings.Repeat(" ", 1<<20) + "]") }))
	}
	testenv.Await(t, "the log", func() bool { return c.of(Dropped) >= 10 })
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	r.Observe(exchanged("GET", "/api/rest/orders", nil))
	testenv.Await(t, "the log", func() bool { return c.of(Written) > 0 })
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := len(files(t, dir)); got != c.of(Written) {
		t.Errorf("%d exchanges are in files, %d were written", got, c.of(Written))
	}
	if lineCount(&log) != 1 {
		t.Errorf("%d lines in the log", lineCount(&log))
	}
	impossible, _ := blocked(t)
	if _, err := NewRecorder(Options{Dir: impossible}); err == nil {
		t.Error("started without a folder")
	}
}

// lineCount returns the number of lines of a log.
func lineCount(log *testenv.Log) int { return strings.Count(log.String(), "\n") }

// TestTwoRecorders shares a folder between two recorders; one starts while the other writes.
func TestTwoRecorders(t *testing.T) {
	dir := t.TempDir()
	one, _ := recorder(t, dir, func(o *Options) { o.Instance, o.Every = "one", time.Millisecond })
	half := filepath.Join(dir, ".exchanges-20120101T000000.000000000Z-two-ABCDEF.part")
	if err := os.WriteFile(half, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	two, _ := recorder(t, dir, func(o *Options) { o.Instance, o.Every = "two", time.Millisecond })
	var group sync.WaitGroup
	for _, r := range []*Recorder{one, two} {
		group.Go(func() {
			for range 100 {
				r.Observe(exchanged("GET", "/api/rest/orders", nil))
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := len(files(t, dir)); got != 200 {
		t.Errorf("%d exchanges are in files", got)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("half a file of the one before is still there")
	}
}
