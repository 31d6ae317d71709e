package console

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

const testToken = "0123456789abcdef"

// A clock is the time of a test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A site is a served console with a browser.
type site struct {
	t       testing.TB
	console *Console
	url     string
	clock   *clock
	log     *testenv.Log
	browser *http.Client
}

// newSite serves a console for an empty program. change changes its options.
func newSite(t testing.TB, change func(*Options)) *site {
	t.Helper()
	s := &site{t: t, clock: &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}, log: &testenv.Log{}}
	o := Options{
		Scheme: func(*http.Request) string { return "http" }, Version: "v1", Dialect: "magento", Adapter: "sql",
		Log: slog.New(slog.NewTextHandler(s.log, nil)), Now: s.clock.Now, Gatherer: prometheus.NewRegistry(),
		Ready:    func(context.Context) (bool, string) { return true, "ready" },
		Changed:  func() []config.Row { return nil },
		Breakers: func() []Breaker { return nil },
		Migration: Migration{
			Plan:    func(context.Context) (*plan.Plan, error) { return plan.New(&plan.Situation{}), nil },
			Routes:  func() []string { return []string{"routes: []"} },
			Preview: func(context.Context, string) (*Preview, error) { return &Preview{Faults: []string{"no"}}, nil },
		},
		Credentials: Credentials{Consumers: func(context.Context) ([]adapter.Grant, error) { return nil, nil }},
		Cache:       Cache{Contents: func(int64) CacheContents { return CacheContents{} }},
		Try:         Try{Calls: []TryCall{{Name: "getProduct", Method: "GET", Path: "/api/rest/products/:id", Params: []string{"id"}}}, Base: func() string { return "http://contract.example" }},
		Callers: Callers{
			Load:    func(context.Context) (*CallerReport, error) { return &CallerReport{}, nil },
			Refused: func() []RefusedCall { return nil },
		},
		Differences: Differences{Load: func(context.Context) (*DifferenceReport, error) { return &DifferenceReport{}, nil }},
	}
	if change != nil {
		change(&o)
	}
	var err error
	if s.console, err = New(o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.NewCrossOriginProtection().Handler(s.console))
	t.Cleanup(server.Close)
	t.Cleanup(s.console.Close)
	s.url, s.browser = server.URL, newBrowser(t)
	return s
}

// newBrowser returns a client that keeps cookies and follows no redirects.
func newBrowser(t testing.TB) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// A reply is a reply to the browser, with its body.
type reply struct {
	*http.Response
	text string
}

func (s *site) do(r *http.Request) reply {
	s.t.Helper()
	response, err := s.browser.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{response, string(text)}
}

func (s *site) get(path string) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(r)
}

// post sends a form unchanged.
func (s *site) post(path string, form url.Values) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.do(r)
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf returns the token in the forms of a page.
func (s *site) csrf(page string) string {
	s.t.Helper()
	found := csrfField.FindStringSubmatch(s.get(page).text)
	if found == nil {
		s.t.Fatalf("no form on %s", page)
	}
	return found[1]
}

// submit sends a form of a page with its token.
func (s *site) submit(page, path string, form url.Values) reply {
	s.t.Helper()
	form.Set("csrf", s.csrf(page))
	return s.post(path, form)
}

// logIn logs in.
func (s *site) logIn() {
	s.t.Helper()
	if r := s.submit(loginPath, loginPath, url.Values{"token": {testToken}}); r.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("log-in: %d %s", r.StatusCode, r.text)
	}
}

func withToken(o *Options) { o.Token = testToken }

// pathOf returns an address for a route.
func pathOf(r route) string { return strings.TrimSuffix(r.path, "{$}") }

// TestEveryChangeNeedsItsToken: every registered POST is refused without the token of its form,
// with a wrong one, and with the token of another browser. A form that is added later is covered.
func TestEveryChangeNeedsItsToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, withToken)
	s.logIn()
	stranger := s.browser
	s.browser = newBrowser(t)
	foreign := s.csrf(loginPath)
	s.browser = stranger
	changes := 0
	for _, r := range s.console.routes() {
		if r.method == http.MethodGet {
			continue
		}
		changes++
		for name, form := range map[string]url.Values{
			"none": {}, "empty": {"csrf": {""}}, "wrong": {"csrf": {"AAAA"}}, "of another browser": {"csrf": {foreign}}, "in the address": {},
		} {
			path := pathOf(r)
			if name == "in the address" {
				path += "?csrf=" + url.QueryEscape(s.console.csrfToken(cookieOf(s)))
			}
			if got := s.post(path, form); got.StatusCode != http.StatusForbidden {
				t.Errorf("POST %s, token %s: %d, want 403", r.path, name, got.StatusCode)
			}
		}
	}
	if changes < 2 || s.get("/").StatusCode != http.StatusOK {
		t.Errorf("%d forms were tried, or one of them has logged out", changes)
	}
	if got := s.submit("/", "/console/logout", url.Values{}); got.StatusCode != http.StatusSeeOther {
		t.Errorf("with its token: %d", got.StatusCode)
	}
}

// cookieOf returns the value of the browser's cookie.
func cookieOf(s *site) string {
	s.t.Helper()
	at, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range s.browser.Jar.Cookies(at) {
		return c.Value
	}
	s.t.Fatal("no cookie")
	return ""
}

// TestEveryPageNeedsLogIn: without a session only the log-in is served, and no other page or
// change.
func TestEveryPageNeedsLogIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, withToken)
	for _, r := range s.console.routes() {
		if r.open {
			continue
		}
		var got reply
		if r.method == http.MethodGet {
			got = s.get(pathOf(r))
		} else {
			got = s.post(pathOf(r), url.Values{"csrf": {s.csrf(loginPath)}})
		}
		if got.StatusCode != http.StatusSeeOther || !strings.HasPrefix(got.Header.Get("Location"), loginPath) || got.text != "" && strings.Contains(got.text, "<main") {
			t.Errorf("%s %s: %d to %q", r.method, r.path, got.StatusCode, got.Header.Get("Location"))
		}
	}
	closed := newSite(t, func(o *Options) { o.Closed = true })
	for _, r := range closed.console.routes() {
		got := closed.get(pathOf(r))
		if r.method != http.MethodGet {
			got = closed.post(pathOf(r), nil)
		}
		if got.StatusCode != http.StatusForbidden || !strings.Contains(got.text, "ops.token") {
			t.Errorf("closed, %s %s: %d", r.method, r.path, got.StatusCode)
		}
	}
}

// TestHeaders: every answer has the headers that restrict browsers, and no page contains elements
// that the policy forbids.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, path := range []string{"/", loginPath, "/console/nothing", s.console.assetPath("style.css")} {
		got := s.get(path)
		policy := got.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") ||
			got.Header.Get("X-Frame-Options") != "DENY" || got.Header.Get("Referrer-Policy") == "" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, got.Header)
		}
		if isAsset := strings.HasPrefix(path, assetsPath); (got.Header.Get("Cache-Control") == "no-store") == isAsset {
			t.Errorf("%s: Cache-Control %q", path, got.Header.Get("Cache-Control"))
		}
	}
	err := templateWalk(func(name, text string) {
		for _, forbidden := range []string{" style=", "<style", " onclick", " onload", "javascript:", "http://", "https://", "<script>"} {
			if strings.Contains(text, forbidden) {
				t.Errorf("%s has %q, which the policy forbids", name, forbidden)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// templateWalk calls use with each template.
func templateWalk(use func(name, text string)) error {
	entries, err := templateFiles.ReadDir("templates")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		text, err := templateFiles.ReadFile("templates/" + entry.Name())
		if err != nil {
			return err
		}
		use(entry.Name(), string(text))
	}
	return nil
}

// TestFirstPage: the first page and its assets have at most 100 KB in total, and come from this
// host.
func TestFirstPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	page := s.get("/").text
	size := len(page)
	for _, found := range regexp.MustCompile(`(?:href|src)="(/console/assets/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		got := s.get(found[1])
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", found[1], got.StatusCode)
		}
		size += len(got.text)
	}
	if size > 100_000 || size < 5_000 {
		t.Errorf("%d bytes", size)
	}
	t.Logf("the first page has %d bytes", size)
}

// TestLogIn: the right token opens a session, in another cookie than before, and leads back to the
// page; the log has no token.
func TestLogIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, withToken)
	if got := s.get("/console/events"); got.Header.Get("Location") != loginPath+"?next=%2Fconsole%2Fevents" {
		t.Errorf("led to %q", got.Header.Get("Location"))
	}
	page := loginPath + "?next=%2Fconsole%2Fevents"
	wrong := s.submit(page, loginPath, url.Values{"token": {testToken + "0"}, "next": {"/console/events"}})
	if wrong.StatusCode != http.StatusUnauthorized || !strings.Contains(wrong.text, "not the token") || strings.Contains(wrong.text, testToken) || !strings.Contains(wrong.text, `value="/console/events"`) {
		t.Errorf("wrong token: %d %s", wrong.StatusCode, wrong.text)
	}
	before := cookieOf(s)
	right := s.submit(page, loginPath, url.Values{"token": {testToken}, "next": {"/console/events"}})
	if right.StatusCode != http.StatusSeeOther || right.Header.Get("Location") != "/console/events" || cookieOf(s) == before {
		t.Errorf("right token: %d to %q", right.StatusCode, right.Header.Get("Location"))
	}
	cookie := right.Header.Get("Set-Cookie")
	if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || strings.Contains(cookie, "Secure") || strings.Contains(cookie, "Expires") {
		t.Errorf("cookie %q", cookie)
	}
	if got := s.get("/"); got.StatusCode != http.StatusOK || !strings.Contains(got.text, "Log out") {
		t.Errorf("logged in: %d", got.StatusCode)
	}
	out := s.submit("/", "/console/logout", url.Values{})
	if out.StatusCode != http.StatusSeeOther || s.get("/").StatusCode != http.StatusSeeOther {
		t.Errorf("logged out: %d, and the session goes on", out.StatusCode)
	}
	if log := s.log.String(); strings.Contains(log, testToken) || strings.Contains(log, before) || strings.Count(log, "msg=audit") != 3 {
		t.Errorf("log:\n%s", log)
	}
}

// TestSecureCookie: behind TLS the cookie is sent over TLS only.
func TestSecureCookie(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *Options) { o.Token, o.Scheme = testToken, func(*http.Request) string { return "https" } })
	if got := s.get(loginPath); !strings.Contains(got.Header.Get("Set-Cookie"), "; Secure") {
		t.Errorf("cookie %q", got.Header.Get("Set-Cookie"))
	}
}

// TestNextPage: a log-in leads nowhere but to a page of the console.
func TestNextPage(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"": "/", "/": "/", "/console/events": "/console/events", "/console/x?call=a&page=2": "/console/x?call=a&page=2",
		"https://example.com/console/": "/", "//example.com/console/": "/", "/\\example.com": "/", "/console/\\..": "/", "/demo/reset": "/",
		loginPath: "/", "javascript:alert(1)": "/", "/console/a\r\nX: y": "/", "console/events": "/",
	} {
		if got := nextPage(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

// TestLogInIsThrottled: after a few attempts a network has to wait, with the right token, too.
func TestLogInIsThrottled(t *testing.T) {
	t.Parallel()
	s := newSite(t, withToken)
	for i := range loginBurst {
		if got := s.submit(loginPath, loginPath, url.Values{"token": {"wrong"}}); got.StatusCode != http.StatusUnauthorized {
			t.Fatalf("attempt %d: %d", i, got.StatusCode)
		}
	}
	if got := s.submit(loginPath, loginPath, url.Values{"token": {testToken}}); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "5" {
		t.Errorf("one more: %d, Retry-After %q", got.StatusCode, got.Header.Get("Retry-After"))
	}
	s.clock.advance(loginInterval)
	s.logIn()
}

// TestSessionsEnd: a session ends when it is idle, after its maximum time, and when there are too
// many sessions.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Unix(1000, 0)}
	s := newSessions(clock.Now)
	value, _ := s.begin()
	for _, step := range []struct {
		name  string
		after time.Duration
		use   bool
		want  bool
	}{
		{"new", 0, true, true},
		{"used in time", idleTime - time.Second, true, true},
		{"again", idleTime - time.Second, true, true},
		{"looked at, but not used", idleTime - time.Second, false, true},
		{"idle", time.Second, true, false},
	} {
		clock.advance(step.after)
		if got := s.lookUp(value, step.use) != nil; got != step.want {
			t.Errorf("%s: %t", step.name, got)
		}
	}
	value, _ = s.begin()
	for range int(sessionTime / idleTime * 2) {
		clock.advance(idleTime / 2)
		s.find(value)
	}
	if s.valid(value) {
		t.Error("a session in use goes on for ever")
	}
	var all []string
	for range maxSessions + 1 {
		clock.advance(time.Second)
		value, _ := s.begin()
		all = append(all, value)
	}
	if s.valid(all[0]) || !s.valid(all[1]) || !s.valid(all[maxSessions]) || len(s.open) != maxSessions {
		t.Errorf("%d sessions, of which the oldest must be gone", len(s.open))
	}
	if s.valid("") || s.valid("AAAAAAAAAAAAAAAAAAAAAAAAAA") {
		t.Error("an unknown cookie has a session")
	}
}

// TestFormsAreBounded: a form that is too large is refused.
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, withToken)
	if got := s.submit(loginPath, loginPath, url.Values{"x": {strings.Repeat("a", maxForm)}}); got.StatusCode != http.StatusBadRequest {
		t.Errorf("%d", got.StatusCode)
	}
}
