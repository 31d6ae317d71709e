package console

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/config/testenv/chromium"
)

// TestHostileNamesInBrowser: a browser shows the pages of a console whose names and values are
// hostile, on a phone: no script in them runs, no address in them is loaded, and no page is wider
// than the screen.
func TestHostileNamesInBrowser(t *testing.T) {
	testenv.OnlyNightly(t, "browsers")
	t.Parallel()
	texts := hostileTexts()
	long := texts["long word"]
	for _, what := range []string{"long word", "long text", "NUL", "not UTF-8"} {
		delete(texts, what)
	}
	texts["all"] = strings.Join(slices.Sorted(maps.Values(texts)), " ") + long[:4000]
	b := chromium.OpenBrowser(t)
	b.ScreenSize(360, 740, true)
	for what, text := range texts {
		s := hostileSite(t, text)
		q := url.QueryEscape(text)
		if len(q) > 8<<10 {
			q = "x"
		}
		for _, path := range []string{
			"/", "/console/migration", "/console/differences?field=" + q, "/console/differences?view=samples", "/console/callers?search=" + q, "/console/callers?caller=" + q,
			"/console/credentials", "/console/credentials?list=keys", "/console/credentials?list=admins", "/console/cache?product=1", "/console/cache?product=" + q, "/console/try?search=" + q,
		} {
			b.Navigate(chromedp.Navigate(s.url + path))
			b.WaitForText("main h1")
			wrong, err := chromedp.Run(b.Ctx, chromedp.Evaluate[[]string](`[
				...(window.pwned ? ["a text ran as a script"] : []),
				...(document.cookie ? ["there is a cookie for scripts: " + document.cookie] : []),
				...[...document.querySelectorAll("script, img, iframe, object, embed, base, meta[http-equiv]")].filter(e => !e.src || new URL(e.src).host != location.host).map(e => e.outerHTML),
				...[...document.querySelectorAll("a")].filter(e => new URL(e.href).host != location.host).map(e => e.href + " is on another host"),
				...performance.getEntriesByType("resource").filter(e => new URL(e.name).host != location.host).map(e => e.name + " is on another host"),
				...(document.documentElement.scrollWidth > innerWidth ? ["the page is wider than the screen: " + document.documentElement.scrollWidth] : []),
			]`))
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range wrong {
				t.Errorf("%s, %.60s: %.200s", what, path, fault)
			}
		}
	}
	for _, said := range b.Said {
		if !strings.Contains(said, "422") { // for an invalid product or caller
			t.Errorf("the browser says %q", said)
		}
	}
}
