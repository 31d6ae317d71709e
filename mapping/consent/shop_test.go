package consent

import (
	"context"
	"crypto/md5"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

var (
	programKey, programSecret = strings.Repeat("a", 32), strings.Repeat("b", 32)
)

// users is an in-memory store of accounts.
type users struct {
	adapter.Store
	mu      sync.Mutex
	records []adapter.Record
	fail    error
	partial bool
}

func (u *users) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fail != nil {
		return nil, u.fail
	}
	if u.partial {
		return &adapter.ListResult{Records: u.records, Partial: true}, nil
	}
	page, _, err := adapter.Apply(ctx, u.records[0].Schema, u.records, &p.Query)
	return &adapter.ListResult{Records: page}, err
}

func (u *users) Get(_ context.Context, p *adapter.GetParams) (adapter.Record, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fail != nil {
		return adapter.Record{}, u.fail
	}
	for _, r := range u.records {
		if adapter.Key(r.Get(r.Schema.Key).Int()) == p.Key {
			return r.Clone(), nil
		}
	}
	return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound, Op: "get"}
}

func (u *users) Update(_ context.Context, p *adapter.UpdateParams) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, r := range u.records {
		if adapter.Key(r.Get(r.Schema.Key).Int()) != p.Key {
			continue
		}
		change, err := p.RunChange(r)
		if err != nil {
			return err
		}
		for at, v := range change.Values {
			if v.Kind() != adapter.Absent {
				u.records[i].Values[at] = v
			}
		}
	}
	return u.fail
}

func (u *users) set(id int64, name, value string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range u.records {
		if r.Get(r.Schema.Key).Int() == id {
			r.Set(name, adapter.TextValue(value))
		}
	}
}

// grants is an in-memory store of tokens, for which every nonce is new.
type grants struct{ *adaptertest.Store }

func (grants) Use(context.Context, string, int64) (bool, error) { return true, nil }
func (grants) Used(context.Context, string) (bool, error)       { return false, nil }

// A shop is a Site over stores in memory.
type shop struct {
	t         testing.TB
	site      *Site
	grants    grants
	customers *users
	admins    *users
	options   Options
	roles     roles

	mu  sync.Mutex
	now time.Time
}

// roles are the REST roles of a shop.
type roles struct {
	stored adapter.AccessRoles
	fail   error
}

func (r *roles) AccessRoles(context.Context) (adapter.AccessRoles, error) {
	return r.stored, r.fail
}

const (
	verifier      = adaptertest.Verifier
	adaPassword   = "ada's password"
	adminPassword = "admin's password"
)

// newShop returns a shop with the customers of ids 1 and 2, of one e-mail address at
// two websites, customer 3 who has not confirmed hers, customer 4 without a password,
// and the administrator 1.
func newShop(t testing.TB, edit ...func(*Options)) *shop {
	t.Helper()
	hash := func(password string) string {
		h, err := adapter.HashPassword(password, 4)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	schemas := adapter.NewSchemas()
	s := &shop{
		t: t, now: time.Unix(1_800_000_000, 0), customers: &users{}, admins: &users{},
		grants: grants{adaptertest.New(adapter.Consumer{ID: 1, Name: "ERP & Sons <1>", Key: programKey, Secret: programSecret})},
	}
	for id, c := range [][3]string{{"ada@example.com", hash(adaPassword)}, {"ada@example.com", hash("second")}, {"eve@example.com", hash("third"), "key"}, {"dot@example.com"}} {
		r := adapter.NewRecord(schemas.Of(adapter.Customers))
		r.Set("entity_id", adapter.IntegerValue(int64(id+1)))
		for at, name := range []string{"email", "password_hash", "confirmation"} {
			if c[at] != "" {
				r.Set(name, adapter.TextValue(c[at]))
			}
		}
		s.customers.records = append(s.customers.records, r)
	}
	admin := adapter.NewRecord(schemas.Of(adapter.Admins))
	admin.Set("admin_id", adapter.IntegerValue(1))
	admin.Set("username", adapter.TextValue("admin"))
	admin.Set("password_hash", adapter.TextValue(hash(adminPassword)))
	s.admins.records = []adapter.Record{admin}
	clock := func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now
	}
	authenticator := auth.New(s.grants, s.grants, auth.Options{Now: clock, RSACrashes: true, Roles: &s.roles})
	s.options = Options{
		Granting:    auth.NewGranting(authenticator, s.grants, true),
		Accounts:    map[adapter.Resource]adapter.Store{adapter.Customers: s.customers, adapter.Admins: s.admins},
		Upgrades:    map[adapter.Resource]Upgrade{adapter.Customers: UpgradeCustomer(s.customers), adapter.Admins: UpgradeCustomer(s.admins)},
		Permissions: map[contract.Role][]contract.Permission{},
		Log:         slog.New(slog.NewTextHandler(io.Discard, nil)), Now: clock, Secret: []byte("a secret that replicas share"), PasswordCost: 4,
	}
	for _, role := range contract.Roles() {
		s.options.Permissions[role] = contract.Permissions(contract.Documented(), role, contract.Routes(contract.StandardFields()))
	}
	for _, e := range edit {
		e(&s.options)
	}
	var err error
	if s.site, err = New(s.options); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) wait(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// request stores a new request token and returns it.
func (s *shop) request(callback string) string {
	s.t.Helper()
	t, err := s.grants.Begin(context.Background(), 1, callback)
	if err != nil {
		s.t.Fatal(err)
	}
	return t.Token
}

// A reader is a client with cookies that navigates the pages.
type reader struct {
	t       testing.TB
	site    *Site
	scheme  string
	address string
	cookies map[string]*http.Cookie
	header  http.Header // of every request

	reply *httptest.ResponseRecorder
	body  string
	err   error
}

func (s *shop) reader() *reader {
	return &reader{t: s.t, site: s.site, scheme: "http", address: "192.0.2.1", cookies: map[string]*http.Cookie{}, header: http.Header{}}
}

// send makes a request for a path, or a URL of the shop.
func (r *reader) send(method, target string, form url.Values) *reader {
	r.t.Helper()
	target = strings.TrimPrefix(strings.TrimPrefix(target, r.scheme+"://store.example"), "https://public.example/shop")
	request := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	request.Host = "store.example"
	if form != nil {
		request.Header.Set("Content-Type", formType)
	}
	maps.Copy(request.Header, r.header)
	for _, cookie := range r.cookies {
		request.AddCookie(cookie)
	}
	return r.do(request)
}

func (r *reader) do(request *http.Request) *reader {
	r.t.Helper()
	if _, ok := r.site.Call(request); !ok {
		r.t.Fatalf("%s is no page", request.URL)
	}
	r.reply = httptest.NewRecorder()
	_, r.err = r.site.Serve(context.Background(), r.reply, request, Visitor{Scheme: r.scheme, Address: r.address})
	r.body = r.reply.Body.String()
	for _, cookie := range r.reply.Result().Cookies() {
		r.cookies[cookie.Name] = cookie
	}
	return r
}

func (r *reader) get(target string) *reader {
	r.t.Helper()
	return r.send(http.MethodGet, target, nil)
}

// find returns the text of the first group of a pattern in the page, or "".
func (r *reader) find(pattern string) string {
	found := regexp.MustCompile(pattern).FindStringSubmatch(r.body)
	if found == nil {
		return ""
	}
	return found[1]
}

// form returns the fields that the log-in form of the page submits.
func (r *reader) form(name, password string) (action string, form url.Values) {
	form = url.Values{"login[username]": {name}, "login[password]": {password}}
	for _, hidden := range []string{"form_key", "oauth_token", "simple"} {
		if value := r.find(`name="` + hidden + `" value="([^"]*)"`); value != "" {
			form.Set(hidden, value)
		}
	}
	return r.find(`<form id="loginForm" action="([^"]+)"`), form
}

func (r *reader) logIn(name, password string) *reader {
	r.t.Helper()
	action, form := r.form(name, password)
	return r.send(http.MethodPost, action, form)
}

// want checks the reply: a part of the page, or the target of a redirect.
func (r *reader) want(status int, text string) *reader {
	r.t.Helper()
	if r.err != nil {
		r.t.Fatal(r.err)
	}
	if r.reply.Code == http.StatusFound {
		if got := r.reply.Header().Get("Location"); status != http.StatusFound || got != text {
			r.t.Errorf("sent to %s, want %d %s", got, status, text)
		}
		return r
	}
	if r.reply.Code != status || !strings.Contains(r.body, text) {
		r.t.Errorf("%d, want %d and %q\n%s", r.reply.Code, status, text, r.body)
	}
	return r
}

func saltedMD5(password string) string { return fmt.Sprintf("%x:ab", md5.Sum([]byte("ab"+password))) }
