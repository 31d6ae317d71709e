package app

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/portico-commerce/portico/contracttests/nightly"
	"github.com/portico-commerce/portico/contracttests/programs/chromium"
)

// screenshotsDir is the environment variable that names a folder for screenshots.
const screenshotsDir = "PORTICO_TEST_SCREENSHOTS"

// A danceBrowser is a Chromium that walks through the pages.
type danceBrowser struct {
	t   *testing.T
	ctx context.Context

	mu   sync.Mutex
	said []string // messages of the browser about the pages
}

// openDanceBrowser starts a browser that is closed at the end of the test.
func openDanceBrowser(t *testing.T) *danceBrowser {
	t.Helper()
	ctx := chromium.Open(t)
	b := &danceBrowser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	return b
}

// listen handles the events of the browser that tests check.
func (b *danceBrowser) listen(event any) {
	said := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Text
	case *log.EventEntryAdded:
		said = e.Entry.Text
	}
	// Browsers ask for an icon by themselves.
	if b.mu.Lock(); said != "" && !strings.Contains(said, "404") {
		b.said = append(b.said, said)
	}
	b.mu.Unlock()
}

// do runs steps, and fails the test if one fails.
func (b *danceBrowser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			b.t.Fatalf("step %d: %v", i+1, err)
		}
	}
}

// screenSize sets the size of the window, as on a phone or a desktop.
func (b *danceBrowser) screenSize(width, height int64, mobile bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: mobile})
	if err != nil {
		b.t.Fatal(err)
	}
}

// navigate runs steps that lead to another page, and waits for that page.
func (b *danceBrowser) navigate(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// click clicks an element, without waiting for another page.
func (b *danceBrowser) click(selector string) {
	b.t.Helper()
	b.navigate(chromedp.Click(chromedp.CSS(selector)))
}

// screenshot saves a screenshot if the environment variable screenshotsDir is set.
func (b *danceBrowser) screenshot(name string) {
	b.t.Helper()
	folder := os.Getenv(screenshotsDir)
	if folder == "" {
		return
	}
	shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), shot.Data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// submitLogin fills in the log-in form and sends it.
func (b *danceBrowser) submitLogin(name, password string) {
	b.t.Helper()
	b.do(
		chromedp.SendKeys(chromedp.CSS(`[name="login[username]"]`), name),
		chromedp.SendKeys(chromedp.CSS(`[name="login[password]"]`), password),
	)
	b.click("#loginForm button")
}

// waitForText waits for an element and returns its text.
func (b *danceBrowser) waitForText(selector string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		b.t.Fatalf("%s: %v", selector, err)
	}
	return strings.TrimSpace(text)
}

// checkLayout fails the test if the page is wider than the screen, has controls that are
// too small to tap, or has a field without a label.
func (b *danceBrowser) checkLayout() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	wrong, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`[
		...(document.documentElement.scrollWidth > innerWidth ? ["the page is wider than the screen"] : []),
		...[...document.querySelectorAll("button, input:not([type=hidden])")].filter(e => e.getBoundingClientRect().height < 44).map(e => e.outerHTML + " is too low"),
		...[...document.querySelectorAll("input:not([type=hidden])")].filter(e => !e.labels.length).map(e => e.outerHTML + " has no label"),
		...(document.querySelectorAll("h1").length == 1 && document.documentElement.lang && document.title ? [] : ["no heading, language or title"]),
		...(getComputedStyle(document.body).maxWidth == "none" ? ["the style is not taken"] : []),
	]`))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, what := range wrong {
		b.t.Error(what)
	}
}

// A danceProgram is a web application on another site. Users come from it and are
// redirected back to it.
type danceProgram struct {
	*httptest.Server
	base string // base URL, on another site than the shop
	back chan url.Values
}

// startProgram starts a danceProgram.
func startProgram(t *testing.T) *danceProgram {
	t.Helper()
	p := &danceProgram{back: make(chan url.Values, 10)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/go":
			fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><title>Program</title><a id="go" href="%s">Connect</a>`, html.EscapeString(r.URL.Query().Get("to")))
		case "/cb":
			p.back <- r.URL.Query()
			if r.Referer() != "" {
				t.Errorf("the program receives the referrer %s", r.Referer())
			}
			fmt.Fprint(w, `<!DOCTYPE html><html lang="en"><title>Program</title><p id="back">Back</p>`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(p.Close)
	p.base = strings.Replace(p.URL, "127.0.0.1", "localhost", 1)
	return p
}

// follow opens an address as a link on a page of the program does.
func (b *danceBrowser) follow(p *danceProgram, address string) {
	b.t.Helper()
	b.navigate(chromedp.Navigate(p.base + "/go?to=" + url.QueryEscape(address)))
	b.click("#go")
}

// TestBrowser checks that both kinds of users can authorize programs in a browser, on a
// desktop and on a phone, and that the resulting tokens work. On no page axe finds anything.
func TestBrowser(t *testing.T) {
	nightly.Only(t, "browsers")
	t.Parallel()
	shop := startDances(t, "magento")
	program, axe := startProgram(t), axeSource(t)
	for kind, user := range demoUsers {
		for _, screen := range []struct {
			name          string
			width, height int64
			form          string // path of the form at the program
		}{{"desk", 1280, 800, ""}, {"tablet", 768, 1024, ""}, {"phone", 360, 640, ""}, {"pop-up", 360, 420, "/simple"}} {
			t.Run(kind+"/"+screen.name, func(t *testing.T) {
				b := openDanceBrowser(t)
				b.screenSize(screen.width, screen.height, screen.name == "phone")
				shoot := func(what string) {
					b.checkLayout()
					for _, violation := range b.violations(axe) {
						t.Errorf("%s: %s", what, violation)
					}
					b.screenshot(kind + "-" + screen.name + "-" + what)
				}
				b.navigate(chromedp.Navigate(shop.URL + "/"))
				b.waitForText("h1")
				shoot("landing")
				begin := func(callback string) *dance {
					t.Helper()
					d, err := danceLibraries()[0].begin(shop.client, shop.URL, user.form+screen.form, callback)
					if err != nil {
						t.Fatal(err)
					}
					return d
				}
				d := begin(program.base + "/cb?keep=1")
				b.follow(program, d.authorize)
				b.waitForText("#loginForm")
				shoot("log-in")
				b.submitLogin(user.name, "not the password")
				if got := b.waitForText(".alert"); got != user.wrong {
					t.Errorf("after a wrong password: %q, want %q", got, user.wrong)
				}
				shoot("wrong-password")
				b.submitLogin("", user.password) // the form still has the name
				if got := b.waitForText("main"); !strings.Contains(got, "Data set requests access to your account") || !strings.Contains(got, "You are logged in as "+user.name) {
					t.Errorf("the page says %q", got)
				}
				shoot("consent")
				b.click("#logoutForm button")
				b.waitForText("#loginForm")
				b.submitLogin(user.name, user.password)
				b.click("#oauth_authorize_reject button")
				b.waitForText("#back")
				if got := <-program.back; got.Get("rejected") != "1" || got.Get("keep") != "1" || got.Has("oauth_verifier") {
					t.Errorf("rejected, the user comes back with %v", got)
				}

				d = begin(program.base + "/cb?keep=1") // the rejected token is gone
				// A user who comes from another site is asked to log in again, even to confirm.
				for _, address := range []string{d.authorize, strings.Replace(d.authorize, user.form, user.form+"/confirm/", 1)} {
					if screen.form != "" {
						break
					}
					b.follow(program, address)
					b.waitForText("#loginForm")
				}
				b.follow(program, d.authorize)
				b.submitLogin(user.name, user.password)
				b.click("#oauth_authorize_confirm button")
				b.waitForText("#back")
				back := <-program.back
				if want := screen.form != "" && kind == "customer"; (back.Get("simple") == "1") != want {
					t.Errorf("the user comes back with %v, simple: want %t", back, want)
				}
				client, err := d.finish(back.Get("oauth_verifier"))
				if err != nil {
					t.Fatal(err)
				}
				if code, body := getURL(t, client, shop.URL+user.mine); code != http.StatusOK {
					t.Errorf("the new token: %d %s", code, body)
				}

				b.navigate(chromedp.Navigate(d.authorize))
				if got := b.waitForText("main"); !strings.Contains(got, "An error occurred. Your authorization request is invalid.") {
					t.Errorf("a token that was used: %q", got)
				}
				shoot("invalid")
				b.navigate(chromedp.Navigate(begin("oob").authorize))
				b.click("#oauth_authorize_confirm button")
				if got := b.waitForText("main"); !strings.Contains(got, "Authorization confirmed.") || !strings.Contains(got, "Verifier code: ") {
					t.Errorf("out of band: %q", got)
				}
				b.do(chromedp.Click(chromedp.CSS("#copy")))
				b.do(chromedp.WaitVisible(chromedp.CSS("#copied:not(:empty)")))
				if got := b.waitForText("#copied"); got != "Copied." {
					t.Errorf("the button to copy says %q", got)
				}
				shoot("verifier")
				b.navigate(chromedp.Navigate(begin("oob").authorize))
				b.click("#oauth_authorize_reject button")
				if got := b.waitForText("main"); !strings.Contains(got, "The application access request is rejected.") {
					t.Errorf("rejected out of band: %q", got)
				}
				shoot("rejected")
				for _, said := range b.said {
					t.Errorf("the browser says %q", said)
				}
			})
		}
	}
}
