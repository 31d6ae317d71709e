package app

import (
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/dghubble/oauth1"
	mrjones "github.com/mrjones/oauth"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/mapping/consent"
)

// The consumer of the demo store, and the passwords of two of its users.
var (
	demoKey, demoSecret = strings.Repeat("a", 32), strings.Repeat("b", 32)
	demoUsers           = map[string]danceUser{
		"customer": {form: "/oauth/authorize", name: "ada@example.com", password: "ada-password-1", wrong: "Invalid login or password.", mine: "/api/rest/customers/1", cookie: "portico_customer"},
		"admin":    {form: "/admin/oauth_authorize", name: "admin", password: demo.AdminPassword, wrong: "Invalid User Name or Password.", mine: "/api/rest/customers", cookie: "portico_admin"},
	}
)

// A danceUser is a user who authorizes programs.
type danceUser struct {
	form, name, password, wrong string
	mine                        string // a call that needs the user's token
	cookie                      string
}

// A danceShop is a demo store whose users can log in.
type danceShop struct {
	app *app
	*httptest.Server
	// port80 is the base URL of the same store for clients that sign no port.
	port80 string
	client *http.Client // reaches both
}

// startDances serves a danceShop.
func startDances(t testing.TB, dialect string, environ ...string) *danceShop {
	t.Helper()
	a, server := startDemo(t, dialect, environ...)
	return &danceShop{app: a, Server: server, port80: "http://store.example", client: &http.Client{Transport: reaching(server)}}
}

// reaching returns a transport that connects to server, whatever host a request names.
func reaching(server *httptest.Server) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
}

// A danceLibrary is an OAuth library with which programs fetch tokens and make calls.
type danceLibrary struct {
	name string
	// unescapedNames says that the library does not escape parameter names when it signs
	// them, unlike all others.
	unescapedNames bool
	begin          func(client *http.Client, base, form, callback string) (*dance, error)
}

// A dance is an authorization in progress: the user opens the URL authorize, and finish
// takes the verifier that the user brings back.
type dance struct {
	authorize string
	finish    func(verifier string) (*http.Client, error)
}

// danceLibraries returns the libraries to test.
func danceLibraries() []danceLibrary {
	return []danceLibrary{
		{"dghubble", false, func(client *http.Client, base, form, callback string) (*dance, error) {
			config := &oauth1.Config{ConsumerKey: demoKey, ConsumerSecret: demoSecret, CallbackURL: callback, HTTPClient: client, Endpoint: oauth1.Endpoint{
				RequestTokenURL: base + "/oauth/initiate", AuthorizeURL: base + form, AccessTokenURL: base + "/oauth/token",
			}}
			token, secret, err := config.RequestToken()
			if err != nil {
				return nil, err
			}
			authorize, err := config.AuthorizationURL(token)
			if err != nil {
				return nil, err
			}
			return &dance{authorize.String(), func(verifier string) (*http.Client, error) {
				token, secret, err := config.AccessToken(token, secret, verifier)
				if err != nil {
					return nil, err
				}
				return config.Client(context.WithValue(context.Background(), oauth1.HTTPClient, client), oauth1.NewToken(token, secret)), nil
			}}, nil
		}},
		{"mrjones", true, func(client *http.Client, base, form, callback string) (*dance, error) {
			consumer := mrjones.NewCustomHttpClientConsumer(demoKey, demoSecret, mrjones.ServiceProvider{
				RequestTokenUrl: base + "/oauth/initiate/", AuthorizeTokenUrl: base + form + "/", AccessTokenUrl: base + "/oauth/token/index",
			}, client)
			request, authorize, err := consumer.GetRequestTokenAndUrl(callback)
			if err != nil {
				return nil, err
			}
			return &dance{authorize, func(verifier string) (*http.Client, error) {
				access, err := consumer.AuthorizeToken(request, verifier)
				if err != nil {
					return nil, err
				}
				return consumer.MakeHttpClient(access)
			}}, nil
		}},
	}
}

// A danceVisit is a script that walks through the pages. It holds the last reply.
type danceVisit struct {
	t      testing.TB
	client *http.Client
	body   string
	reply  *http.Response
}

// newVisit returns a script that stores cookies and does not follow redirects.
func (s *danceShop) newVisit(t testing.TB) *danceVisit {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := *s.client
	client.Jar, client.CheckRedirect = jar, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &danceVisit{t: t, client: &client}
}

// get opens a page.
func (v *danceVisit) get(address string) *danceVisit {
	v.t.Helper()
	reply, err := v.client.Get(address)
	return v.readReply(reply, err)
}

// post sends a form.
func (v *danceVisit) post(address string, form url.Values) *danceVisit {
	v.t.Helper()
	reply, err := v.client.PostForm(address, form)
	return v.readReply(reply, err)
}

// readReply stores the reply and its body.
func (v *danceVisit) readReply(reply *http.Response, err error) *danceVisit {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	v.reply, v.body = reply, string(body)
	return v
}

// find returns the first group of the match of pattern in the page.
func (v *danceVisit) find(pattern string) string {
	v.t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(v.body)
	if found == nil {
		v.t.Fatalf("no %s in %d\n%s", pattern, v.reply.StatusCode, v.body)
	}
	return found[1]
}

// location returns the target of the redirect.
func (v *danceVisit) location() string {
	v.t.Helper()
	if v.reply.StatusCode != http.StatusFound {
		v.t.Fatalf("%d %s, want a redirect\n%s", v.reply.StatusCode, v.reply.Header, v.body)
	}
	return v.reply.Header.Get("Location")
}

// logIn fills in the log-in form of the page and sends it.
func (v *danceVisit) logIn(name, password string) *danceVisit {
	v.t.Helper()
	return v.post(v.find(`id="loginForm" action="([^"]+)"`), url.Values{
		"login[username]": {name}, "login[password]": {password},
		"form_key": {v.find(`name="form_key" value="([^"]+)"`)}, "oauth_token": {v.find(`name="oauth_token" value="([^"]+)"`)},
	})
}

// decide sends one of the two forms of the page, to accept or to reject.
func (v *danceVisit) decide(form string) *danceVisit {
	v.t.Helper()
	token := v.find(`name="oauth_token" value="([^"]+)"`)
	return v.get(v.find(`id="`+form+`" action="([^"]+)"`) + "?oauth_token=" + url.QueryEscape(token))
}

// authorize walks through the pages, and returns the URL to which the user is redirected
// at the end.
func (v *danceVisit) authorize(address string, user danceUser) string {
	v.t.Helper()
	if v.get(address); strings.Contains(v.body, "loginForm") {
		v.logIn(user.name, user.password)
		v.get(v.location())
	}
	return v.decide("oauth_authorize_confirm").location()
}

// verifierOf returns the verifier in a callback URL.
func verifierOf(t testing.TB, location string) string {
	t.Helper()
	u, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("oauth_verifier")
}

// getURL makes a call and returns the status and the body.
func getURL(t testing.TB, client *http.Client, address string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	reply, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(body)
}

// TestDances checks that both kinds of users can authorize programs of two OAuth
// libraries, one of which signs the port of the URL, and that the tokens work immediately.
func TestDances(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"documented", "magento"} {
		shop := startDances(t, dialect)
		for kind, user := range demoUsers {
			for _, library := range danceLibraries() {
				for name, base := range map[string]string{"port hidden": shop.port80, "port": shop.URL} {
					t.Run(strings.Join([]string{dialect, kind, library.name, name}, "/"), func(t *testing.T) {
						d, err := library.begin(shop.client, base, user.form, "http://client.example/cb?keep=1")
						if err != nil {
							t.Fatal(err)
						}
						back := shop.newVisit(t).authorize(d.authorize, user)
						if !strings.HasPrefix(back, "http://client.example/cb?keep=1&oauth_token=") {
							t.Fatalf("the user ends up at %s", back)
						}
						client, err := d.finish(verifierOf(t, back))
						if err != nil {
							t.Fatal(err)
						}
						if code, body := getURL(t, client, base+user.mine); code != http.StatusOK {
							t.Errorf("the new token: %d %s", code, body)
						}
						if _, err := d.finish(verifierOf(t, back)); err == nil || !strings.Contains(err.Error(), "401") && !strings.Contains(err.Error(), "token_rejected") {
							t.Errorf("exchanged again: %v", err)
						}
						callWithParameters(t, base, client, library)
					})
				}
			}
		}
	}
}

// TestConsentKeepsTheDemosTokens checks that trying consent with the printed consumer of
// the demo store does not revoke the printed tokens.
func TestConsentKeepsTheDemosTokens(t *testing.T) {
	t.Parallel()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	shop, user := startDances(t, "documented"), demoUsers["admin"]
	program := &oauth1.Config{
		ConsumerKey: data.ConsentConsumer.Key, ConsumerSecret: data.ConsentConsumer.Secret, CallbackURL: "http://client.example/cb", HTTPClient: shop.client,
		Endpoint: oauth1.Endpoint{RequestTokenURL: shop.URL + "/oauth/initiate", AuthorizeURL: shop.URL + user.form, AccessTokenURL: shop.URL + "/oauth/token"},
	}
	token, secret, err := program.RequestToken()
	if err != nil {
		t.Fatal(err)
	}
	back := shop.newVisit(t).authorize(shop.URL+user.form+"?oauth_token="+token, user)
	if _, _, err := program.AccessToken(token, secret, verifierOf(t, back)); err != nil {
		t.Fatal(err)
	}
	if got := send(t, http.MethodGet, shop.URL+user.mine, "", "Authorization", demoAdmin(), "Accept", "application/json"); got.status != http.StatusOK {
		t.Errorf("the demo's token after consent: %d %s", got.status, got.body)
	}
}

// TestConsentScript checks that the server sends the script of the page with a verifier.
func TestConsentScript(t *testing.T) {
	t.Parallel()
	shop := startDances(t, "documented")
	for kind, user := range demoUsers {
		got := send(t, http.MethodGet, shop.URL+user.form+"/copy.js", "")
		if got.status != http.StatusOK || got.header.Get("Content-Type") != "text/javascript; charset=UTF-8" || !strings.HasPrefix(got.body, `"use strict";`) {
			t.Errorf("%s: %d %v\n%s", kind, got.status, got.header, got.body)
		}
	}
}

// callWithParameters makes calls with query parameters, with a client that has a token.
func callWithParameters(t *testing.T, base string, client *http.Client, library danceLibrary) {
	t.Helper()
	queries := []string{
		"",
		"limit=1",
		"x=&y=&limit=2",
		"x&limit=1",
		"limit=1&limit=1",
		"note=%21%2A%27%28%29%3B%3A%40%26%3D%2B%24%2C%2F%3F%23%5B%5D%20%7E-._",
		"note=%C3%A4%E2%82%AC%F0%9F%98%80",
	}
	if !library.unescapedNames {
		queries = append(queries, "filter[1][attribute]=name&filter[1][like]=%25a%25", "%C3%A4=1&a%5Bb%5D=2&b=1")
	}
	for _, query := range queries {
		if code, body := getURL(t, client, base+"/api/rest/products?"+query); code != http.StatusOK {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
	reply, err := client.Post(base+"/api/rest/customers", "application/json", strings.NewReader(`{"a":"ä&=+"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	if body, err := io.ReadAll(reply.Body); err != nil || reply.StatusCode == http.StatusUnauthorized {
		t.Errorf("POST: %d %s %v", reply.StatusCode, body, err)
	}
}

// TestRepeatedParameters checks calls with repeated query parameters as libraries sign
// them. One library signs the first value, which the contract does not accept.
func TestRepeatedParameters(t *testing.T) {
	t.Parallel()
	shop := startDances(t, "magento")
	for _, library := range danceLibraries() {
		for name, base := range map[string]string{"port hidden": shop.port80, "port": shop.URL} {
			t.Run(library.name+"/"+name, func(t *testing.T) {
				d, err := library.begin(shop.client, base, demoUsers["admin"].form, "oob")
				if err != nil {
					t.Fatal(err)
				}
				v := shop.newVisit(t)
				v.get(d.authorize).logIn(demoUsers["admin"].name, demoUsers["admin"].password)
				v.get(v.location()).decide("oauth_authorize_confirm")
				client, err := d.finish(v.find(`Verifier code: ([0-9a-f]{32})`))
				if err != nil {
					t.Fatal(err)
				}
				for query, first := range map[string]bool{"limit=2&limit=1": true, "a=2&b=1&a=1&a=": true, "a=1&a=1": false} {
					want := http.StatusOK
					if first && library.name == "dghubble" {
						want = http.StatusUnauthorized
					}
					if code, body := getURL(t, client, base+"/api/rest/products?"+query); code != want {
						t.Errorf("%s: %d %s, want %d", query, code, body, want)
					}
				}
			})
		}
	}
}

// TestScriptedDance walks through the pages as a script does that knows the ids and names
// of the form fields, and copies cookies by hand.
func TestScriptedDance(t *testing.T) {
	t.Parallel()
	shop := startDances(t, "magento")
	user := demoUsers["admin"]
	for _, spelled := range []string{"/admin/oauth_authorize", "/admin/oAuth_authorize"} {
		for name, cookies := range map[string]bool{"cookie of the page": true, "cookie of the log-in alone": false} {
			t.Run(spelled+"/"+name, func(t *testing.T) {
				v := shop.newVisit(t)
				v.client.Jar = nil
				ask := func(path string) url.Values {
					v.post(shop.port80+path, url.Values{
						"oauth_version": {"1.0"}, "oauth_signature_method": {"PLAINTEXT"}, "oauth_consumer_key": {demoKey}, "oauth_signature": {demoSecret + "&"},
						"oauth_callback": {"http://client.example/"},
					})
					values, err := url.ParseQuery(v.body)
					if err != nil || v.reply.StatusCode != http.StatusOK {
						t.Fatalf("%d %s", v.reply.StatusCode, v.body)
					}
					return values
				}
				request := ask("/oauth/initiate")
				cookie := ""
				do := func(method, address string, form url.Values) {
					t.Helper()
					r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
					if err != nil {
						t.Fatal(err)
					}
					if form != nil {
						r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					}
					if cookie != "" {
						r.Header.Set("Cookie", cookie)
					}
					reply, err := v.client.Do(r)
					v.readReply(reply, err)
				}
				keep := func() {
					t.Helper()
					for _, c := range v.reply.Cookies() {
						if c.Name == user.cookie {
							cookie = c.Name + "=" + c.Value
						}
					}
				}
				do("GET", shop.port80+spelled+"?oauth_token="+request.Get("oauth_token"), nil)
				if cookies {
					keep()
				}
				do("POST", v.find(`id="loginForm" action="([^"]+)"`), url.Values{
					"form_key": {v.find(`name="form_key" value="([^"]+)"`)}, "oauth_token": request["oauth_token"],
					"login[username]": {user.name}, "login[password]": {user.password},
				})
				keep()
				do("GET", v.location(), nil)
				do("GET", v.find(`id="oauth_authorize_confirm" action="([^"]+)"`)+"?oauth_token="+request.Get("oauth_token"), nil)
				verifier := verifierOf(t, v.location())
				cookie = ""
				do("POST", shop.port80+"/oauth/token", url.Values{
					"oauth_version": {"1.0"}, "oauth_signature_method": {"PLAINTEXT"}, "oauth_consumer_key": {demoKey}, "oauth_token": request["oauth_token"],
					"oauth_signature": {demoSecret + "&" + request.Get("oauth_token_secret")}, "oauth_verifier": {verifier},
				})
				access, err := url.ParseQuery(v.body)
				if err != nil || v.reply.StatusCode != http.StatusOK {
					t.Fatalf("%d %s", v.reply.StatusCode, v.body)
				}
				r, err := http.NewRequestWithContext(t.Context(), "GET", shop.port80+user.mine, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Accept", "application/json")
				r.Header.Set("Authorization", plaintextHeader(demoKey, demoSecret, access.Get("oauth_token"), access.Get("oauth_token_secret")))
				reply, err := v.client.Do(r)
				if v.readReply(reply, err); v.reply.StatusCode != http.StatusOK {
					t.Errorf("%d %s", v.reply.StatusCode, v.body)
				}
			})
		}
	}
}

// TestNewTokenEndsTheOld checks that the user's earlier token is refused from the moment
// of consent, before the new one is fetched.
func TestNewTokenEndsTheOld(t *testing.T) {
	t.Parallel()
	shop := startDances(t, "magento")
	library, user := danceLibraries()[0], demoUsers["customer"]
	begin := func() *dance {
		d, err := library.begin(shop.client, shop.URL, user.form, "http://client.example/")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first, second := begin(), begin()
	v := shop.newVisit(t)
	client, err := first.finish(verifierOf(t, v.authorize(first.authorize, user)))
	if err != nil {
		t.Fatal(err)
	}
	if code, body := getURL(t, client, shop.URL+user.mine); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	v.get(second.authorize).decide("oauth_authorize_confirm") // still logged in
	back := v.location()
	if code, body := getURL(t, client, shop.URL+user.mine); code != http.StatusUnauthorized || !strings.Contains(body, "oauth_problem=token_rejected") {
		t.Errorf("the token before: %d %s", code, body)
	}
	if client, err = second.finish(verifierOf(t, back)); err != nil {
		t.Fatal(err)
	}
	if code, body := getURL(t, client, shop.URL+user.mine); code != http.StatusOK {
		t.Errorf("the new token: %d %s", code, body)
	}
}

// TestImportedHashes checks that users with a password hash of the legacy system can log
// in, that the log-in replaces the hash, and that the session stays valid.
func TestImportedHashes(t *testing.T) {
	t.Parallel()
	const password = "grandfather's"
	old := fmt.Sprintf("%x:ab", md5.Sum([]byte("ab"+password)))
	shop := startDances(t, "magento")
	db := shop.app.db
	if _, err := db.AddAdmin(t.Context(), 7, "old", old); err != nil {
		t.Fatal(err)
	}
	customers, err := db.Adapter().Store(adapter.Customers)
	if err != nil {
		t.Fatal(err)
	}
	if err := consent.UpgradeCustomer(customers)(t.Context(), 2, hashOf(t, db, adapter.Customers, 2), old); err != nil {
		t.Fatal(err)
	}
	for kind, user := range demoUsers {
		t.Run(kind, func(t *testing.T) {
			resource, id := adapter.Admins, adapter.Key(7)
			user.name, user.password = "old", password
			if kind == "customer" {
				resource, id, user.name = adapter.Customers, 2, "ben@example.com"
			}
			d, err := danceLibraries()[0].begin(shop.client, shop.URL, user.form, "http://client.example/")
			if err != nil {
				t.Fatal(err)
			}
			v := shop.newVisit(t).get(d.authorize)
			v.logIn(user.name, "another")
			if got := hashOf(t, db, resource, id); got != old {
				t.Errorf("a wrong password has changed the hash to %s", got)
			}
			if _, err := d.finish(verifierOf(t, v.authorize(d.authorize, user))); err != nil {
				t.Error(err)
			}
			if got := hashOf(t, db, resource, id); !strings.HasPrefix(got, "$2a$") || !adapter.PasswordMatches(got, password) {
				t.Errorf("the hash is %s", got)
			}
			v.authorize(startDance(t, shop, user), user)
		})
	}
}

// startDance fetches a request token and returns the URL that user has to open.
func startDance(t testing.TB, shop *danceShop, user danceUser) (authorize string) {
	t.Helper()
	d, err := danceLibraries()[0].begin(shop.client, shop.URL, user.form, "http://client.example/")
	if err != nil {
		t.Fatal(err)
	}
	return d.authorize
}

// hashOf returns the password hash of a record.
func hashOf(t testing.TB, db *sqlstore.DB, resource adapter.Resource, id adapter.Key) string {
	t.Helper()
	store, err := db.Adapter().Store(resource)
	if err != nil {
		t.Fatal(err)
	}
	record, err := store.Get(t.Context(), &adapter.GetParams{Key: id})
	if err != nil {
		t.Fatal(err)
	}
	return record.Get("password_hash").Text()
}
