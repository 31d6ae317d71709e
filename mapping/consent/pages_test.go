package consent

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestAbilities checks that the pages describe the rights of programs for every resource of the
// contract.
func TestAbilities(t *testing.T) {
	routes := contract.Routes(contract.StandardFields())
	known := nouns()
	used := map[string]bool{}
	for _, r := range routes {
		used[r.Resource] = true
		n := known[r.Resource]
		own := r.Personal() || strings.HasPrefix(r.Resource, "order")
		if n.all == "" || own != (n.own != "") {
			t.Errorf("%s is called %+v, customers have their own: %t", r.Resource, n, own)
		}
	}
	if len(used) != len(known) {
		t.Errorf("%d resources, %d with nouns", len(used), len(known))
	}
	for _, tt := range []struct {
		name    string
		dialect *contract.Dialect
		kind    *userKind
		want    []string
	}{
		{"administrator", contract.Documented(), adminKind(), []string{
			"see, add, change and delete customers, addresses of customers, products and images of products",
			"see, add and delete categories of products and websites of products",
			"see and change stock items",
			"see orders, items of orders, addresses of orders and comments on orders",
		}},
		{"administrator, magento", contract.Magento(), adminKind(), []string{
			"see, add, change and delete customers, addresses of customers, products and images of products",
			"see, add and delete categories of products and websites of products",
			"see and change stock items",
			"see orders, items of orders and addresses of orders",
			"see and add comments on orders",
		}},
		{"customer", contract.Documented(), customerKind(), []string{
			"see and change your account",
			"see, add, change and delete your addresses",
			"see products, categories of products, images of products, your orders, items of your orders, addresses of your orders and comments on your orders",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.kind.abilities(contract.Permissions(tt.dialect, tt.kind.role, routes))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNarrowedAbilities checks that the page shows the rights that the REST role of the user leaves.
func TestNarrowedAbilities(t *testing.T) {
	rule := func(resource, privilege string) adapter.AccessRule {
		return adapter.AccessRule{Resource: adapter.Resource(resource), Privilege: privilege}
	}
	for _, tt := range []struct {
		name  string
		roles roles
		want  map[string]string // by kind of user
	}{
		{"narrowed", roles{stored: adapter.AccessRoles{Roles: []adapter.AccessRole{
			{ID: adapter.CustomerRole, Rules: []adapter.AccessRule{rule("orders", "retrieve"), rule("stock_items", "update")}},
			{ID: 9, Rules: []adapter.AccessRule{rule("stock_items", "update"), rule("stock_items", "retrieve"), rule("orders", "delete")}},
		}, Assigned: []adapter.RoleAssignment{{AdminID: 1, RoleID: 9}}}}, map[string]string{"admin": "<li>see and change stock items</li>", "customer": "<li>see your orders</li>"}},
		{"without a role", roles{stored: adapter.AccessRoles{Roles: []adapter.AccessRole{{ID: adapter.CustomerRole}}, Assigned: []adapter.RoleAssignment{{AdminID: 1, RoleID: 8}}}},
			map[string]string{"admin": "your role in the shop allows nothing", "customer": "your role in the shop allows nothing"}},
		{"unknown", roles{fail: errors.New("no store")}, map[string]string{"admin": "", "customer": ""}},
	} {
		for _, kind := range userKindsOfContract {
			t.Run(tt.name+"/"+kind.name, func(t *testing.T) {
				s := newShop(t)
				s.roles = tt.roles
				at := kind.form + "?oauth_token=" + s.request("oob")
				r := s.reader().get(at)
				r.logIn(kind.username, kind.password)
				if r.get(at); tt.want[kind.name] == "" {
					if r.err == nil {
						t.Errorf("%d without roles: %s", r.reply.Code, r.body)
					}
					return
				}
				r.want(200, tt.want[kind.name])
				if got := strings.Count(r.body, "<li>"); got > 1 {
					t.Errorf("%d abilities\n%s", got, r.body)
				}
			})
		}
	}
}

// TestProgramOnPages checks that every page on which a user decides names the program, in a
// form that the program cannot abuse for another message.
func TestProgramOnPages(t *testing.T) {
	for _, tt := range []struct{ name, program, shown string }{
		{"plain", "Warehouse", "Warehouse"},
		{"markup", `<script>alert(1)</script>"'`, html.EscapeString(`<script>alert(1)</script>"'`)},
		{"reversed text", "\u202eesuoheraW\u2028\x1b", "esuoheraW"},
		{"long", strings.Repeat("W", 5000), strings.Repeat("W", maxNameLength) + "…"},
		{"nothing to see", "\u200b \u3164", "A program without a name"},
	} {
		for _, kind := range userKindsOfContract {
			t.Run(tt.name+"/"+kind.name, func(t *testing.T) {
				s := newShop(t)
				s.grants.Client.Name = tt.program
				token := s.request("oob")
				at := kind.form + "?oauth_token=" + token
				quoted := "“<bdi>" + tt.shown + "</bdi>”"
				r := s.reader().get(at).want(200, quoted+" wants access to your account.")
				if r.logIn(kind.username, "wrong"); kind.redirectsWrong {
					r.get(at)
				}
				r.want(200, quoted+" wants access to your account.")
				r.logIn(kind.username, kind.password)
				r.get(at).want(200, ">"+tt.shown+" requests access to your account<")
				r.want(200, "<li>see")
				r.get(kind.form+"/confirm?oauth_token="+token).want(200, quoted+" asks for it.")
			})
		}
	}
	t.Run("no such token", func(t *testing.T) {
		s := newShop(t)
		r, _ := s.asked("admin")
		action, form := r.form("admin", "wrong")
		form.Set("oauth_token", strings.Repeat("f", 32))
		if r.send(http.MethodPost, action, form).want(200, "Invalid User Name or Password."); strings.Contains(r.body, "wants access") {
			t.Errorf("it names a program\n%s", r.body)
		}
	})
}

// TestDestination checks that users see the host to which a program takes them.
func TestDestination(t *testing.T) {
	for callback, want := range map[string]string{
		"http://client.example/cb?a=1":                  "If you agree, you go on to <strong>client.example</strong>.",
		"https://bank.example@evil.example:8443/":       "If you agree, you go on to <strong>evil.example:8443</strong>.",
		"http://bank.example.evil.example/bank.example": "If you agree, you go on to <strong>bank.example.evil.example</strong>.",
		"oob":                 "If you agree, you get a code to give to the program.",
		"javascript:alert(1)": "If you agree, you get a code to give to the program.",
	} {
		s := newShop(t)
		token := s.request(callback)
		r := s.reader().get("/oauth/authorize?oauth_token="+token).logIn("ada@example.com", adaPassword)
		r.get("/oauth/authorize?oauth_token="+token).want(200, want)
	}
}

// TestShopName checks that the pages show the name of the shop, else its host.
func TestShopName(t *testing.T) {
	for _, tt := range []struct{ name, shop, public, want string }{
		{"name", "Müller & Söhne", "https://public.example/shop", "Müller &amp; Söhne"},
		{"host of the public URL", "", "https://public.example:8443/shop", "public.example"},
		{"host of the request", "", "", "store.example"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShop(t, func(o *Options) { o.ShopName, o.PublicURL = tt.shop, tt.public })
			r, _ := s.asked("customer")
			r.want(200, "<header>"+tt.want+"</header>").want(200, "log-in – "+tt.want+"</title>")
		})
	}
}

// TestNameIsKept checks that after a failed attempt the form has the user name, once.
func TestNameIsKept(t *testing.T) {
	for _, tt := range []struct {
		name, given, kept string
		edit              func(*shop, url.Values)
		status            int // of the customers' reply; 0: a redirect
	}{
		{"wrong password", "ada@example.com", "ada@example.com", nil, 0},
		{"markup", `"><script>`, html.EscapeString(`"><script>`), nil, 0},
		{"longest", strings.Repeat("\x01", longestName), strings.Repeat("\x01", longestName), nil, 0},
		{"too long", strings.Repeat("a", longestName+1), "", nil, 0},
		{"not UTF-8", "\xff", "", nil, 0},
		{"expired form", "ada@example.com", "ada@example.com", func(s *shop, _ url.Values) { s.wait(formLife) }, 0},
		{"no key", "ada@example.com", "ada@example.com", func(_ *shop, form url.Values) { form.Del("form_key") }, 0},
		{"too many attempts", "ada@example.com", "ada@example.com", func(s *shop, _ url.Values) {
			for range pairBurst {
				r, _ := s.asked("customer")
				r.logIn("ada@example.com", "wrong")
				r, _ = s.asked("admin")
				r.logIn("ada@example.com", "wrong")
			}
		}, http.StatusTooManyRequests},
	} {
		for _, kind := range userKindsOfContract {
			t.Run(tt.name+"/"+kind.name, func(t *testing.T) {
				s := newShop(t)
				r, at := s.asked(kind.name)
				action, form := r.form(tt.given, "wrong")
				if tt.edit != nil {
					tt.edit(s, form)
				}
				r.send(http.MethodPost, action, form)
				if cookie := r.reply.Header().Get("Set-Cookie"); len(cookie) > 4096 {
					t.Errorf("the cookie has %d bytes", len(cookie))
				}
				if kind.redirectsWrong && tt.status == 0 {
					r.want(302, base+at).get(at)
				}
				name := `name="login[username]" value="` + tt.kept + `"`
				if r.want(r.reply.Code, name); strings.Contains(r.body, "wrong") {
					t.Errorf("the page repeats the password\n%s", r.body)
				}
				if focus := r.find(`id="(\w+)"[^>]* autofocus`); (focus == "pass" || focus == "login") != (tt.kept != "") {
					t.Errorf("the focus is on %q", focus)
				}
				r.get(at).want(200, `name="login[username]" value=""`)
			})
		}
	}
}

// TestLogOut checks that only the button of a page of this browser ends the session.
func TestLogOut(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edit   func(s *shop, r *reader, form url.Values)
		method string
		status int
		ends   bool
	}{
		{"the button", nil, http.MethodPost, 302, true},
		{"of a browser", func(_ *shop, r *reader, _ url.Values) {
			r.header.Set("Origin", base)
			r.header.Set("Sec-Fetch-Site", "same-origin")
		}, http.MethodPost, 302, true},
		{"a link", nil, http.MethodGet, 302, false},
		{"no key", func(_ *shop, _ *reader, form url.Values) { form.Del("form_key") }, http.MethodPost, 403, false},
		{"invented key", func(_ *shop, _ *reader, form url.Values) { form.Set("form_key", strings.Repeat("A", 80)) }, http.MethodPost, 403, false},
		{"key of another browser", func(s *shop, _ *reader, form url.Values) {
			other, _ := s.asked("customer")
			form.Set("form_key", other.find(`name="form_key" value="([^"]*)"`))
			other, _ = s.asked("admin")
			form.Add("form_key", other.find(`name="form_key" value="([^"]*)"`))
		}, http.MethodPost, 403, false},
		{"another site", func(_ *shop, r *reader, _ url.Values) { r.header.Set("Origin", "http://evil.example") }, http.MethodPost, 403, false},
		{"a sibling domain", func(_ *shop, r *reader, _ url.Values) { r.header.Set("Sec-Fetch-Site", "same-site") }, http.MethodPost, 403, false},
	} {
		for _, kind := range userKindsOfContract {
			for _, simple := range []string{"", "/simple"} {
				t.Run(tt.name+"/"+kind.name+simple, func(t *testing.T) {
					s := newShop(t)
					at := kind.form + simple + "?oauth_token=" + s.request("oob")
					r := s.reader().get(at).logIn(kind.username, kind.password).get(at).want(200, "requests access")
					action := r.find(`<form id="logoutForm" action="([^"]+)" method="post">`)
					_, form := r.form("", "")
					if tt.edit != nil {
						tt.edit(s, r, form)
					}
					r.send(tt.method, action, form)
					if tt.status == http.StatusFound && tt.method == http.MethodPost {
						r.want(302, base+at)
					} else if r.reply.Code != tt.status || tt.status == http.StatusForbidden && len(r.reply.Result().Cookies()) > 0 {
						t.Errorf("%d with cookies %v, want %d without", r.reply.Code, r.reply.Result().Cookies(), tt.status)
					}
					r.header = http.Header{}
					if r.get(at); strings.Contains(r.body, "loginForm") != tt.ends {
						t.Errorf("logged out: want %t\n%s", tt.ends, r.body)
					}
				})
			}
		}
	}
}

// TestVerifierPage checks that the page with a verifier works without its script, and it is the
// only one that has a script.
func TestVerifierPage(t *testing.T) {
	for _, public := range []string{"", base + "/shop"} {
		for _, kind := range userKindsOfContract {
			t.Run(kind.name+" "+public, func(t *testing.T) {
				s := newShop(t, func(o *Options) { o.PublicURL = public })
				at := kind.form + "?oauth_token=" + s.request("oob")
				r := s.reader()
				withoutScript := func() {
					t.Helper()
					if policy := r.reply.Header().Get("Content-Security-Policy"); strings.Contains(policy, "script-src") || strings.Contains(r.body, "<script") {
						t.Errorf("policy %q of\n%s", policy, r.body)
					}
				}
				r.get(at)
				withoutScript()
				action, form := r.form(kind.username, kind.password)
				r.send(http.MethodPost, strings.TrimPrefix(action, public), form).get(at)
				withoutScript()
				r.get(strings.Replace(at, "?", "/confirm?", 1)).want(200, "<p class=\"code\">Verifier code: "+verifier+"</p>")
				r.want(200, `data-copy="`+verifier+`" hidden>`)
				policy := r.reply.Header().Get("Content-Security-Policy")
				if !regexp.MustCompile(`^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'$`).MatchString(policy) {
					t.Errorf("policy %q", policy)
				}
				path := r.find(`<script src="([^"]+)" defer></script>`)
				if want := strings.TrimPrefix(public, base) + kind.form + "/copy.js"; path != want {
					t.Errorf("the script is at %s, want %s", path, want)
				}
				r.get(strings.TrimPrefix(path, strings.TrimPrefix(public, base))).want(200, `"use strict";`)
				if header := r.reply.Header(); header.Get("Content-Type") != "text/javascript; charset=UTF-8" || header.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("%v", header)
				}
			})
		}
	}
}

// TestPageSize checks that each page is small, and asks no other host for anything.
func TestPageSize(t *testing.T) {
	s := newShop(t)
	s.grants.Client.Name = strings.Repeat("é", 5000)
	r, at := s.asked("admin")
	check := func() {
		t.Helper()
		if size := len(r.body) + len(copyScript); size > 8<<10 {
			t.Errorf("%d bytes", size)
		}
		for _, address := range regexp.MustCompile(`(?:src|href|action)="([^"]*)"`).FindAllStringSubmatch(r.body, -1) {
			if !strings.HasPrefix(address[1], base+"/") {
				t.Errorf("the page refers to %s", address[1])
			}
		}
	}
	check()
	r.logIn("admin", adminPassword).get(at).want(200, "requests access")
	check()
}
