package consent

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

func (s *shop) asked(userKind string) (*reader, string) {
	s.t.Helper()
	at := map[string]string{"customer": "/oauth/authorize", "admin": "/admin/oauth_authorize"}[userKind] + "?oauth_token=" + s.request("http://client.example/")
	return s.reader().get(at), at
}

func TestLogIn(t *testing.T) {
	tests := []struct {
		name, userKind, username, password string
		id                                 int64 // 0: no user
	}{
		{"customer", "customer", "ada@example.com", adaPassword, 1},
		{"letter case of the address", "customer", "ADA@Example.com", adaPassword, 1},
		{"the same address at another website", "customer", "ada@example.com", "second", 2},
		{"wrong password", "customer", "ada@example.com", "third", 0},
		{"letter case of the password", "customer", "ada@example.com", strings.ToUpper(adaPassword), 0},
		{"empty password", "customer", "ada@example.com", "", 0},
		{"unknown address", "customer", "nobody@example.com", adaPassword, 0},
		{"empty name", "customer", "", adaPassword, 0},
		{"address not confirmed", "customer", "eve@example.com", "third", 0},
		{"no password set", "customer", "dot@example.com", "", 0},
		{"pattern", "customer", "%", adaPassword, 0},
		{"long name", "customer", strings.Repeat("a", 5000), adaPassword, 0},
		{"long password", "customer", "ada@example.com", strings.Repeat("a", 5000), 0},
		{"odd bytes", "customer", "ada@example.com\x00", adaPassword, 0},
		{"not UTF-8", "customer", "\xff", "\xff", 0},
		{"administrator", "admin", "Admin", adminPassword, 1},
		{"customer as administrator", "admin", "ada@example.com", adaPassword, 0},
		{"administrator as customer", "customer", "admin", adminPassword, 0},
	}
	for _, partial := range []bool{false, true} {
		for i, tt := range tests {
			if partial && i > 3 {
				break // the other cases fail before or after the list
			}
			t.Run(tt.name+map[bool]string{true: ", from a store that does part of a query"}[partial], func(t *testing.T) {
				s := newShop(t)
				s.customers.partial, s.admins.partial = partial, partial
				r, at := s.asked(tt.userKind)
				r.logIn(tt.username, tt.password)
				if r.get(at); strings.Contains(r.body, "requests access") != (tt.id != 0) {
					t.Fatalf("logged in: want %t\n%s", tt.id != 0, r.body)
				}
				if tt.id == 0 {
					return
				}
				r.get(strings.Replace(at, "?", "/confirm?", 1))
				if granted := s.grants.Tokens[r.find(`oauth_token=(\w+)`)]; granted.AdminID+granted.CustomerID != tt.id && granted.Token != "" {
					t.Errorf("%+v", granted)
				}
				for _, granted := range s.grants.Tokens {
					if granted.AdminID+granted.CustomerID != tt.id || (granted.AdminID != 0) != (tt.userKind == "admin") {
						t.Errorf("granted to %+v, want %d", granted, tt.id)
					}
				}
			})
		}
	}
}

// TestDisabledAdmin checks that a disabled administrator loses the session and cannot log in.
func TestDisabledAdmin(t *testing.T) {
	s := newShop(t)
	r, at := s.asked("admin")
	r.logIn("admin", adminPassword)
	r.get(at).want(200, "requests access")
	s.admins.set(1, "disabled", "1")
	r.get(strings.Replace(at, "?", "/confirm?", 1)).want(302, base+at)
	for text, token := range s.grants.Tokens {
		if token.AdminID != 0 {
			t.Errorf("token %s is granted", text)
		}
	}
	r, at = s.asked("admin")
	r.logIn("admin", adminPassword).want(200, "Invalid User Name or Password.")
	r.get(at).want(200, "loginForm")
}

// TestCookies checks that session cookies have names that differ from the cookies of shops on
// the host, and that browsers send them only to the pages of their kind of users.
func TestCookies(t *testing.T) {
	for _, c := range []struct {
		userKind, public, cookie string
		sent, kept               []string
	}{
		{"customer", "", "portico_customer", []string{"/oauth/authorize", "/oauth/authorize/simple", "/customer/account/loginPost/", "/oauth/authorize/confirm"},
			[]string{"/", "/customer/account", "/admin/oauth_authorize", "/api/rest/products"}},
		{"admin", "", "portico_admin", []string{"/admin/oauth_authorize", "/admin/oAuth_authorize/confirm", "/admin/oauth_authorize/index/"}, []string{"/", "/oauth/authorize", "/administrators"}},
		{"customer", "http://store.example/shop", "portico_customer", []string{"/shop/oauth/authorize", "/shop/customer/account/loginPost/"}, []string{"/oauth/authorize", "/shop"}},
	} {
		t.Run(c.userKind+" "+c.public, func(t *testing.T) {
			s := newShop(t, func(o *Options) { o.PublicURL = c.public })
			r, _ := s.asked(c.userKind)
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			at, err := url.Parse(base + c.sent[0])
			if err != nil {
				t.Fatal(err)
			}
			jar.SetCookies(at, r.reply.Result().Cookies())
			for want, paths := range map[int][]string{1: c.sent, 0: c.kept} {
				for _, path := range paths {
					cookies := jar.Cookies(at.ResolveReference(&url.URL{Path: path}))
					if len(cookies) != want || want == 1 && cookies[0].Name != c.cookie {
						t.Errorf("%s is sent %v", path, cookies)
					}
				}
			}
		})
	}
}

// TestBackendWithoutAccounts checks that no user can log in if the backend has no accounts or
// cannot look them up.
func TestBackendWithoutAccounts(t *testing.T) {
	for name, edit := range map[string]func(*shop){
		"none":        func(s *shop) { delete(s.site.accounts, adapter.Customers) },
		"unsupported": func(s *shop) { s.customers.fail = &adapter.Error{Kind: adapter.Unsupported, Op: "list"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			edit(s)
			r, at := s.asked("customer")
			r.logIn("ada@example.com", adaPassword).want(302, base+at).get(at).want(200, "Invalid login or password.")
		})
	}
}

// TestUpgrade checks that the first log-in replaces an outdated hash, and its session stays
// valid.
func TestUpgrade(t *testing.T) {
	for userKind, store := range map[string]func(*shop) *users{"customer": func(s *shop) *users { return s.customers }, "admin": func(s *shop) *users { return s.admins }} {
		t.Run(userKind, func(t *testing.T) {
			s := newShop(t)
			old := saltedMD5("grandfather's")
			store(s).set(1, "password_hash", old)
			name := map[string]string{"customer": "ada@example.com", "admin": "admin"}[userKind]
			r, at := s.asked(userKind)
			r.logIn(name, "wrong")
			hash := func() string { return store(s).records[0].Get("password_hash").Text() }
			if hash() != old {
				t.Error("a wrong password has changed the hash")
			}
			r.get(at).logIn(name, "grandfather's").want(302, base+at).get(at).want(200, "requests access")
			if !adapter.PasswordMatches(hash(), "grandfather's") {
				t.Errorf("the hash is %s", hash())
			}
		})
	}
	t.Run("it fails", func(t *testing.T) {
		s := newShop(t)
		s.customers.set(1, "password_hash", saltedMD5("grandfather's"))
		s.site.upgrades[adapter.Customers] = func(context.Context, adapter.Key, string, string) error { return errors.New("down") }
		r, at := s.asked("customer")
		r.logIn("ada@example.com", "grandfather's").want(302, base+at).get(at).want(200, "requests access")
	})
	t.Run("changed meanwhile", func(t *testing.T) {
		s := newShop(t)
		before := s.customers.records[0].Get("password_hash").Text()
		if err := UpgradeCustomer(s.customers)(t.Context(), 1, "another", "new"); err != nil || s.customers.records[0].Get("password_hash").Text() != before {
			t.Error("a password that somebody has changed is put back")
		}
	})
}

// TestSessionEnds checks that a session ends when it expires, and when the password, the
// account or the encryption key changes; it is valid for one kind of users only.
func TestSessionEnds(t *testing.T) {
	tests := []struct {
		name string
		do   func(*shop, *reader)
		ends bool
	}{
		{"a moment before its end", func(s *shop, _ *reader) { s.wait(sessionLife - time.Second) }, false},
		{"its end", func(s *shop, _ *reader) { s.wait(sessionLife) }, true},
		{"clock of another replica a little behind", func(s *shop, _ *reader) { s.wait(-30 * time.Second) }, false},
		{"from the future", func(s *shop, _ *reader) { s.wait(-time.Hour) }, true},
		{"another password", func(s *shop, _ *reader) { s.customers.set(1, "password_hash", "$2a$04$x") }, true},
		{"password removed", func(s *shop, _ *reader) { s.customers.set(1, "password_hash", "") }, true},
		{"a disabled administrator's account of the same id", func(s *shop, _ *reader) { s.admins.set(1, "disabled", "1") }, false},
		{"account deleted", func(s *shop, _ *reader) { s.customers.records = s.customers.records[1:] }, true},
		{"replica with the same key", func(s *shop, r *reader) { r.site = newSite(s.t, s.options) }, false},
		{"replica with another key", func(s *shop, r *reader) {
			s.options.Secret = nil
			r.site = newSite(s.t, s.options)
		}, true},
		{"next to a cookie of the legacy store", func(_ *shop, r *reader) {
			r.header.Set("Cookie", "portico_customer=abc; portico_customer=%22; frontend=abc")
		}, false},
		{"changed", func(_ *shop, r *reader) {
			c := r.cookies["portico_customer"]
			other := "A"
			if c.Value[20] == 'A' {
				other = "B"
			}
			c.Value = c.Value[:20] + other + c.Value[21:]
		}, true},
		{"cookie of the other kind of users", func(_ *shop, r *reader) {
			r.cookies["portico_customer"] = &http.Cookie{Name: "portico_customer", Value: r.cookies["portico_admin"].Value}
		}, true},
		{"key of a form as a cookie", func(s *shop, r *reader) {
			key := s.reader().get("/oauth/authorize?oauth_token=" + s.request("oob")).find(`name="form_key" value="([^"]*)"`)
			r.cookies["portico_customer"] = &http.Cookie{Name: "portico_customer", Value: key}
		}, true},
		{"empty cookie", func(_ *shop, r *reader) { r.cookies["portico_customer"] = &http.Cookie{Name: "portico_customer"} }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShop(t)
			r, at := s.asked("customer")
			r.logIn("ada@example.com", adaPassword).want(302, base+at)
			admin, _ := s.asked("admin")
			r.cookies["portico_admin"] = admin.logIn("admin", adminPassword).cookies["portico_admin"]
			r.get(at).want(200, "requests access")
			tt.do(s, r)
			if r.get(at); strings.Contains(r.body, "loginForm") != tt.ends {
				t.Errorf("ended: want %t\n%s", tt.ends, r.body)
			}
		})
	}
}

func newSite(t testing.TB, o Options) *Site {
	t.Helper()
	site, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// TestForeignForms checks that a log-in is accepted only from a page that was issued to the
// browser.
func TestForeignForms(t *testing.T) {
	tests := []struct {
		name    string
		do      func(*shop, *reader, url.Values)
		ok      bool
		foreign bool // refused as such
	}{
		{"form of the page", func(*shop, *reader, url.Values) {}, true, false},
		{"of a browser", func(_ *shop, r *reader, _ url.Values) {
			r.header.Set("Origin", base)
			r.header.Set("Sec-Fetch-Site", "same-origin")
		}, true, false},
		{"no key", func(_ *shop, _ *reader, form url.Values) { form.Del("form_key") }, false, false},
		{"invented key", func(_ *shop, _ *reader, form url.Values) { form.Set("form_key", strings.Repeat("A", 80)) }, false, false},
		{"key that is a cookie", func(_ *shop, r *reader, form url.Values) { form.Set("form_key", r.cookies["portico_customer"].Value) }, false, false},
		{"key of another browser", func(s *shop, _ *reader, form url.Values) {
			form.Set("form_key", s.reader().get("/oauth/authorize?oauth_token="+s.request("oob")).find(`name="form_key" value="([^"]*)"`))
		}, false, false},
		{"key of the other kind of users", func(s *shop, _ *reader, form url.Values) {
			other, _ := s.asked("admin")
			form.Set("form_key", other.find(`name="form_key" value="([^"]*)"`))
		}, false, false},
		{"expired page", func(s *shop, _ *reader, _ url.Values) { s.wait(formLife) }, false, false},
		{"a program without cookies", func(_ *shop, r *reader, _ url.Values) { clear(r.cookies) }, true, false},
		{"a browser without cookies", func(_ *shop, r *reader, _ url.Values) {
			clear(r.cookies)
			r.header.Set("Origin", base)
		}, false, false},
		{"another site", func(_ *shop, r *reader, _ url.Values) { r.header.Set("Origin", "http://evil.example") }, false, true},
		{"another site, by Sec-Fetch-Site", func(_ *shop, r *reader, _ url.Values) { r.header.Set("Sec-Fetch-Site", "cross-site") }, false, true},
		{"null origin", func(_ *shop, r *reader, _ url.Values) { r.header.Set("Origin", "null") }, false, true},
		{"in the query", func(_ *shop, _ *reader, form url.Values) { clear(form) }, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShop(t)
			r, at := s.asked("customer")
			action, form := r.form("ada@example.com", adaPassword)
			if tt.name == "in the query" {
				action += "?" + form.Encode()
			}
			tt.do(s, r, form)
			r.send(http.MethodPost, action, form)
			if tt.foreign {
				if r.want(403, "sent from another site"); len(r.reply.Result().Cookies()) > 0 {
					t.Errorf("cookies %v", r.reply.Result().Cookies())
				}
				r.header = http.Header{}
				if r.get(at); strings.Contains(r.body, "requests access") {
					t.Error("logged in")
				}
				return
			}
			if r.reply.Code != http.StatusFound {
				t.Fatalf("%d %v", r.reply.Code, r.err)
			}
			r.header = http.Header{}
			if r.get(at); strings.Contains(r.body, "requests access") != tt.ok {
				t.Errorf("logged in: want %t\n%s", tt.ok, r.body)
			}
			if !tt.ok && tt.name != "in the query" {
				r.want(200, "Please log in again")
			}
		})
	}
}

// TestAttempts checks that after several wrong passwords the client must wait, and after many
// more every client of the account, and that a correct one does not count.
func TestAttempts(t *testing.T) {
	const ada, there = "ada@example.com", "192.0.2.1"
	setUp := func(t *testing.T) (s *shop, try func(address, name, password string) *reader) {
		s = newShop(t)
		return s, func(address, name, password string) *reader {
			r, _ := s.asked("customer")
			r.t, r.address = t, address
			return r.logIn(name, password)
		}
	}
	elsewhere := func(i int) string { return fmt.Sprintf("198.51.%d.%d", i/250, i%250) }
	t.Run("client at an account", func(t *testing.T) {
		s, try := setUp(t)
		for range 3 * pairBurst {
			try(there, ada, adaPassword)
		}
		for i := range pairBurst {
			if got := try(there, "ADA@example.com", "wrong"); got.reply.Code != http.StatusFound {
				t.Fatalf("attempt %d: %d", i, got.reply.Code)
			}
		}
		r := try(there, ada, adaPassword).want(429, "Too many attempts")
		if r.reply.Header().Get("Retry-After") != "30" {
			t.Errorf("Retry-After: %s", r.reply.Header().Get("Retry-After"))
		}
		for address, name := range map[string]string{there: "eve@example.com", "192.0.2.2": ada, "2001:db8::1": ada} {
			if got := try(address, name, "wrong"); got.reply.Code != http.StatusFound {
				t.Errorf("%s at %s: %d", address, name, got.reply.Code)
			}
		}
		s.wait(pairPause)
		if got := try(there, ada, adaPassword); got.reply.Code != http.StatusFound {
			t.Errorf("later: %d", got.reply.Code)
		}
	})
	t.Run("account from everywhere", func(t *testing.T) {
		s, try := setUp(t)
		try(there, ada, adaPassword)
		for i := range accountBurst {
			if got := try(elsewhere(i), ada, "wrong"); got.reply.Code != http.StatusFound {
				t.Fatalf("attempt %d: %d", i, got.reply.Code)
			}
		}
		refused := try("203.0.113.1", ada, adaPassword).want(429, "Too many attempts")
		if refused.reply.Header().Get("Retry-After") != "6" {
			t.Errorf("Retry-After: %s", refused.reply.Header().Get("Retry-After"))
		}
		// The user has logged in from there before, and may even mistype the password.
		for _, password := range []string{"wrong", adaPassword} {
			if got := try(there, ada, password); got.reply.Code != http.StatusFound {
				t.Errorf("the user: %d", got.reply.Code)
			}
		}
		for range pairBurst {
			try(there, ada, "wrong")
		}
		try(there, ada, adaPassword).want(429, "Too many attempts")
		if got := try("203.0.113.1", "eve@example.com", "wrong"); got.reply.Code != http.StatusFound {
			t.Errorf("another account: %d", got.reply.Code)
		}
		s.wait(accountPause)
		if got := try("203.0.113.1", ada, adaPassword); got.reply.Code != http.StatusFound {
			t.Errorf("later: %d", got.reply.Code)
		}
	})
	t.Run("client at all accounts", func(t *testing.T) {
		_, try := setUp(t)
		for i := range clientBurst {
			if got := try("2001:db8::"+strconv.Itoa(i), "name"+strconv.Itoa(i), "wrong"); got.reply.Code != http.StatusFound {
				t.Fatalf("attempt %d: %d", i, got.reply.Code)
			}
		}
		for address, want := range map[string]int{"2001:db8::ffff": 429, "2001:db8:0:1::1": 302, there: 302} {
			if got := try(address, "name", "wrong").reply.Code; got != want {
				t.Errorf("%s: %d, want %d", address, got, want)
			}
		}
	})
}

func TestSeal(t *testing.T) {
	s, err := newSealer([]byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	want := session{Browser: "b", User: 1, Since: 2}
	sealed, err := s.seal("session frontend", want)
	if err != nil {
		t.Fatal(err)
	}
	var got session
	if !s.open("session frontend", sealed, &got) || got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if askAgain, _ := s.seal("session frontend", want); askAgain == sealed {
		t.Error("two seals are the same")
	}
	for name, text := range map[string]string{"cut": sealed[:len(sealed)-1], "longer": sealed + "A", "empty": "", "short": "AAAA", "long": strings.Repeat("A", 2*maxSealedBytes), "no base64": "!"} {
		if s.open("session frontend", text, &got) {
			t.Errorf("%s: opens", name)
		}
	}
	if s.open("session portico_admin", sealed, &got) {
		t.Error("opens for another purpose")
	}
}

// FuzzOpen checks that only texts sealed with the same key can be opened.
func FuzzOpen(f *testing.F) {
	s, err := newSealer([]byte("key"))
	if err != nil {
		f.Fatal(err)
	}
	other, err := newSealer([]byte("another key"))
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := other.seal("session frontend", session{Browser: "b", User: 1, Since: 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("session frontend", sealed)
	f.Add("session frontend", sealed+"A")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, purpose, text string) {
		if s.open(purpose, text, new(session)) {
			t.Errorf("%q opens for %q", text, purpose)
		}
	})
}

// FuzzPath checks that looking up any path does not panic.
func FuzzPath(f *testing.F) {
	s := newShop(f)
	for _, path := range []string{"/oauth/initiate/index/", "/admin/oAuth_authorize/confirm/", "//", "/index", "/admin/oAuth_authorize/index/index"} {
		f.Add(path, "oauth_token=a&login[username]=b")
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		r := &http.Request{Method: "GET", URL: &url.URL{Path: path, RawQuery: query}, Host: "store.example", Header: http.Header{}, Body: http.NoBody, RequestURI: "/"}
		if _, ok := s.site.Call(r); !ok {
			return
		}
		w := httptest.NewRecorder()
		if _, err := s.site.Serve(t.Context(), w, r, Visitor{Scheme: "http"}); err != nil || w.Code >= 500 {
			t.Errorf("%d %v", w.Code, err)
		}
	})
}
