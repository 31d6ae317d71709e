package apptest

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// A Visit is a script that walks through the pages on which users let programs act for them. It
// holds the last reply.
type Visit struct {
	t      testing.TB
	client *http.Client
	Body   string
	Reply  *http.Response
}

// NewVisit returns a script with a client's transport that stores cookies and does not follow
// redirects.
func NewVisit(t testing.TB, client *http.Client) *Visit {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := *client
	browser.Jar, browser.CheckRedirect = jar, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Visit{t: t, client: &browser}
}

// Get opens a page.
func (v *Visit) Get(address string) *Visit {
	v.t.Helper()
	reply, err := v.client.Get(address)
	return v.read(reply, err)
}

// post sends a form.
func (v *Visit) post(address string, form url.Values) *Visit {
	v.t.Helper()
	reply, err := v.client.PostForm(address, form)
	return v.read(reply, err)
}

// read stores the reply and its body.
func (v *Visit) read(reply *http.Response, err error) *Visit {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	v.Reply, v.Body = reply, string(body)
	return v
}

// Find returns the first group of the match of pattern in the page.
func (v *Visit) Find(pattern string) string {
	v.t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(v.Body)
	if found == nil {
		v.t.Fatalf("no %s in %d\n%s", pattern, v.Reply.StatusCode, v.Body)
	}
	return found[1]
}

// Location returns the target of the redirect.
func (v *Visit) Location() string {
	v.t.Helper()
	if v.Reply.StatusCode != http.StatusFound {
		v.t.Fatalf("%d %s, want a redirect\n%s", v.Reply.StatusCode, v.Reply.Header, v.Body)
	}
	return v.Reply.Header.Get("Location")
}

// LogIn fills in the log-in form of the page and sends it.
func (v *Visit) LogIn(name, password string) *Visit {
	v.t.Helper()
	return v.post(v.Find(`id="loginForm" action="([^"]+)"`), url.Values{
		"login[username]": {name}, "login[password]": {password},
		"form_key": {v.Find(`name="form_key" value="([^"]+)"`)}, "oauth_token": {v.Find(`name="oauth_token" value="([^"]+)"`)},
	})
}

// Decide sends one of the two forms of the page, to accept or to reject.
func (v *Visit) Decide(form string) *Visit {
	v.t.Helper()
	token := v.Find(`name="oauth_token" value="([^"]+)"`)
	return v.Get(v.Find(`id="`+form+`" action="([^"]+)"`) + "?oauth_token=" + url.QueryEscape(token))
}

// Authorize walks through the pages as a user, and returns the URL to which the user is redirected
// at the end, and the verifier in it.
func (v *Visit) Authorize(address, name, password string) (back, verifier string) {
	v.t.Helper()
	if v.Get(address); strings.Contains(v.Body, "loginForm") {
		v.LogIn(name, password)
		v.Get(v.Location())
	}
	back = v.Decide("oauth_authorize_confirm").Location()
	u, err := url.Parse(back)
	if err != nil {
		v.t.Fatal(err)
	}
	return back, u.Query().Get("oauth_verifier")
}
