package consent_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/dghubble/oauth1"
	mrjones "github.com/mrjones/oauth"

	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// The consumer of the demo store, and the passwords of two of its users.
var (
	demoKey, demoSecret = strings.Repeat("a", 32), strings.Repeat("b", 32)
	demoUsers           = map[string]danceUser{
		"customer": {form: "/oauth/authorize", name: "ada@example.com", password: "ada-password-1", wrong: "Invalid login or password.", mine: "/api/rest/customers/1"},
		"admin":    {form: "/admin/oauth_authorize", name: "admin", password: dataset.AdminPassword, wrong: "Invalid User Name or Password.", mine: "/api/rest/customers"},
	}
)

// A danceUser is a user who authorizes programs.
type danceUser struct {
	form, name, password, wrong string
	mine                        string // a call that needs the user's token
}

// A danceShop is a demo store whose users can log in.
type danceShop struct {
	URL string
	// port80 is the base URL of the same store for clients that sign no port.
	port80 string
	client *http.Client // reaches both
}

// startDances serves a danceShop.
func startDances(t testing.TB, dialect string, environ ...string) *danceShop {
	t.Helper()
	base := apptest.StartDemo(t, dialect, environ...).Contract
	return &danceShop{URL: base, port80: "http://store.example", client: &http.Client{Transport: reaching(base)}}
}

// reaching returns a transport that connects to the server at a base URL, whatever host a request
// names.
func reaching(base string) *http.Transport {
	address, _, _ := strings.Cut(strings.TrimPrefix(base, "http://"), "/")
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
}

// A danceLibrary is an OAuth library with which programs fetch tokens and make calls.
type danceLibrary struct {
	name string
	// unescapedNames is true if the library does not escape parameter names when it signs them,
	// unlike all others.
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
						back, verifier := apptest.NewVisit(t, shop.client).Authorize(d.authorize, user.name, user.password)
						if !strings.HasPrefix(back, "http://client.example/cb?keep=1&oauth_token=") {
							t.Fatalf("the user ends up at %s", back)
						}
						client, err := d.finish(verifier)
						if err != nil {
							t.Fatal(err)
						}
						if code, body := getURL(t, client, base+user.mine); code != http.StatusOK {
							t.Errorf("the new token: %d %s", code, body)
						}
						if _, err := d.finish(verifier); err == nil || !strings.Contains(err.Error(), "401") && !strings.Contains(err.Error(), "token_rejected") {
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
	data, err := dataset.Load()
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
	_, verifier := apptest.NewVisit(t, shop.client).Authorize(shop.URL+user.form+"?oauth_token="+token, user.name, user.password)
	if _, _, err := program.AccessToken(token, secret, verifier); err != nil {
		t.Fatal(err)
	}
	if got := apptest.Send(t, http.MethodGet, shop.URL+user.mine, "", "Authorization", apptest.DemoAdmin(), "Accept", "application/json"); got.Status != http.StatusOK {
		t.Errorf("the demo's token after consent: %d %s", got.Status, got.Body)
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

// TestDancesBelowBasePath checks that users of a shop in a subdirectory can authorize
// programs, and that no page or cookie leads outside of it.
func TestDancesBelowBasePath(t *testing.T) {
	t.Parallel()
	shop := startDances(t, "documented", "PORTICO_PUBLIC_URL=http://store.example/shop")
	base := shop.port80 + "/shop"
	library := danceLibraries()[0]
	for kind, user := range demoUsers {
		t.Run(kind, func(t *testing.T) {
			d, err := library.begin(shop.client, base, user.form, "http://client.example/cb")
			if err != nil {
				t.Fatal(err)
			}
			v := apptest.NewVisit(t, shop.client)
			v.Get(d.authorize).LogIn(user.name, user.password)
			for _, cookie := range v.Reply.Cookies() {
				if cookie.Path != "/shop" && !strings.HasPrefix(cookie.Path, "/shop/") {
					t.Errorf("cookie %s is for %s", cookie.Name, cookie.Path)
				}
			}
			back := v.Location()
			if !strings.HasPrefix(back, base+user.form) {
				t.Fatalf("after the log-in the user is sent to %s", back)
			}
			v.Get(back)
			for _, action := range regexp.MustCompile(`(?:action|href|src)="([^"]*)"`).FindAllStringSubmatch(v.Body, -1) {
				if !strings.HasPrefix(action[1], base+"/") {
					t.Errorf("the page leads to %s", action[1])
				}
			}
			_, verifier := v.Authorize(back, user.name, user.password) // the user who is logged in
			client, err := d.finish(verifier)
			if err != nil {
				t.Fatal(err)
			}
			if code, body := getURL(t, client, base+user.mine); code != http.StatusOK {
				t.Errorf("the new token: %d %s", code, body)
			}
		})
	}
}
