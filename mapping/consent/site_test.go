package consent

import (
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// sides lists the expectations of wire 13 for each kind of users.
var userKindsOfContract = []struct {
	name, form, cookie    string
	username, password    string
	loginPost, wrong      string
	redirectsWrong        bool
	badConfirm, badReject string
	simple                string // at the end of a callback
}{
	{"customer", "/oauth/authorize", "portico_customer", "ada@example.com", adaPassword, "/customer/account/loginPost/", "Invalid login or password.", true,
		"An error occurred. Your authorization request is invalid.", "An error occurred on reject authorize.", "&simple=1"},
	{"admin", "/admin/oauth_authorize", "portico_admin", "admin", adminPassword, "/admin/oauth_authorize/index/", "Invalid User Name or Password.", false,
		"An error occurred on confirm authorize.", "An error occurred on reject authorize.", ""},
}

const base = "http://store.example"

// TestFlow performs the whole flow for each row of wire 13.
func TestFlow(t *testing.T) {
	for _, userKind := range userKindsOfContract {
		for _, simple := range []bool{false, true} {
			name, form, confirm, reject, more := userKind.name, userKind.form, userKind.form+"/confirm/", userKind.form+"/reject/", ""
			if simple {
				name, form, confirm, reject, more = name+" simple", form+"/simple", userKind.form+"/confirmSimple/", userKind.form+"/rejectSimple/", userKind.simple
			}
			t.Run(name, func(t *testing.T) {
				s := newShop(t)
				token := s.request("http://client.example/cb?a=1")
				at := form + "?oauth_token=" + token
				r := s.reader().get(at).want(200, `id="loginForm"`)
				for _, part := range []string{`name="login[username]"`, `name="login[password]"`, `name="form_key" value="`, `name="oauth_token" value="` + token + `"`, `action="` + base + userKind.loginPost + `"`} {
					r.want(200, part)
				}
				if strings.Contains(r.body, "<script") || r.reply.Header().Get("Content-Type") != "text/html; charset=UTF-8" || r.reply.Header().Get("Cache-Control") != "no-store" {
					t.Errorf("%v", r.reply.Header())
				}
				if r.logIn(userKind.username, "wrong"); userKind.redirectsWrong {
					r.want(302, base+at).get(at)
				}
				r.want(200, userKind.wrong).want(200, `id="loginForm"`)
				r.get(at)
				if strings.Contains(r.body, userKind.wrong) && userKind.redirectsWrong {
					t.Error("it goes on saying so")
				}
				r.get(confirm+"?oauth_token="+token).want(302, base+at)
				r.get(at).logIn(userKind.username, userKind.password).want(302, base+at)
				if c := r.cookies[userKind.cookie]; c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Value == "" {
					t.Errorf("cookie %v", c)
				}
				r.get(at).want(200, "ERP &amp; Sons &lt;1&gt; requests access to your account").want(200, "You are logged in as "+userKind.username)
				r.want(200, `<form id="oauth_authorize_confirm" action="`+base+confirm+`" method="get">`).want(200, ">Authorize</button>")
				r.want(200, `<form id="oauth_authorize_reject" action="`+base+reject+`" method="get">`).want(200, ">Reject</button>")

				s.reader().get(reject+"?oauth_token="+token).want(302, base+at) // to log in
				refused := s.request("http://client.example/cb?a=1")
				r.get(reject+"?oauth_token="+refused).want(302, "http://client.example/cb?a=1&oauth_token="+refused+"&rejected=1"+more)
				r.get(reject+"?oauth_token="+refused).want(200, userKind.badReject)
				r.get(confirm+"?oauth_token="+refused).want(200, userKind.badConfirm)
				r.get(confirm+"?oauth_token="+token).want(302, "http://client.example/cb?a=1&oauth_token="+token+"&oauth_verifier="+verifier+more)
				if granted := s.grants.Tokens[token]; granted.CustomerID+granted.AdminID != 1 || (granted.CustomerID == 1) != userKind.redirectsWrong {
					t.Errorf("%+v", granted)
				}
				r.get(at).want(200, "An error occurred. Your authorization request is invalid.")
				r.get(confirm+"?oauth_token="+token).want(200, userKind.badConfirm)
				r.get(reject+"?oauth_token="+token).want(200, userKind.badReject)

				oob := s.request("oob")
				r.get(reject+"?oauth_token="+oob).want(200, "The application access request is rejected.")
				oob = s.request("oob")
				r.get(confirm+"?oauth_token="+oob).want(200, "Authorization confirmed.").want(200, "Verifier code: "+verifier)
			})
		}
	}
}

// TestDecisionsFromOwnPage checks that only a click on a page of this site confirms or rejects,
// as far as the browser reports where a request comes from.
func TestDecisionsFromOwnPage(t *testing.T) {
	tests := []struct {
		name    string
		header  []string // names and values
		decides bool
	}{
		{"a program", nil, true},
		{"click on our page", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "document"}, true},
		{"browser with fewer headers", []string{"Sec-Fetch-Site", "same-origin"}, true},
		{"image on our page", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "image"}, false},
		{"frame on our page", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "iframe"}, false},
		{"script's request", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "empty"}, false},
		{"link of a sibling domain", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Dest", "document"}, false},
		{"image of a sibling domain", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Dest", "image"}, false},
		{"link of another site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"}, false},
		{"URL typed in", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Dest", "document"}, false},
		{"Sec-Fetch-Dest only", []string{"Sec-Fetch-Dest", "image"}, false},
		{"empty value", []string{"Sec-Fetch-Site", ""}, false},
	}
	for _, userKind := range userKindsOfContract {
		for _, path := range []string{"/confirm/", "/reject/", "/confirmSimple/", "/rejectSimple/"} {
			s := newShop(t)
			r := s.reader().get(userKind.form+"?oauth_token="+s.request("oob")).logIn(userKind.username, userKind.password)
			for _, tt := range tests {
				t.Run(userKind.name+path+tt.name, func(t *testing.T) {
					token := s.request("oob")
					r.t, r.header = t, http.Header{}
					for i := 0; i < len(tt.header); i += 2 {
						r.header.Set(tt.header[i], tt.header[i+1])
					}
					r.get(userKind.form + path + "?oauth_token=" + token)
					if asked := strings.Contains(r.body, "requests access to your account"); asked == tt.decides || r.err != nil {
						t.Errorf("the form is shown: %t, %v\n%s", asked, r.err, r.body)
					}
					left, waits := s.grants.Tokens[token]
					if waits = waits && left.Verifier == ""; waits == tt.decides {
						t.Errorf("the token waits: %t", waits)
					}
				})
			}
		}
	}
}

// TestQueryLimit checks that a query over the limit is rejected before it is parsed.
func TestQueryLimit(t *testing.T) {
	s := newShop(t, func(o *Options) { o.MaxQuery = 1000 })
	token := s.request("oob")
	for _, userKind := range userKindsOfContract {
		for _, path := range []string{userKind.form, userKind.form + "/confirm", userKind.form + "/reject", userKind.loginPost, "/oauth/initiate", "/oauth/token"} {
			query := "?oauth_token=" + token
			for _, length := range []int{1000, 1001} {
				r := s.reader().get(path + query + strings.Repeat("&", length-len(query)+1))
				if long := errors.Is(r.err, ErrForm); long != (length > 1000) {
					t.Errorf("%s with %d bytes: %v", path, length, r.err)
				}
			}
		}
	}
}

// TestFields checks that all fields except the pages' own are dropped.
func TestFields(t *testing.T) {
	for text, want := range map[string]fields{
		"":                              {},
		"oauth_token=a":                 {"oauth_token": "a"},
		"oauth_token=a&x=b&=&&":         {"oauth_token": "a"},
		"oauth_token=a&oauth_token=b":   {"oauth_token": "a"},
		"oauth_token=%zz&oauth_token=b": {"oauth_token": "b"},
		"oauth%5Ftoken=a+b%26&simple":   {"oauth_token": "a b&", "simple": ""},
		"login[username]=a&login%5Bpassword%5D=b=c&form_key=d": {"login[username]": "a", "login[password]": "b=c", "form_key": "d"},
		"oauth_token[]=a&OAUTH_TOKEN=b&%zz=c":                  {},
	} {
		got, err := parseFields(text)
		if !maps.Equal(got, want) || (err != nil) != strings.Contains(text, "=%zz") {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestInvalidTokens(t *testing.T) {
	for _, userKind := range userKindsOfContract {
		t.Run(userKind.name, func(t *testing.T) {
			s := newShop(t)
			r := s.reader().get(userKind.form+"?oauth_token="+s.request("oob")).logIn(userKind.username, userKind.password).want(302, base+userKind.form+"?oauth_token="+s.last())
			s.grants.Tokens[strings.Repeat("c", 32)] = adapter.Token{Token: strings.Repeat("c", 32), Type: adapter.AccessToken, ConsumerID: 1}
			for name, query := range map[string]string{
				"missing": "", "empty": "?oauth_token=", "short": "?oauth_token=abc", "unknown": "?oauth_token=" + strings.Repeat("f", 32),
				"access": "?oauth_token=" + strings.Repeat("c", 32), "list": "?oauth_token[]=" + s.last(), "odd": "?oauth_token=%ff%00" + strings.Repeat("a", 30), "malformed": "?oauth_token=%zz;a",
			} {
				for path, want := range map[string]string{"": "An error occurred. Your authorization request is invalid.", "/confirm/": userKind.badConfirm, "/reject/": userKind.badReject} {
					r.get(userKind.form+path+query).want(200, want)
					if strings.Contains(r.body, "<form") {
						t.Errorf("%s, %s: a form", name, path)
					}
				}
				s.reader().get(userKind.form+query).want(200, "An error occurred. Your authorization request is invalid.")
			}
			for _, method := range []string{"POST", "PUT", "DELETE", "HEAD"} {
				for _, path := range []string{"", "/simple", "/confirm/", "/reject/", "/confirmSimple", "/rejectSimple"} {
					r.send(method, userKind.form+path+"?oauth_token="+s.last(), url.Values{}).want(200, "Request is not GET")
				}
			}
			if s.grants.Tokens[s.last()].Verifier != "" {
				t.Error("the token was granted")
			}
		})
	}
}

// last returns the newest request token.
func (s *shop) last() string {
	for token, t := range s.grants.Tokens {
		if t.Type == adapter.RequestToken {
			return token
		}
	}
	return ""
}

// TestRejectedCallback checks that a program may have registered a callback for users who
// reject it.
func TestRejectedCallback(t *testing.T) {
	for registered, want := range map[string]string{"https://no.example/x": "https://no.example/x", "javascript:alert(1)": "http://client.example/", "": "http://client.example/"} {
		s := newShop(t)
		s.grants.Client.RejectedCallback = registered
		token := s.request("http://client.example/")
		r := s.reader().get("/oauth/authorize?oauth_token="+token).logIn("ada@example.com", adaPassword)
		r.get("/oauth/authorize/reject?oauth_token="+token).want(302, want+"?oauth_token="+token+"&rejected=1")
	}
}

func TestPaths(t *testing.T) {
	s := newShop(t)
	for path, want := range map[string]string{
		"/oauth/initiate": "oauthInitiate", "/oauth/initiate/": "oauthInitiate", "/oauth/initiate/index": "oauthInitiate", "/oauth/initiate/index/": "oauthInitiate",
		"/oauth/token/": "oauthToken", "/oauth/authorize": "authorize", "/oauth/authorize/index/": "authorize", "/oauth/authorize/simple/": "authorize",
		"/oauth/authorize/confirm/": "authorizeConfirm", "/oauth/authorize/rejectSimple": "authorizeReject",
		"/customer/account/loginPost/": "authorizeLogin", "/customer/account/loginPost": "authorizeLogin",
		"/admin/oauth_authorize": "adminAuthorize", "/admin/oAuth_authorize/": "adminAuthorize", "/admin/oAuth_authorize/confirm/": "adminAuthorizeConfirm", "/admin/oauth_authorize/index": "adminAuthorize",
		"/": "", "": "", "/oauth": "", "/oauth/": "", "/OAuth/initiate": "", "/oauth/initiate/other": "", "/oauth//initiate": "", "/admin": "", "/admin/oAuth_authorizes": "",
		"/customer/account/login": "", "/oauth/authorize/loginPost": "", strings.Repeat("/", 5000): "", "/oauth/initiate" + strings.Repeat("/", 100): "",
	} {
		request := httptest.NewRequest("GET", base+"/", nil)
		request.URL.Path = path
		if got, ok := s.site.Call(request); got != want || ok != (want != "") {
			t.Errorf("%.100s: %q, want %q", path, got, want)
		}
	}
}

// TestPublicURL checks that pages and redirects use the configured public URL.
func TestPublicURL(t *testing.T) {
	s := newShop(t, func(o *Options) { o.PublicURL = "https://public.example/shop/" })
	token := s.request("oob")
	r := s.reader()
	r.header.Set("Origin", "https://public.example")
	r.scheme = "https"
	at := "/oauth/authorize?oauth_token=" + token
	r.get(at).want(200, `action="https://public.example/shop/customer/account/loginPost/"`)
	r.logIn("ada@example.com", adaPassword).want(302, "https://public.example/shop"+at)
	if !r.cookies["portico_customer"].Secure {
		t.Error("the cookie goes over plain HTTP")
	}
	if _, err := New(Options{PublicURL: "nonsense"}); err == nil {
		t.Error("a public URL that is none is taken")
	}
	if _, err := New(Options{Accounts: map[adapter.Resource]adapter.Store{adapter.Admins: s.admins}}); err == nil {
		t.Error("accounts without an upgrade are taken")
	}
}

func TestPageHeaders(t *testing.T) {
	s := newShop(t)
	r := s.reader().get("/oauth/authorize?oauth_token=" + s.request("oob"))
	for name, part := range map[string]string{
		"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if !strings.Contains(r.reply.Header().Get(name), part) {
			t.Errorf("%s: %q", name, r.reply.Header().Get(name))
		}
	}
}

// TestPrograms checks the replies to programs byte for byte.
func TestPrograms(t *testing.T) {
	s := newShop(t)
	form := func(pairs ...string) url.Values {
		all := url.Values{"oauth_version": {"1.0"}, "oauth_signature_method": {"PLAINTEXT"}, "oauth_consumer_key": {programKey}, "oauth_signature": {programSecret + "&"}}
		for i := 0; i < len(pairs); i += 2 {
			all.Set(pairs[i], pairs[i+1])
		}
		return all
	}
	const first = "ticket00000000000000000000000001"
	granted := first
	tests := []struct {
		name, method, target string
		form                 url.Values
		status               int
		contentType, body    string
	}{
		{"initiate", "POST", "/oauth/initiate", form("oauth_callback", "oob"), 200, formType, "oauth_token=" + first + "&oauth_token_secret=secret00000000000000000000000001&oauth_callback_confirmed=true"},
		{"in the query", "GET", "/oauth/initiate/index?" + form("oauth_callback", "oob").Encode(), nil, 200, formType, "oauth_token=ticket00000000000000000000000002&oauth_token_secret=secret00000000000000000000000002&oauth_callback_confirmed=true"},
		{"PUT", "PUT", "/oauth/initiate/", form("oauth_callback", "oob"), 200, formType, "oauth_token=ticket00000000000000000000000003&oauth_token_secret=secret00000000000000000000000003&oauth_callback_confirmed=true"},
		{"nothing", "POST", "/oauth/token", nil, 400, formType, "oauth_problem=parameter_absent&oauth_parameters_absent=oauth_consumer_key"},
		{"unknown", "POST", "/oauth/initiate", form("oauth_consumer_key", strings.Repeat("f", 32)), 401, formType, "oauth_problem=consumer_key_rejected"},
		{"bad target", "POST", "/oauth/initiate?a=%zz", form(), 500, formType, "oauth_problem=internal_error&message=Invalid URI supplied"},
		{"RSA", "POST", "/oauth/initiate", form("oauth_callback", "oob", "oauth_signature_method", "RSA-SHA1", "oauth_nonce", "n", "oauth_timestamp", "1"), 500, "text/html; charset=UTF-8", ""},
		{"no consent yet", "POST", "/oauth/token", form("oauth_token", first, "oauth_verifier", verifier, "oauth_signature", programSecret+"&secret00000000000000000000000001"), 500, "text/html; charset=UTF-8", ""},
		{"exchange", "POST", "/oauth/token", form("oauth_token", granted, "oauth_verifier", verifier, "oauth_signature", programSecret+"&secret00000000000000000000000001"), 200, formType, "oauth_token=access00000000000000000000000001&oauth_token_secret=secret00000000000000000000000001"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "exchange" {
				if _, err := s.grants.Authorize(t.Context(), first, 0, 1); err != nil {
					t.Fatal(err)
				}
			}
			r := s.reader().send(tt.method, tt.target, tt.form)
			if r.err != nil || r.reply.Code != tt.status || r.body != tt.body || r.reply.Header().Get("Content-Type") != tt.contentType {
				t.Errorf("%d %s %q %v, want %d %s %q", r.reply.Code, r.reply.Header().Get("Content-Type"), r.body, r.err, tt.status, tt.contentType, tt.body)
			}
		})
	}
}

// TestFailures checks that if the store fails, nothing is written, and no user is told that the
// password is wrong.
func TestFailures(t *testing.T) {
	s := newShop(t)
	token := s.request("oob")
	r := s.reader().get("/oauth/authorize?oauth_token="+token).logIn("ada@example.com", adaPassword)
	fresh := s.reader().get("/admin/oauth_authorize?oauth_token=" + token)
	down := errors.New("down")
	s.customers.fail, s.admins.fail, s.grants.Fail = down, down, down
	action, form := fresh.form("admin", adminPassword)
	for name, send := range map[string]func() *reader{
		"form":    func() *reader { return r.get("/oauth/authorize?oauth_token=" + token) },
		"confirm": func() *reader { return r.get("/oauth/authorize/confirm?oauth_token=" + token) },
		"reject":  func() *reader { return r.get("/oauth/authorize/reject?oauth_token=" + token) },
		"log in":  func() *reader { return fresh.send("POST", action, form) },
		"initiate": func() *reader {
			return r.get("/oauth/initiate?oauth_consumer_key=" + programKey + "&oauth_signature_method=PLAINTEXT&oauth_signature=x")
		},
	} {
		if got := send(); got.err == nil || got.reply.Code != 200 || got.body != "" {
			t.Errorf("%s: %v %d %q", name, got.err, got.reply.Code, got.body)
		}
	}
	s.customers.fail, s.admins.fail, s.grants.Fail = nil, nil, nil
	for range pairBurst { // a failure of ours is no attempt
		fresh.send("POST", action, form).want(302, base+"/admin/oauth_authorize?oauth_token="+token)
	}
	long := url.Values{"login[username]": {strings.Repeat("a", maxFormBytes)}}
	if fresh.send("POST", action, long); !errors.Is(fresh.err, ErrForm) {
		t.Errorf("a form that is too long: %v", fresh.err)
	}
	if fresh.send("POST", "/oauth/initiate", long); !errors.Is(fresh.err, ErrForm) {
		t.Errorf("parameters that are too long: %v", fresh.err)
	}
}
