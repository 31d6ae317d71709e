package consent_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/config/testenv/chromium"
)

// submitLogin fills in the log-in form and sends it.
func submitLogin(t *testing.T, b *chromium.Browser, name, password string) {
	t.Helper()
	b.Do(
		chromedp.SendKeys(chromedp.CSS(`[name="login[username]"]`), name),
		chromedp.SendKeys(chromedp.CSS(`[name="login[password]"]`), password),
	)
	b.Click("#loginForm button")
}

// checkLayout fails the test if the page is wider than the screen, has controls that are
// too small to tap, or has a field without a label.
func checkLayout(t *testing.T, b *chromium.Browser) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, testenv.Patience(t))
	defer cancel()
	wrong, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`[
		...(document.documentElement.scrollWidth > innerWidth ? ["the page is wider than the screen"] : []),
		...[...document.querySelectorAll("button, input:not([type=hidden])")].filter(e => e.getBoundingClientRect().height < 44).map(e => e.outerHTML + " is too low"),
		...[...document.querySelectorAll("input:not([type=hidden])")].filter(e => !e.labels.length).map(e => e.outerHTML + " has no label"),
		...(document.querySelectorAll("h1").length == 1 && document.documentElement.lang && document.title ? [] : ["no heading, language or title"]),
		...(getComputedStyle(document.body).maxWidth == "none" ? ["the style is not taken"] : []),
	]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range wrong {
		t.Error(what)
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
func follow(t *testing.T, b *chromium.Browser, p *danceProgram, address string) {
	t.Helper()
	b.Navigate(chromedp.Navigate(p.base + "/go?to=" + url.QueryEscape(address)))
	b.Click("#go")
}

// TestBrowser checks that both kinds of users can authorize programs in a browser, on a
// desktop and on a phone, and that the resulting tokens work. On no page axe finds anything.
func TestBrowser(t *testing.T) {
	testenv.OnlyNightly(t, "browsers")
	t.Parallel()
	shop := startDances(t, "magento")
	program, axe := startProgram(t), chromium.AxeSource(t)
	for kind, user := range demoUsers {
		for _, screen := range []struct {
			name          string
			width, height int64
			form          string // path of the form at the program
		}{{"desk", 1280, 800, ""}, {"tablet", 768, 1024, ""}, {"phone", 360, 640, ""}, {"pop-up", 360, 420, "/simple"}} {
			t.Run(kind+"/"+screen.name, func(t *testing.T) {
				b := chromium.OpenBrowser(t)
				b.ScreenSize(screen.width, screen.height, screen.name == "phone")
				shoot := func(what string) {
					checkLayout(t, b)
					for _, violation := range b.Violations(axe) {
						t.Errorf("%s: %s", what, violation)
					}
					b.Screenshot(kind + "-" + screen.name + "-" + what)
				}
				b.Navigate(chromedp.Navigate(shop.URL + "/"))
				b.WaitForText("h1")
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
				follow(t, b, program, d.authorize)
				b.WaitForText("#loginForm")
				shoot("log-in")
				submitLogin(t, b, user.name, "not the password")
				if got := b.WaitForText(".alert"); got != user.wrong {
					t.Errorf("after a wrong password: %q, want %q", got, user.wrong)
				}
				shoot("wrong-password")
				submitLogin(t, b, "", user.password) // the form still has the name
				if got := b.WaitForText("main"); !strings.Contains(got, "Data set requests access to your account") || !strings.Contains(got, "You are logged in as "+user.name) {
					t.Errorf("the page says %q", got)
				}
				shoot("consent")
				b.Click("#logoutForm button")
				b.WaitForText("#loginForm")
				submitLogin(t, b, user.name, user.password)
				b.Click("#oauth_authorize_reject button")
				b.WaitForText("#back")
				if got := <-program.back; got.Get("rejected") != "1" || got.Get("keep") != "1" || got.Has("oauth_verifier") {
					t.Errorf("rejected, the user comes back with %v", got)
				}

				d = begin(program.base + "/cb?keep=1") // the rejected token is gone
				// A user who comes from another site is asked to log in again, even to confirm.
				for _, address := range []string{d.authorize, strings.Replace(d.authorize, user.form, user.form+"/confirm/", 1)} {
					if screen.form != "" {
						break
					}
					follow(t, b, program, address)
					b.WaitForText("#loginForm")
				}
				follow(t, b, program, d.authorize)
				submitLogin(t, b, user.name, user.password)
				b.Click("#oauth_authorize_confirm button")
				b.WaitForText("#back")
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

				b.Navigate(chromedp.Navigate(d.authorize))
				if got := b.WaitForText("main"); !strings.Contains(got, "An error occurred. Your authorization request is invalid.") {
					t.Errorf("a token that was used: %q", got)
				}
				shoot("invalid")
				b.Navigate(chromedp.Navigate(begin("oob").authorize))
				b.Click("#oauth_authorize_confirm button")
				if got := b.WaitForText("main"); !strings.Contains(got, "Authorization confirmed.") || !strings.Contains(got, "Verifier code: ") {
					t.Errorf("out of band: %q", got)
				}
				b.Do(chromedp.Click(chromedp.CSS("#copy")))
				b.Do(chromedp.WaitVisible(chromedp.CSS("#copied:not(:empty)")))
				if got := b.WaitForText("#copied"); got != "Copied." {
					t.Errorf("the button to copy says %q", got)
				}
				shoot("verifier")
				b.Navigate(chromedp.Navigate(begin("oob").authorize))
				b.Click("#oauth_authorize_reject button")
				if got := b.WaitForText("main"); !strings.Contains(got, "The application access request is rejected.") {
					t.Errorf("rejected out of band: %q", got)
				}
				shoot("rejected")
				for _, said := range b.Said {
					t.Errorf("the browser says %q", said)
				}
			})
		}
	}
}
