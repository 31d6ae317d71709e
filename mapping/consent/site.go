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
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
)

// defaultMaxQuery bounds queries where Options does not.
const defaultMaxQuery = 64 << 10

// Options are what a Site needs.
type Options struct {
	Granting *auth.Granting
	// Accounts holds the users: the records of adapter.Customers and of adapter.Admins.
	// Where one is missing nobody of its kind logs in.
	Accounts map[adapter.Resource]adapter.Store
	// Upgrades replaces old hashes of passwords, by the same resources.
	Upgrades map[adapter.Resource]Upgrade
	// Secret seals sessions. Replicas that share it share sessions; with none they last
	// as long as the process.
	Secret []byte
	// MaxQuery bounds the query of a request, in bytes; 0 is 64 KiB.
	MaxQuery int
	// PublicURL is the base URL of the shop, "" for that of each request.
	PublicURL string
	Log       *slog.Logger
	// PasswordCost is the bcrypt cost of hashes that replace old ones, 0 for
	// bcrypt.DefaultCost.
	PasswordCost int
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// A Site serves what stands outside the API for OAuth. It is safe for concurrent use.
type Site struct {
	granting    *auth.Granting
	accounts    map[adapter.Resource]adapter.Store
	upgrades    map[adapter.Resource]Upgrade
	pages       map[string]page
	sealer      *sealer
	public      string
	publicPath  string // of public, which stands before the paths that browsers ask for
	maxQuery    int
	log         *slog.Logger
	now         func() time.Time
	crossOrigin *http.CrossOriginProtection
	template    *template.Template
	policy      string // of the pages' contents
	attempts    *attempts
	passwords   *adapter.PasswordChecker
	cost        int           // of hashes
	hashing     chan struct{} // as long as passwords may be hashed at a time
}

// New returns a Site. It fails for a PublicURL that is none, and for resources without
// an Upgrade.
func New(o Options) (*Site, error) {
	s := &Site{
		granting: o.Granting, accounts: o.Accounts, upgrades: o.Upgrades, public: strings.TrimRight(o.PublicURL, "/"),
		maxQuery: cmp.Or(o.MaxQuery, defaultMaxQuery), pages: pages(customerSide(), adminSide()), log: o.Log, now: o.Now,
		crossOrigin: http.NewCrossOriginProtection(), cost: o.PasswordCost, hashing: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	if s.now == nil {
		s.now = time.Now
	}
	for resource := range o.Accounts {
		if o.Upgrades[resource] == nil {
			return nil, fmt.Errorf("consent: %s have no upgrade", resource)
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
	s.attempts, errs[2] = newAttempts(s.now)
	return s, errors.Join(errs[:]...)
}

// A Visitor is what a server knows of who sends a request.
type Visitor struct {
	Scheme  string // http or https, as the client used it
	Address string // the client's, for counting attempts
}

// Call returns the name of what r asks for, fit for a label, or false when it is not
// for this site.
func (s *Site) Call(r *http.Request) (name string, ok bool) {
	p, ok := s.of(r)
	return p.call, ok
}

// Serve answers r, which must be one that Call has a name for. problem is the name of
// the OAuth problem that refused it, or "". An error means that the store cannot
// answer, or that the request cannot be read, an [*http.MaxBytesError] included; then
// nothing has been written.
func (s *Site) Serve(ctx context.Context, w http.ResponseWriter, r *http.Request, visitor Visitor) (problem string, err error) {
	p, _ := s.of(r)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if len(r.URL.RawQuery) > s.maxQuery {
		return "", fmt.Errorf("%w: the query has more than %d bytes", ErrForm, s.maxQuery)
	}
	r.Body = http.MaxBytesReader(w, r.Body, longestForm)
	if p.side == nil {
		return s.grant(ctx, w, r, visitor, p.action)
	}
	header.Set("Referrer-Policy", "same-origin")
	query, _ := parseFields(r.URL.RawQuery) // what can be read of a malformed one counts
	form, err := readForm(r)
	if err != nil {
		return "", err
	}
	v := &visit{page: p, r: r, form: form, scheme: visitor.Scheme, client: visitor.Address, base: s.base(r, visitor)}
	v.token = cmp.Or(form[tokenField], query[tokenField])
	v.popUp = v.simple || form[simpleField] != "" || query[simpleField] != ""
	return "", s.serve(ctx, w, v)
}

// ErrForm is for a request whose form or query cannot be read: it is too long, or
// malformed.
var ErrForm = errors.New("consent: the form cannot be read")

// base returns what stands before the paths in URLs.
func (s *Site) base(r *http.Request, visitor Visitor) string {
	if s.public != "" {
		return s.public
	}
	return visitor.Scheme + "://" + r.Host
}

// A visit is one request for a page of a side.
type visit struct {
	page
	r              *http.Request
	form           fields // posted
	scheme, client string
	base           string
	token          string
	popUp          bool // the form is that of a pop-up
}

// formURL returns where the user of the visit's token is asked.
func (v *visit) formURL() string {
	path := v.side.form
	if v.popUp {
		path += "/simple"
	}
	return v.base + path + "?oauth_token=" + url.QueryEscape(v.token)
}

func (s *Site) serve(ctx context.Context, w http.ResponseWriter, v *visit) error {
	posted := v.r.Method == http.MethodPost
	_, named := v.form[nameField]
	switch {
	case posted && (v.action == logIn || v.action == ask && !v.side.redirectsWrong && named):
		return s.logIn(ctx, w, v)
	case v.action == logIn:
		redirect(w, v.formURL())
		return nil
	case v.r.Method != http.MethodGet:
		return s.say(w, http.StatusOK, "Request is not GET")
	}
	if !fromOurPage(v.r) {
		v.action = ask // the user did not press the button
	}
	one, known := s.session(v.r, v.side)
	u, in, err := s.user(ctx, v.side, one)
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
		token, err = s.authorise(ctx, v, u)
	case v.action == reject && !in:
		redirect(w, v.formURL())
		return nil
	case v.action == reject:
		err = s.granting.Reject(ctx, token.Token)
	}
	var refused *auth.Problem
	switch {
	case errors.As(err, &refused):
		return s.say(w, http.StatusOK, v.side.invalid[v.action])
	case err != nil:
		return err
	case v.action == confirm:
		return s.confirmed(w, v, token)
	case v.action == reject:
		return s.rejected(w, v, token, consumer)
	case in:
		return s.askToAuthorise(w, v, consumer, u)
	}
	if !known {
		one = session{Browser: newBrowser(), Since: s.now().Unix()}
	}
	why := one.Notice
	one = session{Browser: one.Browser, Since: one.Since}
	return s.askToLogIn(w, v, one, why)
}

// fromOurPage reports whether r can be a click on a button of our pages. A browser that
// says more must say that it opens a page, and on whose behalf: an image or a link of
// another site, a sibling domain included, decides nothing.
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

// authorise gives the token of the visit to a user.
func (s *Site) authorise(ctx context.Context, v *visit, u user) (adapter.Token, error) {
	if v.side.resource == adapter.Admins {
		return s.granting.Authorise(ctx, v.token, u.id, 0)
	}
	return s.granting.Authorise(ctx, v.token, 0, u.id)
}

func (s *Site) confirmed(w http.ResponseWriter, v *visit, token adapter.Token) error {
	if !auth.ValidCallback(token.Callback) {
		return s.say(w, http.StatusOK, "Authorization confirmed.", "Verifier code: "+token.Verifier)
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
		return s.say(w, http.StatusOK, "The application access request is rejected.")
	}
	redirect(w, auth.Callback(callback, v.parameters(token, "rejected=1")...))
	return nil
}

// parameters returns those of a callback.
func (v *visit) parameters(token adapter.Token, answer string) []string {
	all := []string{"oauth_token=" + token.Token, answer}
	if v.simple {
		all = append(all, v.side.simple...)
	}
	return all
}

func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
}

// write writes a page.
func (s *Site) write(w http.ResponseWriter, status int, data *pageData) error {
	var body bytes.Buffer
	data.Style = template.CSS(styleSheet) // #nosec G203 -- a constant
	if err := s.template.Execute(&body, data); err != nil {
		return fmt.Errorf("consent: %w", err)
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=UTF-8")
	header.Set("Content-Security-Policy", s.policy)
	header.Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a client that has gone cannot be told so
	return nil
}

func (s *Site) say(w http.ResponseWriter, status int, messages ...string) error {
	return s.write(w, status, &pageData{Title: "Authorization", Messages: messages})
}
