// Package console serves pages for the people who operate Portico: the present state of the
// process, the progress of a migration, the callers, and forms for changes.
//
// # Principles
//
//  1. The console does not depend on the program that it shows. [Options] has the functions that
//     supply data and carry out changes.
//  2. Pages are rendered here, with the style sheet and the little script that are embedded. They
//     work without the script, in a light and a dark color scheme, with a keyboard, and from 360
//     pixels on.
//  3. A browser is a way in for attackers: no page has code or styles of its own, loads anything
//     from another host, can be framed, or is stored. Every POST needs a CSRF token, which only a
//     page of this console knows, whatever its handler does. Names and values may come from a
//     hostile store, legacy store or client: they are escaped, and invisible characters in them are
//     made visible.
//  4. Everything in memory is bounded: sessions, streams, points of charts, entries of lists.
//  5. While no browser shows a page, one goroutine reads the metrics every few seconds, off the
//     path of requests.
//  6. Every change leaves a line in the log that begins with "audit". It contains the change and
//     the address from which it was made, and no secret.
//
// # How it is tested
//
// The pages over HTTP with data of the tests: sessions on a clock that moves, and every registered
// POST without its token. Package app has the pages of a whole program, and a browser that looks
// at all of them at three widths.
package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/limits"
)

// Options are the data and functions of a [Console]. Functions may be called concurrently. Errors
// that people can act upon are [Refusal]s; other errors are logged.
type Options struct {
	// Token is the secret for logging in; "" opens the pages to everybody who can reach the port.
	Token string
	// Closed opens no page if there is no Token.
	Closed bool
	// Scheme returns the scheme with which a browser has reached the outermost server.
	Scheme func(*http.Request) string
	// Version, Dialect and Adapter name the program; Demo means that its store is temporary.
	Version, Dialect, Adapter string
	Demo                      bool
	Log                       *slog.Logger
	Now                       func() time.Time // nil means time.Now

	// Gatherer has the metrics of the process.
	Gatherer prometheus.Gatherer
	// Ready reports whether the process can answer calls, and returns its answer to a load
	// balancer.
	Ready func(context.Context) (ready bool, answer string)
	// Changed returns the settings in force that differ from their defaults, secrets masked.
	Changed func() []config.Row
	// Breakers returns the circuit breakers with their latest changes.
	Breakers func() []Breaker

	Migration   Migration
	Differences Differences
	Callers     Callers
	Credentials Credentials
	Cache       Cache
	Try         Try
	// SharedCounts, unless nil, adds up attempts to log in over processes.
	SharedCounts limits.SharedRates
	// Reference returns the contents of two pages: the calls of the interface, and the differences
	// between its dialects. Both must be safe HTML.
	Reference func() (calls, dialects template.HTML, err error)
}

// A Refusal is an error for the user at the browser: it names the problem and the remedy.
type Refusal string

// Error returns the text.
func (r Refusal) Error() string { return string(r) }

// A Console serves the pages. It is safe for concurrent use.
type Console struct {
	Options
	mux      *http.ServeMux
	pages    map[string]*page
	assets   map[string]*asset
	sessions *sessions
	attempts *limits.Limiter[netip.Prefix]
	csrfKey  []byte
	history  *history
	streams  chan struct{} // has a place for each open stream
	done     chan struct{} // closed when the console closes
	closing  sync.Once
	sampling sync.WaitGroup
}

// The limit of attempts to log in from one network: a burst, and then one per interval in seconds.
const (
	loginBurst    = 5
	loginInterval = 5 * time.Second
)

// New returns a console and starts to sample its metrics. Close it in the end.
func New(o Options) (*Console, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Console{Options: o, sessions: newSessions(o.Now), csrfKey: make([]byte, 32), history: newHistory(o.Gatherer, o.Now), streams: make(chan struct{}, maxStreams), done: make(chan struct{})}
	_, _ = rand.Read(c.csrfKey) // never fails
	var err error
	if c.attempts, err = limits.NewLimiter[netip.Prefix](1/loginInterval.Seconds(), loginBurst, o.Now); err != nil {
		return nil, err
	}
	c.attempts.Share("console", o.SharedCounts)
	if c.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if c.pages, err = loadPages(c.assetPath); err != nil {
		return nil, err
	}
	c.mux = http.NewServeMux()
	for _, r := range c.routes() {
		c.mux.Handle(r.method+" "+r.path, c.guard(r))
	}
	for path, a := range c.assets {
		c.mux.Handle("GET "+assetsPath+path, a)
	}
	c.sampling.Go(func() { c.history.run(c.done) })
	return c, nil
}

// Close ends the streams and the sampling. It may be called more than once.
func (c *Console) Close() {
	c.closing.Do(func() { close(c.done) })
	c.sampling.Wait()
}

// Paths returns the patterns of http.ServeMux that the console serves.
func (c *Console) Paths() []string { return []string{"GET /{$}", "/console/"} }

// ServeHTTP serves a page.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	c.mux.ServeHTTP(w, r)
}

// setHeaders sets the headers that restrict the behavior of browsers on a page. The policy for
// referrers is same-origin, because with a stricter one browsers do not send the origin of a form.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// A route is a page or a change.
type route struct {
	method, path string
	open         bool // needs no log-in
	handle       func(*visit) error
}

// routes returns all routes. A new form is protected by being here.
func (c *Console) routes() []route {
	return []route{
		{"GET", loginPath, true, (*visit).showLogin},
		{"POST", loginPath, true, (*visit).logIn},
		{"POST", "/console/logout", false, (*visit).logOut},
		{"GET", overviewPath, false, (*visit).showOverview},
		{"GET", "/console/events", false, (*visit).streamOverview},
		{"GET", migrationPath, false, (*visit).showMigration},
		{"POST", migrationPath + "/preview", false, (*visit).previewRoutes},
		{"GET", differencesPath, false, (*visit).showDifferences},
		{"GET", callersPath, false, (*visit).showCallers},
		{"GET", credentialsPath, false, showCredentials},
		{"POST", credentialsPath + "/add-consumer", false, addConsumer},
		{"POST", credentialsPath + "/add-token", false, addToken},
		{"POST", credentialsPath + "/add-key", false, addKey},
		{"POST", credentialsPath + "/add-admin", false, addAdmin},
		{"POST", credentialsPath + "/remove-consumer", false, removeConsumer},
		{"POST", credentialsPath + "/revoke-token", false, revokeToken},
		{"POST", credentialsPath + "/revoke-key", false, revokeKey},
		{"POST", credentialsPath + "/disable-admin", false, disableAdmin},
		{"POST", credentialsPath + "/enable-admin", false, enableAdmin},
		{"GET", cachePath, false, (*visit).showCache},
		{"POST", cachePath + "/purge", false, (*visit).purgeAll},
		{"POST", cachePath + "/purge-tag", false, (*visit).purgeTag},
		{"POST", cachePath + "/purge-product", false, (*visit).purgeProduct},
		{"GET", tryPath, false, (*visit).showTry},
		{"POST", tryPath, false, (*visit).sendTry},
		{"GET", interfacePath, false, (*visit).showInterface},
		{"GET", dialectsPath, false, (*visit).showDialects},
	}
}

// The paths of the pages.
const (
	overviewPath = "/{$}"
	loginPath    = "/console/login"
)

// A visit is one request for a page.
type visit struct {
	*Console
	w       http.ResponseWriter
	r       *http.Request
	path    string   // of the page, for links
	session *session // nil without a log-in
	csrf    string   // token for the forms of the page
}

// maxForm is the maximum size of a form in bytes.
const maxForm = 256 << 10

// guard returns the handler of a route: it asks for a log-in and checks the token of a form.
func (c *Console) guard(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Console: c, w: w, r: r, path: r.URL.Path}
		if c.Closed && c.Token == "" {
			v.fail(http.StatusForbidden, "Others can reach this store, so the console needs a token: set ops.token (PORTICO_OPS_TOKEN) and start again.")
			return
		}
		value := v.cookieValue()
		if c.Token != "" {
			v.session = c.sessions.find(value)
		}
		if c.Token != "" && v.session == nil && !route.open {
			v.askToLogIn()
			return
		}
		if value == "" {
			value = rand.Text()
			v.setCookie(value)
		}
		v.csrf = c.csrfToken(value)
		if route.method != http.MethodGet {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if err := r.ParseForm(); err != nil {
				v.fail(http.StatusBadRequest, "The form could not be read, or is too large.")
				return
			}
			if !c.validCSRF(value, r.PostForm.Get("csrf")) {
				v.fail(http.StatusForbidden, "This form is not from this console, or it is too old: go back, load the page again, and repeat what you did.")
				return
			}
		}
		v.report(route.handle(v))
	})
}

// report answers a request whose handler has failed.
func (v *visit) report(err error) {
	var refusal Refusal
	switch {
	case err == nil:
	case errors.As(err, &refusal):
		v.fail(http.StatusUnprocessableEntity, refusal.Error())
	case v.r.Context().Err() != nil:
	default:
		v.logError(err)
		v.fail(http.StatusInternalServerError, "That did not work. The log says why.")
	}
}

// logError logs the beginning of an error. The error may quote the contents of a form.
func (v *visit) logError(err error) {
	const most = 1 << 10
	text := err.Error()
	if len(text) > most {
		text = string(cutText([]byte(text), most)) + "…"
	}
	v.Log.ErrorContext(v.r.Context(), "console", "path", v.r.URL.Path, "error", text)
}

// fail shows a page with an error.
func (v *visit) fail(status int, text string) {
	_ = v.show(status, "fault", "That did not work", text) // rendering this page cannot fail
}

// show renders a page.
func (v *visit) show(status int, name, title string, content any) error {
	var body bytes.Buffer
	f := &frame{
		Title: title, Path: v.path, CSRF: v.csrf, LoggedIn: v.session != nil, Version: v.Version, Demo: v.Demo,
		Notice: notices()[v.r.URL.Query().Get("notice")], Content: content,
	}
	if v.Token == "" && !v.Closed || v.session != nil {
		f.Nav = navigation()
	}
	if err := v.pages[name].render(&body, f); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(visible(body.Bytes())) // fails only if the client has disconnected
	return nil
}

// redirect sends the browser to another page of the console, which shows the notice with the key
// notice.
func (v *visit) redirect(path, notice string) error {
	if notice != "" {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		path += separator + "notice=" + url.QueryEscape(notice)
	}
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

// notices returns the notices that pages show after a change, by key. The address of a page has
// only the key, so that a link cannot make a page say anything else.
func notices() map[string]string {
	return map[string]string{
		"logged-out":       "You are logged out.",
		"purged":           "Purged.",
		"purged-here":      "Purged here; the other replicas follow when Redis can be reached again.",
		"admin-added":      "The administrator is added.",
		"admin-disabled":   "The administrator is disabled. Every server refuses the tokens and keys within seconds.",
		"admin-enabled":    "The administrator can log in again.",
		"consumer-removed": "The program is removed with its tokens. Every server refuses them within seconds.",
		"token-revoked":    "The token is revoked. Every server refuses it within seconds.",
		"key-revoked":      "The key is revoked. Every server refuses it within seconds.",
	}
}

// audit logs a change. It must be given no secret.
func (v *visit) audit(action string, attributes ...any) {
	by := "console without log-in"
	if v.session != nil {
		by = "console session " + v.session.name
	}
	v.Log.InfoContext(v.r.Context(), "audit", slices.Concat([]any{"action", action, "by", by, "client", clientAddress(v.r)}, attributes)...)
}
