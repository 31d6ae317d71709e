package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/config/testenv/chromium"
)

// TestConsoleInBrowser: a browser shows every page of the console at three widths, light and dark:
// nothing is wider than the screen, axe finds nothing, nothing comes from another host, and the
// browser reports no violation of the content security policy.
func TestConsoleInBrowser(t *testing.T) {
	testenv.OnlyNightly(t, "browsers")
	t.Parallel()
	axe := chromium.AxeSource(t)
	shop := newConsoleShop(t)
	addConsumers(t, shop.app.db, 60)
	apptest.Send(t, http.MethodGet, shop.front.URL+"/api/rest/stockitems", "", "Authorization", strings.Replace(apptest.DemoAdmin(), `%26`, `x%26`, 1))
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
			b := chromium.OpenBrowser(t)
			b.ScreenSize(screen.width, screen.height, false)
			b.ColorScheme(screen.scheme)
			look := func(name string) {
				t.Helper()
				b.WaitForText("main h1")
				wrong, err := chromedp.Run(b.Ctx, chromedp.Evaluate[[]string](`[
					...(document.documentElement.scrollWidth > innerWidth ? ["the page is wider than the screen: " + document.documentElement.scrollWidth] : []),
					...performance.getEntriesByType("resource").filter(e => new URL(e.name).host != location.host).map(e => e.name + " is on another host"),
					...[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea")].filter(e => e.offsetParent && e.getBoundingClientRect().height < 40).map(e => e.outerHTML + " is too low"),
					...(document.querySelectorAll("h1").length == 1 && document.title.endsWith("Portico") ? [] : ["no heading or title"]),
				]`))
				if err != nil {
					t.Fatal(err)
				}
				for _, what := range append(wrong, b.Violations(axe)...) {
					t.Errorf("%s: %s", name, what)
				}
				b.Screenshot("console-" + screen.name + "-" + name)
			}
			for name, path := range pages {
				b.Navigate(chromedp.Navigate(shop.ops.URL + path))
				look(name)
				if name == "overview" && screen.name == "1280" {
					chromium.Picture(t, b.Ctx, "cmd/portico/console.png")
				}
			}
			// The replies to forms.
			b.Navigate(chromedp.Navigate(shop.ops.URL + "/console/migration"))
			b.Navigate(chromedp.Click(chromedp.CSS("form[action*=preview] button")))
			look("preview")
			b.Navigate(chromedp.Navigate(shop.ops.URL + "/console/try?call=listProducts"))
			b.Navigate(chromedp.Click(chromedp.CSS("form[method=post][action*=try] button")))
			if got := b.WaitForText("#answer h2"); !strings.Contains(got, "200") {
				t.Errorf("the answer is %q", got)
			}
			look("answer")
			b.Navigate(chromedp.Navigate(shop.ops.URL + "/console/credentials"))
			b.Do(chromedp.SendKeys(chromedp.CSS("#name"), "Probe "+screen.name))
			b.Navigate(chromedp.Click(chromedp.CSS("form[action*=add-consumer] button")))
			if got := b.WaitForText("main"); !strings.Contains(got, "Consumer secret") {
				t.Errorf("a new program: %q", got)
			}
			look("secrets")
			// New figures arrive without a reload.
			b.Navigate(chromedp.Navigate(shop.ops.URL + "/"))
			b.Do(chromedp.Evaluate[chromedp.Void](`new Promise(resolve => new MutationObserver(resolve).observe(document.querySelector("#live"), {childList: true}))`, chromedp.EvalAwaitPromise))
			for _, said := range b.Said {
				if strings.Contains(said, "422") { // of the page "fault"
					continue
				}
				t.Errorf("the browser says %q", said)
			}
		})
	}
	t.Run("log-in", func(t *testing.T) {
		l := serveLocal(t, true, "PORTICO_OPS_TOKEN=a-token-of-sixteen")
		b := chromium.OpenBrowser(t)
		b.ScreenSize(360, 740, false)
		b.Navigate(chromedp.Navigate(l.ops + "/console/cache"))
		b.WaitForText("form.narrow")
		for _, what := range b.Violations(axe) {
			t.Error(what)
		}
		b.Screenshot("console-360-login")
		b.Do(chromedp.SendKeys(chromedp.CSS("#token"), "a-token-of-sixteen"))
		b.Navigate(chromedp.Click(chromedp.CSS("form.narrow button")))
		if got := b.WaitForText("h1"); got != "Cache and circuits" {
			t.Errorf("after the log-in: %q", got)
		}
		b.Navigate(chromedp.Click(chromedp.CSS("header button")))
		if got := b.WaitForText("main"); !strings.Contains(got, "You are logged out.") {
			t.Errorf("after the log-out: %q", got)
		}
	})
	t.Run("without script", func(t *testing.T) {
		b := chromium.OpenBrowser(t)
		if _, err := chromedp.Call(b.Ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
			t.Fatal(err)
		}
		b.Navigate(chromedp.Navigate(shop.ops.URL + "/"))
		b.WaitForText("noscript a")
	})
}
