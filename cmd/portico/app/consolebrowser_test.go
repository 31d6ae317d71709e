package app

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/portico-commerce/portico/contracttests/nightly"
	"github.com/portico-commerce/portico/contracttests/programs"
)

// axeVersion is the version of axe-core, which npm downloads for the test.
const axeVersion = "4.10.3"

// axeSource returns the script that looks for what keeps people from using a page.
func axeSource(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	npm := exec.CommandContext(t.Context(), programs.Need(t, "npm"), "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@"+axeVersion)
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm: %v\n%s", err, out)
	}
	source, err := os.ReadFile(filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// violations returns what axe finds on the page.
func (b *danceBrowser) violations(axe string) []string {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](axe+"; true")); err != nil {
		b.t.Fatal(err)
	}
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](
		`axe.run(document).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + v.help + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// colorScheme makes the browser prefer a color scheme.
func (b *danceBrowser) colorScheme(scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestConsoleInBrowser: a browser shows every page of the console at three widths, light and dark:
// nothing is wider than the screen, axe finds nothing, nothing comes from another host, and the
// browser has nothing to say about the policy of the pages.
func TestConsoleInBrowser(t *testing.T) {
	nightly.Only(t, "browsers")
	t.Parallel()
	axe := axeSource(t)
	shop := newConsoleShop(t)
	addConsumers(t, shop.app.db, 60)
	send(t, http.MethodGet, shop.front.URL+"/api/rest/stockitems", "", "Authorization", strings.Replace(demoAdmin(), `%26`, `x%26`, 1))
	pages := map[string]string{
		"overview": "/", "migration": "/console/migration", "differences": "/console/differences", "ignore": "/console/differences?ignore=price", "samples": "/console/differences?view=samples",
		"callers": "/console/callers", "caller": "/console/callers?caller=aaaaaaaa", "credentials": "/console/credentials", "keys": "/console/credentials?list=keys",
		"admins": "/console/credentials?list=admins", "cache": "/console/cache?product=1", "try": "/console/try?call=updateStockItems", "fault": "/console/callers?caller=nobody",
		"interface": "/console/interface", "dialects": "/console/dialects",
	}
	for _, screen := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"360", 360, 740, "light"}, {"768", 768, 1024, "dark"}, {"1280", 1280, 900, "light"}, {"1280-dark", 1280, 900, "dark"}} {
		t.Run(screen.name, func(t *testing.T) {
			b := openDanceBrowser(t)
			b.screenSize(screen.width, screen.height, false)
			b.colorScheme(screen.scheme)
			look := func(name string) {
				t.Helper()
				b.waitForText("main h1")
				wrong, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`[
					...(document.documentElement.scrollWidth > innerWidth ? ["the page is wider than the screen: " + document.documentElement.scrollWidth] : []),
					...performance.getEntriesByType("resource").filter(e => new URL(e.name).host != location.host).map(e => e.name + " is on another host"),
					...[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea")].filter(e => e.offsetParent && e.getBoundingClientRect().height < 40).map(e => e.outerHTML + " is too low"),
					...(document.querySelectorAll("h1").length == 1 && document.title.endsWith("Portico") ? [] : ["no heading or title"]),
				]`))
				if err != nil {
					t.Fatal(err)
				}
				for _, what := range append(wrong, b.violations(axe)...) {
					t.Errorf("%s: %s", name, what)
				}
				b.screenshot("console-" + screen.name + "-" + name)
			}
			for name, path := range pages {
				b.navigate(chromedp.Navigate(shop.ops.URL + path))
				look(name)
			}
			// What forms answer.
			b.navigate(chromedp.Navigate(shop.ops.URL + "/console/migration"))
			b.navigate(chromedp.Click(chromedp.CSS("form[action*=preview] button")))
			look("preview")
			b.navigate(chromedp.Navigate(shop.ops.URL + "/console/try?call=listProducts"))
			b.navigate(chromedp.Click(chromedp.CSS("form[method=post][action*=try] button")))
			if got := b.waitForText("#answer h2"); !strings.Contains(got, "200") {
				t.Errorf("the answer is %q", got)
			}
			look("answer")
			b.navigate(chromedp.Navigate(shop.ops.URL + "/console/credentials"))
			b.do(chromedp.SendKeys(chromedp.CSS("#name"), "Probe "+screen.name))
			b.navigate(chromedp.Click(chromedp.CSS("form[action*=add-consumer] button")))
			if got := b.waitForText("main"); !strings.Contains(got, "Consumer secret") {
				t.Errorf("a new program: %q", got)
			}
			look("secrets")
			// New figures come by themselves.
			b.navigate(chromedp.Navigate(shop.ops.URL + "/"))
			b.do(chromedp.Evaluate[chromedp.Void](`new Promise(resolve => new MutationObserver(resolve).observe(document.querySelector("#live"), {childList: true}))`, chromedp.EvalAwaitPromise))
			for _, said := range b.said {
				if strings.Contains(said, "422") { // of the page "fault"
					continue
				}
				t.Errorf("the browser says %q", said)
			}
		})
	}
	t.Run("log-in", func(t *testing.T) {
		l := serveLocal(t, true, "PORTICO_OPS_TOKEN=a-token-of-sixteen")
		b := openDanceBrowser(t)
		b.screenSize(360, 740, false)
		b.navigate(chromedp.Navigate(l.ops + "/console/cache"))
		b.waitForText("form.narrow")
		for _, what := range b.violations(axe) {
			t.Error(what)
		}
		b.screenshot("console-360-login")
		b.do(chromedp.SendKeys(chromedp.CSS("#token"), "a-token-of-sixteen"))
		b.navigate(chromedp.Click(chromedp.CSS("form.narrow button")))
		if got := b.waitForText("h1"); got != "Cache and circuits" {
			t.Errorf("after the log-in: %q", got)
		}
		b.navigate(chromedp.Click(chromedp.CSS("header button")))
		if got := b.waitForText("main"); !strings.Contains(got, "You are logged out.") {
			t.Errorf("after the log-out: %q", got)
		}
	})
	t.Run("without script", func(t *testing.T) {
		b := openDanceBrowser(t)
		if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
			t.Fatal(err)
		}
		b.navigate(chromedp.Navigate(shop.ops.URL + "/"))
		b.waitForText("noscript a")
	})
}
