package consent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/limits"
)

// defaultMaxQuery is the default of Options.MaxQuery.
const defaultMaxQuery = 64 << 10

// Options are the settings of a [Site].
type Options struct {
	Granting *auth.Granting
	// Accounts holds the stores of users, by resource: adapter.Customers and
	// adapter.Admins. Users of a missing kind cannot log in.
	Accounts map[adapter.Resource]adapter.Store
	// Upgrades replaces outdated password hashes, by resource.
	Upgrades map[adapter.Resource]Upgrade
	// Secret encrypts sessions. Replicas with the same secret share sessions; without one
	// sessions end with the process.
	Secret []byte
	// SharedCounts, unless nil, adds up failed log-ins over processes.
	SharedCounts limits.SharedRates
	// MaxQuery is the maximum length of a query in bytes; 0 means 64 KiB.
	MaxQuery int
	// PublicURL is the base URL of the shop; "" means the base URL of each request.
	PublicURL string
	// ShopName is the name of the shop on the pages; "" means the host of the base URL.
	ShopName string
	// Permissions are the rights of programs of users of a kind, of which the pages show those that the
	// REST role of the user leaves.
	Permissions map[contract.Role][]contract.Permission
	Log         *slog.Logger
	// PasswordCost is the bcrypt cost of new hashes that replace outdated ones; 0 means
	// bcrypt.DefaultCost.
	PasswordCost int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Site serves the OAuth pages and endpoints outside the API. It is safe for concurrent
// use.
type Site struct {
	granting    *auth.Granting
	accounts    map[adapter.Resource]adapter.Store
	upgrades    map[adapter.Resource]Upgrade
	pages       map[string]page
	sealer      *sealer
	public      string
	publicPath  string // path of public, a prefix of the paths that browsers request
	shopName    string // "" for the host of the base URL
	permissions map[contract.Role][]contract.Permission
	maxQuery    int
	log         *slog.Logger
	now         func() time.Time
	crossOrigin *http.CrossOriginProtection
	template    *template.Template
	policy      string // Content-Security-Policy of pages without a script
	attempts    *attempts
	passwords   *adapter.PasswordChecker
	cost        int           // bcrypt cost of new hashes
	hashing     chan struct{} // semaphore: limits concurrent password hashing
}

// New returns a Site. It fails for an invalid PublicURL, and for accounts without an
// Upgrade.
func New(o Options) (*Site, error) {
	s := &Site{
		granting: o.Granting, accounts: o.Accounts, upgrades: o.Upgrades, public: strings.TrimRight(o.PublicURL, "/"),
		maxQuery: cmp.Or(o.MaxQuery, defaultMaxQuery), pages: pages(customerKind(), adminKind()), log: o.Log, now: o.Now,
		shopName: o.ShopName, permissions: o.Permissions,
		crossOrigin: http.NewCrossOriginProtection(), cost: o.PasswordCost, hashing: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	if s.now == nil {
		s.now = time.Now
	}
	for resource := range o.Accounts {
		if o.Upgrades[resource] == nil {
			return nil, fmt.Errorf("consent: Options.Upgrades lacks %s", resource)
		}
	}
	if s.public != "" {
		u, err := url.Parse(s.public)
		if err == nil {
			s.publicPath = u.EscapedPath()
			err = s.crossOrigin.AddTrustedOrigin(u.Scheme + "://" + u.Host)
		}
		if err != nil {
			return nil, fmt.Errorf("consent: public URL: %w", err)
		}
	}
	style := sha256.Sum256([]byte(styleSheet))
	s.policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) + "'; base-uri 'none'; frame-ancestors 'none'"
	s.passwords = adapter.NewPasswordChecker(o.PasswordCost)
	var errs [3]error
	s.sealer, errs[0] = newSealer(o.Secret)
	s.template, errs[1] = template.New("page").Parse(pageTemplate)
	s.attempts, errs[2] = newAttempts(s.now, o.SharedCounts)
	return s, errors.Join(errs[:]...)
}

// WithShopName returns a site that shows another name of the shop, and shares everything else with s.
func (s *Site) WithShopName(name string) *Site {
	next := *s
	next.shopName = name
	return &next
}

// A Visitor holds the server's knowledge about the sender of a request.
type Visitor struct {
	Scheme  string // http or https, as the client used it
	Address string // of the client, for limiting attempts
}

// Call returns the name of the page that r requests, for use as a label. It reports false if
// the page does not belong to this site.
func (s *Site) Call(r *http.Request) (name string, ok bool) {
	p, ok := s.pageOf(r)
	return p.call, ok
}

// Serve answers r, for which Call must have returned a name. problem is the OAuth problem
// with which the request was rejected, or "". An error means that the store failed, or that
// the request cannot be read (this includes an [*http.MaxBytesError]); then nothing has been
// written.
func (s *Site) Serve(ctx context.Context, w http.ResponseWriter, r *http.Request, visitor Visitor) (problem string, err error) {
	p, _ := s.pageOf(r)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if len(r.URL.RawQuery) > s.maxQuery {
		return "", fmt.Errorf("%w: the query has more than %d bytes", ErrForm, s.maxQuery)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if p.userKind == nil {
		return s.grant(ctx, w, r, visitor, p.action)
	}
	if p.action == script {
		header.Set("Content-Type", "text/javascript; charset=UTF-8")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, copyScript) // fails only if the client has disconnected
		return "", nil
	}
	header.Set("Referrer-Policy", "same-origin")
	query, _ := parseFields(r.URL.RawQuery) // use the valid part of a malformed query
	form, err := readForm(r)
	if err != nil {
		return "", err
	}
	v := &visit{page: p, r: r, form: form, scheme: visitor.Scheme, client: visitor.Address, base: s.base(r, visitor)}
	v.token = cmp.Or(form[tokenField], query[tokenField])
	v.popUp = v.simple || form[simpleField] != "" || query[simpleField] != ""
	return "", s.serve(ctx, w, v)
}

// ErrForm is wrapped by the error for a request whose form or query is malformed or too
// long.
var ErrForm = errors.New("consent: the form or query is malformed or too long")

// base returns the base URL of the shop for a request.
func (s *Site) base(r *http.Request, visitor Visitor) string {
	if s.public != "" {
		return s.public
	}
	return visitor.Scheme + "://" + r.Host
}

// A visit is one request for a page of a kind of users.
type visit struct {
	page
	r              *http.Request
	form           fields // of a POST
	scheme, client string
	base           string
	token          string
	popUp          bool // the page is small, for a pop-up
}

// formURL returns the URL of the form for the visit's token.
func (v *visit) formURL() string {
	path := v.userKind.form
	if v.popUp {
		path += "/simple"
	}
	return v.base + path + "?oauth_token=" + url.QueryEscape(v.token)
}

// serve answers a request for a page of users. On the customers' pages only the log-in path
// accepts log-ins; on the administrators' page the form itself does.
func (s *Site) serve(ctx context.Context, w http.ResponseWriter, v *visit) error {
	posted := v.r.Method == http.MethodPost
	_, named := v.form[nameField]
	switch {
	case posted && (v.action == logIn || v.action == ask && !v.userKind.redirectsWrong && named):
		return s.logIn(ctx, w, v)
	case v.action == logOut:
		return s.logOut(w, v)
	case v.action == logIn:
		redirect(w, v.formURL())
		return nil
	case v.r.Method != http.MethodGet:
		return s.writeMessages(w, v, http.StatusOK, "Request is not GET")
	}
	if !fromOurPage(v.r) {
		v.action = ask // not a click on the button of our page
	}
	one, known := s.session(v.r, v.userKind)
	u, in, err := s.user(ctx, v.userKind, one)
	if err != nil {
		return err
	}
	if v.action == confirm && !in {
		redirect(w, v.formURL())
		return nil
	}
	token, consumer, err := s.granting.Waiting(ctx, v.token)
	switch {
	case err != nil:
	case v.action == confirm:
		adminID, customerID := v.userKind.ids(u)
		token, err = s.granting.Authorize(ctx, v.token, adminID, customerID)
	case v.action == reject && !in:
		redirect(w, v.formURL())
		return nil
	case v.action == reject:
		err = s.granting.Reject(ctx, token.Token)
	}
	var refused *auth.Problem
	switch {
	case errors.As(err, &refused):
		return s.writeMessages(w, v, http.StatusOK, v.userKind.invalid[v.action], "It has been answered or is too old. Please start again from the application.")
	case err != nil:
		return err
	case v.action == confirm:
		return s.confirmed(w, v, token, consumer)
	case v.action == reject:
		return s.rejected(w, v, token, consumer)
	case in:
		return s.askToAuthorize(ctx, w, v, token, consumer, one, u)
	}
	if !known {
		one = session{Browser: newBrowserID(), Since: s.now().Unix()}
	}
	name, why := one.Name, one.Notice
	one = session{Browser: one.Browser, Since: one.Since}
	return s.askToLogIn(w, v, consumer, one, name, why)
}

// fromOurPage reports whether r can be a click on a button of our pages. Browsers that send
// Sec-Fetch headers must declare a navigation that the user started on our pages: images and
// links of other sites, sibling domains included, cannot decide anything.
func fromOurPage(r *http.Request) bool {
	for name, want := range map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "document"} {
		for _, value := range r.Header[name] {
			if value != want {
				return false
			}
		}
	}
	return true
}

func (s *Site) confirmed(w http.ResponseWriter, v *visit, token adapter.Token, consumer adapter.Consumer) error {
	if !auth.ValidCallback(token.Callback) {
		return s.write(w, v, http.StatusOK, &pageData{
			Title: messageTitle, Messages: []string{"Authorization confirmed."}, Small: v.popUp,
			Script:   s.publicPath + v.userKind.form + scriptPath,
			Verifier: &verifierCode{token.Verifier, consumerName(consumer)},
		})
	}
	redirect(w, auth.Callback(token.Callback, v.parameters(token, "oauth_verifier="+token.Verifier)...))
	return nil
}

func (s *Site) rejected(w http.ResponseWriter, v *visit, token adapter.Token, consumer adapter.Consumer) error {
	callback := token.Callback
	if auth.ValidCallback(consumer.RejectedCallback) {
		callback = consumer.RejectedCallback
	}
	if !auth.ValidCallback(callback) {
		return s.writeMessages(w, v, http.StatusOK, "The application access request is rejected.")
	}
	redirect(w, auth.Callback(callback, v.parameters(token, "rejected=1")...))
	return nil
}

// parameters returns the parameters of a callback.
func (v *visit) parameters(token adapter.Token, answer string) []string {
	all := []string{"oauth_token=" + token.Token, answer}
	if v.simple {
		all = append(all, v.userKind.simple...)
	}
	return all
}

func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
}

// write writes a page.
func (s *Site) write(w http.ResponseWriter, v *visit, status int, data *pageData) error {
	var body bytes.Buffer
	data.Style = template.CSS(styleSheet) // #nosec G203 -- a constant
	data.Shop = cmp.Or(s.shopName, hostOf(v.base), "This shop")
	if err := s.template.Execute(&body, data); err != nil {
		return fmt.Errorf("consent: %w", err)
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=UTF-8")
	policy := s.policy
	if data.Script != "" {
		policy += "; script-src 'self'"
	}
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // fails only if the client has disconnected
	return nil
}

// messageTitle is the title of pages without a form.
const messageTitle = "Authorization"

func (s *Site) writeMessages(w http.ResponseWriter, v *visit, status int, messages ...string) error {
	return s.write(w, v, status, &pageData{Title: messageTitle, Messages: messages})
}

// hostOf returns the host name of a base URL as pages show it.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return plainName(u.Hostname())
}
