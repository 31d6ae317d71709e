package report_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/config/testenv/chromium"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// renderPage returns the HTML page of a report.
func renderPage(t testing.TB, r *contracttests.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bodiesOf returns the bodies of the cases of a page, as its script unfolds them.
func bodiesOf(t *testing.T, page []byte) string {
	t.Helper()
	_, rest, _ := bytes.Cut(page, []byte(`data-packed="`))
	packed, _, _ := bytes.Cut(rest, []byte(`"`))
	text := base64.NewDecoder(base64.RawURLEncoding, bytes.NewReader(packed))
	var all []struct{ HTML string }
	if err := json.NewDecoder(flate.NewReader(text)).Decode(&all); err != nil {
		t.Fatal(err)
	}
	var bodies strings.Builder
	for _, one := range all {
		bodies.WriteString(one.HTML)
	}
	return bodies.String()
}

// A browser is a Chromium that shows one page at a time and records the events of the
// pages.
type browser struct {
	ctx context.Context
	// base is the URL of the server of the pages, to which the name of a page is appended.
	base string

	mu     sync.Mutex
	events []string // errors of pages, and requests that no page should make
}

// openBrowser starts a browser that exits with the test. pages are the available pages by
// name.
func openBrowser(t *testing.T, pages map[string][]byte) *browser {
	t.Helper()
	ctx := chromium.Open(t)
	b := &browser{ctx: ctx}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			b.record("requested " + r.URL.Path)
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if _, err := w.Write(page); err != nil {
			b.record(err.Error())
		}
	}))
	t.Cleanup(server.Close)
	b.base = server.URL + "/"
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	return b
}

// record adds an event that no page should cause.
func (b *browser) record(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, what)
}

// listen records console output, exceptions, log entries and requests to other servers.
func (b *browser) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.record(fmt.Sprintf("wrote to the console: %s", e.Type))
	case *runtime.EventExceptionThrown:
		b.record("threw " + e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.record("logged " + e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.base) && !strings.HasPrefix(u, "data:") {
			b.record("fetched " + u)
		}
	}
}

// checkQuiet fails the test if an event was recorded since the last call.
func (b *browser) checkQuiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range b.events {
		t.Error("the page " + what)
	}
	b.events = nil
}

// do runs actions in the browser.
func (b *browser) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, testenv.Patience(t))
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
	}
}

// open reloads a page. hash is a fragment with its #, or empty.
func (b *browser) open(t *testing.T, page, hash string) {
	t.Helper()
	// Navigation to the same page with another fragment would not reload it.
	b.do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(b.base+page+hash))
	eval[bool](t, b, callsUnfolded)
}

// eval returns the value of a JavaScript expression, or of the promise that it returns.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, testenv.Patience(t))
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%v\n%s", err, expression)
	}
	return got
}

// emulate sets a color scheme and a medium; the empty medium is the screen.
func (b *browser) emulate(t *testing.T, scheme, medium string) {
	t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media:    medium,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	shownIDs = `[...document.querySelectorAll(".case")].filter(c => c.checkVisibility()).map(c => c.dataset.id)`
	// callsUnfolded is a promise that is fulfilled when all calls of open cases are unfolded.
	callsUnfolded = `new Promise(done => {
		const look = () => document.querySelector(".case[open] .body:empty, .filters[hidden]") ?
			requestAnimationFrame(look) : done(true);
		look();
	})`
)

// ids returns the IDs of the results that fit, in the order of the page.
func ids(r *contracttests.Report, fits func(*contracttests.Result) bool) []string {
	found := []string{}
	for i := range r.Results {
		if fits(&r.Results[i]) {
			found = append(found, r.Results[i].ID())
		}
	}
	return found
}

// TestPage uses the page in a browser like a reader does.
func TestPage(t *testing.T) {
	testenv.OnlyNightly(t, "browsers")
	s := newSampler(t)
	bad := s.newReport(40, false) // with a failure of each kind
	b := openBrowser(t, map[string][]byte{
		"bad":     renderPage(t, bad),
		"good":    renderPage(t, s.newReport(12, true)),
		"hostile": renderPage(t, s.hostileReport()),
		"many":    renderPage(t, s.newReport(1000, false)),
		"nothing": renderPage(t, &contracttests.Report{}),
	})
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *browser, *contracttests.Report)
	}{
		{"filters of the fragment", testFragments},
		{"filters of the form", testForm},
		{"links that filter", testLinks},
		{"unfolding", testUnfolding},
		{"contrast", testContrast},
		{"narrow", testNarrow},
		{"print", testPrint},
		{"hostile", testHostile},
		{"many and none", testSizes},
		{"policy", testPolicy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.run(t, b, bad)
			b.checkQuiet(t)
		})
	}
}

// testFragments checks which cases each filter in the URL's fragment shows.
func testFragments(t *testing.T, b *browser, r *contracttests.Report) {
	clause := r.Results[3].Clauses[0]
	b.open(t, "bad", "")
	for _, tt := range []struct {
		hash string
		fits func(*contracttests.Result) bool
	}{
		{"status=failed", func(r *contracttests.Result) bool { return r.Status == contracttests.Failed }},
		{"status=failed,skipped", func(r *contracttests.Result) bool { return r.Status != contracttests.Passed }},
		{"resource=products", func(r *contracttests.Result) bool { return r.Resource == "products" }},
		{"role=customer_1", func(r *contracttests.Result) bool { return slices.Contains(r.Roles, "customer_1") }},
		{"format=xml", func(r *contracttests.Result) bool { return r.Format == "xml" }},
		{"q=REFUSED++orders/", func(r *contracttests.Result) bool {
			return strings.Contains(r.Name, "refused") && r.Resource == "orders"
		}},
		{"clause=" + url.QueryEscape(clause), func(r *contracttests.Result) bool { return slices.Contains(r.Clauses, clause) }},
		{"case=" + url.QueryEscape(r.Results[7].ID()), func(one *contracttests.Result) bool { return one.ID() == r.Results[7].ID() }},
		{"run-8", func(one *contracttests.Result) bool { return one.ID() == r.Results[7].ID() }},
		{"q=gone&status=passed&role=guest&format=json", func(r *contracttests.Result) bool {
			return strings.Contains(r.Name, "gone") && r.Status == contracttests.Passed && slices.Contains(r.Roles, "guest") && r.Format == "json"
		}},
		{"q=nothing+has+this", func(*contracttests.Result) bool { return false }},
		{"resource=unknown&status=%3Cb%3E&q=", func(*contracttests.Result) bool { return true }},
	} {
		t.Run(tt.hash, func(t *testing.T) {
			eval[bool](t, b, fmt.Sprintf(`new Promise(done => {
				addEventListener("hashchange", () => setTimeout(() => done(true)), {once: true});
				location.hash = %q;
			})`, tt.hash))
			got, want := eval[[]string](t, b, shownIDs), ids(r, tt.fits)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			summary := fmt.Sprintf("%d of %d cases", len(want), len(r.Results))
			if len(want) == len(r.Results) {
				summary = fmt.Sprintf("%d cases", len(want))
			}
			if got := eval[string](t, b, `document.querySelector("#shown").textContent`); got != summary {
				t.Errorf("the page says %q, want %q", got, summary)
			}
			if got := eval[bool](t, b, `document.querySelector("#nothing").checkVisibility()`); got != (len(want) == 0) {
				t.Errorf("the note that no case matches is visible: %v", got)
			}
			if got := eval[int](t, b, `[...document.querySelectorAll(".group")].filter(g => g.checkVisibility() && !g.querySelector(".case:not([hidden])")).length`); got != 0 {
				t.Errorf("%d headings have no case", got)
			}
		})
	}
}

// testForm checks the form of the filters, its representation in the URL, and its reset.
func testForm(t *testing.T, b *browser, r *contracttests.Report) {
	b.open(t, "bad", "")
	b.do(t,
		chromedp.SendKeys(chromedp.CSS("input[type=search]"), "refused"),
		chromedp.Click(chromedp.CSS(".pick.failed")),
		// Keys select an entry of a list: the last one, and the one with this first letter.
		chromedp.SendKeys(chromedp.CSS("select[name=role]"), kb.End),
		chromedp.SendKeys(chromedp.CSS("select[name=format]"), "t"),
	)
	want := ids(r, func(r *contracttests.Result) bool {
		return r.Status == contracttests.Failed && slices.Contains(r.Roles, "guest") && r.Format == "text"
	})
	if diff := cmp.Diff(want, eval[[]string](t, b, shownIDs)); diff != "" || len(want) == 0 {
		t.Errorf("-want +got:\n%s", diff)
	}
	const hash = "#q=refused&status=failed&role=guest&format=text"
	if got := eval[string](t, b, `location.hash`); got != hash {
		t.Errorf("the fragment is %s, want %s", got, hash)
	}
	b.open(t, "bad", hash)
	if diff := cmp.Diff(want, eval[[]string](t, b, shownIDs)); diff != "" {
		t.Errorf("after reloading: -want +got:\n%s", diff)
	}
	if got := eval[string](t, b, `new URLSearchParams(new FormData(document.querySelector("form"))).toString()`); got !=
		"q=refused&status=failed&resource=&role=guest&format=text&clause=&case=" {
		t.Errorf("after reloading the form has %s", got)
	}
	b.do(t, chromedp.Click(chromedp.CSS("[type=reset]")))
	if got := eval[[]string](t, b, shownIDs); len(got) != len(r.Results) {
		t.Errorf("without filters %d cases are shown", len(got))
	}
	if got := eval[string](t, b, `location.hash`); got != "" {
		t.Errorf("without filters the fragment is %s", got)
	}
}

// testLinks checks the links that set filters.
func testLinks(t *testing.T, b *browser, r *contracttests.Report) {
	b.do(t, chromedp.EmulateViewport(1280, 800))
	t.Cleanup(func() { b.do(t, chromedp.ResetViewport()) })
	b.open(t, "bad", "")
	chromium.Picture(t, b.ctx, "contracttests/report.png")
	clause := r.Results[3].Clauses[0]
	for _, tt := range []struct {
		name, selector string
		fits           func(*contracttests.Result) bool
	}{
		{"cell of the matrix", `.matrix tbody tr:nth-child(2) td:nth-child(2) a`, func(r *contracttests.Result) bool {
			return r.Resource == "customer_addresses" && slices.Contains(r.Roles, "admin")
		}},
		{"failures", `.lead a`, func(r *contracttests.Result) bool { return r.Status == contracttests.Failed }},
		{"a clause of a case", `.case.failed .clause`, func(r *contracttests.Result) bool { return slices.Contains(r.Clauses, clause) }},
		{"the first failure of a cause", `.cause p a`, func(one *contracttests.Result) bool { return one.ID() == r.Results[3].ID() }},
		{"the case itself", `.case.failed .link`, func(one *contracttests.Result) bool { return one.ID() == r.Results[3].ID() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.open(t, "bad", "")
			b.do(t, chromedp.ScrollIntoView(chromedp.CSS(tt.selector)))
			eval[bool](t, b, fmt.Sprintf(`new Promise(done => {
				addEventListener("hashchange", () => setTimeout(() => done(true)), {once: true});
				document.querySelector(%q).click();
			})`, tt.selector))
			if diff := cmp.Diff(ids(r, tt.fits), eval[[]string](t, b, shownIDs)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := eval[string](t, b, `document.activeElement.id`); got != "cases" {
				t.Errorf("the focus is on %q", got)
			}
			if chips := eval[int](t, b, `document.querySelectorAll(".chip:not([hidden])").length`); chips > 0 {
				b.do(t, chromedp.Click(chromedp.CSS(".chip:not([hidden])")))
				if got := eval[[]string](t, b, shownIDs); len(got) != len(r.Results) {
					t.Errorf("when its filter is cleared %d cases are shown", len(got))
				}
			}
		})
	}
}

// testUnfolding checks that cases and requests unfold, with the keyboard and with the
// buttons.
func testUnfolding(t *testing.T, b *browser, r *contracttests.Report) {
	b.open(t, "bad", "#resource=customers&status=passed")
	b.do(t, chromedp.Focus(chromedp.CSS(".case:not([hidden]) > summary")), chromedp.KeyEvent(kb.Enter))
	eval[bool](t, b, callsUnfolded)
	want := []string{}
	for _, call := range r.Results[0].Calls {
		for _, half := range []string{call.Request, call.Reply} {
			want = append(want, strings.ReplaceAll(half, "\r\n", "\n"))
		}
	}
	const texts = `[...document.querySelectorAll(".case[open]:not([hidden]) .wire pre")].map(p => p.textContent)`
	if diff := cmp.Diff(want, eval[[]string](t, b, texts)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	b.do(t, chromedp.Focus(chromedp.CSS(".case[open]:not([hidden]) .call > summary")), chromedp.KeyEvent(" "))
	if !eval[bool](t, b, `document.querySelector(".case[open]:not([hidden]) .wire pre").checkVisibility()`) {
		t.Error("a call does not unfold")
	}
	b.do(t, chromedp.Click(chromedp.CSS("#unfold")))
	if shut := eval[int](t, b, `document.querySelectorAll(".case:not([hidden]):not([open])").length`); shut != 0 {
		t.Errorf("%d cases do not unfold", shut)
	}
	eval[bool](t, b, callsUnfolded)
	b.do(t, chromedp.Click(chromedp.CSS("#fold")))
	if open := eval[int](t, b, `document.querySelectorAll(".case:not([hidden])[open]").length`); open != 0 {
		t.Errorf("%d cases do not fold", open)
	}

	b.open(t, "bad", "#status=failed")
	got := eval[string](t, b, `document.querySelector(".case.failed .failure").textContent`)
	for _, want := range []string{"step 2: admin: PUT /customers/17", "$.firstname", "Bea", "Ada", `--data-raw '{"firstname":"Bea","note":"it'\''s"}'`, "except: [updated_at]"} {
		if !strings.Contains(got, want) {
			t.Errorf("the text of the failure lacks %q:\n%s", want, got)
		}
	}
}

// testContrast checks the contrast of all texts in both color schemes.
func testContrast(t *testing.T, b *browser, _ *contracttests.Report) {
	t.Cleanup(func() { b.emulate(t, "light", "") })
	for _, page := range []string{"bad", "good"} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(page+", "+scheme, func(t *testing.T) {
				b.emulate(t, scheme, "")
				b.open(t, page, "")
				eval[bool](t, b, `document.querySelectorAll("details, .call").forEach(d => d.open = true); true`)
				b.do(t, chromedp.Click(chromedp.CSS(".pick.failed")), chromedp.Click(chromedp.CSS(".pick.passed")), chromedp.Click(chromedp.CSS(".pick.skipped")))
				eval[bool](t, b, callsUnfolded)
				found := eval[struct {
					Looked int
					Dark   bool
					Low    []string
				}](t, b, lowContrast)
				if found.Looked < 300 || found.Dark != (scheme == "dark") {
					t.Errorf("%d texts were checked, dark is %v", found.Looked, found.Dark)
				}
				for _, low := range found.Low {
					t.Error(low)
				}
			})
		}
	}
}

// lowContrast is an expression that lists the texts with insufficient contrast (WCAG 2,
// 1.4.3: at least 4.5, for large texts 3).
const lowContrast = `(() => {
	const parse = (c) => { const n = c.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
	const luminance = (c) => {
		const [r, g, b] = c.map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
		return .2126 * r + .7152 * g + .0722 * b;
	};
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c[3] === 1) return c;
			if (c[3] > 0) throw new Error("half transparent: " + e.className);
		}
		throw new Error("nothing behind");
	};
	const low = [];
	let looked = 0;
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const e = n.parentElement;
		if (!n.data.trim() || !e.checkVisibility() || e.closest(".sr, script, noscript, .jump")) continue;
		looked++;
		const style = getComputedStyle(e), size = parseFloat(style.fontSize);
		const [a, b] = [luminance(parse(style.color)), luminance(behind(e))];
		const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		const least = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5;
		if (contrast < least) low.push(contrast.toFixed(2) + " is the contrast of " + e.tagName + "." + e.className + " " + n.data.trim().slice(0, 40));
	}
	return { Looked: looked, Dark: luminance(behind(document.body)) < .2, Low: low };
})()`

// testNarrow checks that the page fits a narrow window.
func testNarrow(t *testing.T, b *browser, _ *contracttests.Report) {
	b.do(t, chromedp.EmulateViewport(360, 740))
	t.Cleanup(func() { b.do(t, chromedp.ResetViewport()) })
	for _, page := range []string{"bad", "hostile"} {
		b.open(t, page, "")
		eval[bool](t, b, `document.querySelectorAll("details").forEach(d => d.open = true); true`)
		eval[bool](t, b, callsUnfolded)
		eval[bool](t, b, `document.querySelectorAll(".call").forEach(d => d.open = true); true`)
		wide := eval[[]string](t, b, `document.documentElement.scrollWidth <= 360 ? [] : [document.documentElement, ...document.querySelectorAll("body *")]
			.filter(e => e === document.documentElement || e.getBoundingClientRect().right > 361 && !e.closest(".scroll, .sr, .jump")).map(e => e.tagName + "." + e.className)`)
		if len(wide) > 0 {
			t.Errorf("%s is too wide: %v", page, wide[:min(len(wide), 12)])
		}
	}
}

// testPrint checks the printed page.
func testPrint(t *testing.T, b *browser, _ *contracttests.Report) {
	b.open(t, "bad", "#resource=customers")
	b.do(t, chromedp.Click(chromedp.CSS("#fold")))
	t.Cleanup(func() { b.emulate(t, "light", "") })
	b.emulate(t, "light", "print")
	for _, tt := range []struct {
		name, selector string
		want           bool
	}{
		{"failure of a folded case", ".case.failed .failure", true},
		{"body of a case that passed", ".case.passed .body", false},
		{"case that is filtered out", `.group[data-resource="orders"] .case`, false},
		{"filters", ".filters", false},
		{"skips", "#skips .reasons", true},
		{"clauses", "#clauses .sections", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := eval[bool](t, b, fmt.Sprintf(`document.querySelector(%q).checkVisibility({contentVisibilityAuto: false})`, tt.selector)); got != tt.want {
				t.Errorf("printed: %v, want %v", got, tt.want)
			}
		})
	}
}

// testHostile checks that hostile texts of a report stay texts.
func testHostile(t *testing.T, b *browser, _ *contracttests.Report) {
	b.open(t, "hostile", "")
	eval[bool](t, b, `document.querySelectorAll("details").forEach(d => d.open = true); true`)
	eval[bool](t, b, callsUnfolded)
	// Follow every link, so that the values of filters appear in the page again. Skip the
	// links to the specification, which leave the page.
	links := eval[int](t, b, fmt.Sprintf(`(() => {
		const all = [...document.querySelectorAll("a[href]")].filter(a => !a.matches(".spec") || !a.href.startsWith(%q));
		for (const a of all) {
			if (!a.getAttribute("href").startsWith("#") || a.protocol !== location.protocol) throw new Error(a.href);
			a.click();
		}
		return all.length;
	})()`, contracttests.SpecRepository))
	if links < 20 {
		t.Errorf("%d links", links)
	}
	if got := eval[string](t, b, `document.title`); !strings.HasPrefix(got, "1 failed · contract, </script>") {
		t.Errorf("the title is %q", got)
	}
	if got := eval[[]string](t, b, `[...document.querySelectorAll("img, iframe, object, embed, link:not([rel=icon]), script, [onload], [onerror]")].map(e => e.tagName)`); !slices.Equal(got, []string{"SCRIPT"}) {
		t.Errorf("the page has %v", got)
	}
	if got := eval[string](t, b, `document.querySelector(".case.failed .wire pre").textContent`); !strings.HasPrefix(got, `</script><script>`) || !strings.Contains(got, `\u202eevil`) {
		t.Errorf("the request is %q", got)
	}
	if got := eval[string](t, b, `(document.documentElement.outerHTML + document.body.innerText).match(/[\u0000-\u0008\u000e-\u001f\u202e\u2066]/)?.[0] ?? ""`); got != "" {
		t.Errorf("the page has %q", got)
	}
}

// testSizes checks a page of a thousand cases and one without any.
func testSizes(t *testing.T, b *browser, _ *contracttests.Report) {
	b.open(t, "many", "#status=failed&format=xml")
	if got := eval[string](t, b, `document.querySelector("#shown").textContent`); got != "50 of 1000 cases" {
		t.Errorf("it says %q", got)
	}
	b.open(t, "nothing", "")
	if got := eval[string](t, b, `document.querySelector("h1").textContent`); got != "Nothing was tested" {
		t.Errorf("the page of an empty report says %q", got)
	}
}

// testPolicy checks that the page's policy blocks requests and scripts, and that this
// test would notice them.
func testPolicy(t *testing.T, b *browser, _ *contracttests.Report) {
	b.open(t, "good", "")
	for _, tt := range []struct{ name, script, want string }{
		{"fetch", `fetch("http://127.0.0.1:9/").catch(() => true)`, "Content Security Policy"},
		{"image", `new Promise(done => { const i = new Image(); i.onerror = () => done(true); i.src = "http://127.0.0.1:9/"; })`, "Content Security Policy"},
		{"script", `(() => { const s = document.createElement("script"); s.textContent = "document.title = 'run'"; document.body.append(s); return document.title !== "run"; })()`, "Content Security Policy"},
		{"console", `console.error("x"), true`, "wrote to the console: error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !eval[bool](t, b, tt.script) {
				t.Error("the policy did not block it")
			}
			eval[bool](t, b, `new Promise(done => setTimeout(() => done(true)))`)
			b.mu.Lock()
			defer b.mu.Unlock()
			if !strings.Contains(strings.Join(b.events, "\n"), tt.want) {
				t.Errorf("recorded events %q lack %q", b.events, tt.want)
			}
			b.events = nil
		})
	}
}

// TestPageOfFailuresIsSmall checks the size of a page of 800 failures, each with its own texts.
func TestPageOfFailuresIsSmall(t *testing.T) {
	r := newSampler(t).newReport(800, true)
	for i := range r.Results {
		f := *failures()[i%len(failures())]
		f.Curl += fmt.Sprintf(" # %d", i*7919)
		f.Differences = append(f.Differences, contracttests.Difference{Where: "$.sku", Want: fmt.Sprint("text ", i*104729), Got: fmt.Sprint("text ", i*7919)})
		r.Results[i].Status, r.Results[i].Failure = contracttests.Failed, &f
	}
	if size := len(renderPage(t, r)); size > 1_000_000 {
		t.Errorf("the page has %d bytes", size)
	}
}

// TestPageIsSmall checks that the page of a thousand cases with six requests each is
// small enough for an e-mail.
func TestPageIsSmall(t *testing.T) {
	s := newSampler(t)
	r := s.newReport(1000, false)
	wire := 0
	for i := range r.Results {
		for c := range r.Results[i].Calls {
			call := &r.Results[i].Calls[c]
			// Make the replies as long and as different as in a real run.
			call.Reply += strings.Repeat(fmt.Sprintf("%d,%d ", i*7919, c*104729), 130)
			wire += len(call.Request) + len(call.Reply)
		}
	}
	if size := len(renderPage(t, r)); size > 4<<20 || wire < 10<<20 {
		t.Errorf("the page has %d bytes for %d bytes of requests and replies", size, wire)
	}
}

// TestPageLinksToTheSpecification checks that each clause of a case, and each difference
// between the dialects, is shown with links to its sections.
func TestPageLinksToTheSpecification(t *testing.T) {
	s := newSampler(t)
	r := s.newReport(12, false)
	r.Results[0].Clauses = []string{"Customers: GET list"}
	r.Results[1].Clauses = []string{"contract 5.2 (GET of the list); wire 10.2 and 10.3; wire 99"}
	page := renderPage(t, r)
	text := string(page) + bodiesOf(t, page)
	link := func(page, anchor, citation string) string {
		return fmt.Sprintf(` <a class="spec" href="%s%s.md#%s">%s</a>`, contracttests.SpecRepository, page, anchor, citation)
	}
	for _, want := range []string{
		">Customers: GET list</a>" + link("contract", "52-customers", "contract 5.2") + " <a class=\"link\"",
		"; wire 99</a>" + link("contract", "52-customers", "contract 5.2") + link("wire", "102-page", "wire 10.2") + link("wire", "103-limit", "wire 10.3") + " <a class=\"link\"",
		"a field that has no value" + link("rulings", "2-record-shape-in-documented", "rulings 2") + "</p>",
		"length of a password" + link("contract", "9-limits", "contract 9") + "</span>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
	_, table, _ := strings.Cut(text, `<details class="card fold" id="clauses">`)
	table, _, _ = strings.Cut(table, `<section aria-labelledby="cases">`)
	if got := strings.Count(table, `<a class="spec"`); got != len(r.Clauses) {
		t.Errorf("%d clauses have a link, want %d", got, len(r.Clauses))
	}
}

// TestPageWithoutScript checks that all failures are readable without JavaScript.
func TestPageWithoutScript(t *testing.T) {
	text := string(renderPage(t, newSampler(t).newReport(60, false)))
	for _, want := range []string{"<noscript>", "no answer within 10 s", "<mark>1</mark>@example.com", "<del>-   &lt;email&gt;ada@example.com&lt;/email&gt;</del>", "$AUTHORIZATION_ADMIN"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if strings.Contains(text, "ZgotmplZ") {
		t.Error("the template refused a value")
	}
}
