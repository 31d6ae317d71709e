package consent

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/limits"
)

const (
	// maxFormBytes is the maximum size of a form body in bytes.
	maxFormBytes = 16 << 10
	// Names and passwords over these sizes in bytes never match an account.
	longestName, longestPassword = 255, 1024
	// maxAccountsPerName is the maximum number of accounts with one name: a customer may have one
	// per website.
	maxAccountsPerName = 4
)

// logIn handles a submitted log-in form.
func (s *Site) logIn(ctx context.Context, w http.ResponseWriter, v *visit) error {
	if s.crossOrigin.Check(v.r) != nil {
		return s.refuseForm(w, v)
	}
	if !s.acceptsForm(v) {
		if one, ok := s.session(v.r, v.userKind); ok && one.User != 0 { // the form was submitted twice
			redirect(w, v.formURL())
			return nil
		}
		return s.askAgain(ctx, w, v, expiredForm)
	}
	name, password := v.form[nameField], v.form[passwordField]
	wait, end := s.attempts.begin(loginAttempt{v.userKind.cookie + " " + accountKey(name), limits.Network(v.client)})
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		return s.askAgain(ctx, w, v, tooMany)
	}
	u, ok, err := s.authenticate(ctx, v.userKind, name, password)
	switch {
	case err != nil:
		end(notChecked)
		return err
	case !ok:
		end(wrongPassword)
		return s.askAgain(ctx, w, v, wrongLogin)
	}
	end(rightPassword)
	one := session{Browser: newBrowserID(), User: u.id, Password: fingerprint(u.hash), Since: s.now().Unix()}
	if err := s.setSessionCookie(w, v, one); err != nil {
		return err
	}
	redirect(w, v.formURL())
	return nil
}

// refuseForm answers a form that another site has sent. It sets no cookie, which would replace
// the cookie of a logged-in user.
func (s *Site) refuseForm(w http.ResponseWriter, v *visit) error {
	return s.writeMessages(w, v, http.StatusForbidden, "This form was sent from another site. Please start again from the application.")
}

// logOut handles a submitted log-out form: it ends the session in this browser, so that another
// user can log in for the same request token.
func (s *Site) logOut(w http.ResponseWriter, v *visit) error {
	switch {
	case v.r.Method != http.MethodPost:
	case s.crossOrigin.Check(v.r) != nil:
		return s.refuseForm(w, v)
	case !s.acceptsForm(v):
		return s.writeMessages(w, v, http.StatusForbidden, "That page has expired. You are still logged in.", "Please start again from the application.")
	default:
		if err := s.setSessionCookie(w, v, session{Browser: newBrowserID(), Since: s.now().Unix()}); err != nil {
			return err
		}
	}
	redirect(w, v.formURL())
	return nil
}

// askAgain shows the log-in form again, with the user name, after a failed attempt.
func (s *Site) askAgain(ctx context.Context, w http.ResponseWriter, v *visit, why notice) error {
	one := session{Browser: newBrowserID(), Since: s.now().Unix()}
	name := v.form[nameField]
	if len(name) > longestName || strings.ToValidUTF8(name, "") != name {
		name = ""
	}
	if v.userKind.redirectsWrong && why != tooMany {
		one.Notice, one.Name = why, name
		if err := s.setSessionCookie(w, v, one); err != nil {
			return err
		}
		redirect(w, v.formURL())
		return nil
	}
	_, consumer, err := s.granting.Waiting(ctx, v.token)
	if _, ok := errors.AsType[*auth.Problem](err); err != nil && !ok {
		return err
	}
	return s.askToLogIn(w, v, consumer, one, name, why)
}

// authenticate returns the account with this name and password. It does the same amount of
// work for every combination that does not match. An error means that the store failed.
func (s *Site) authenticate(ctx context.Context, at *userKind, name, password string) (user, bool, error) {
	found, err := s.find(ctx, at, name)
	if err != nil {
		return user{}, false, err
	}
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return user{}, false, ctx.Err()
	}
	if len(password) > longestPassword {
		password, found = "", nil
	}
	hashes := make([]string, len(found))
	for i, u := range found {
		hashes[i] = u.hash
	}
	i, upgrade := s.passwords.Check(hashes, password)
	if i < 0 {
		return user{}, false, nil
	}
	u := found[i]
	if upgrade {
		u.hash = s.upgrade(ctx, at, u, password)
	}
	return u, true, nil
}

// find returns the accounts with this name.
func (s *Site) find(ctx context.Context, at *userKind, name string) ([]user, error) {
	accounts := s.accounts[at.resource]
	if accounts == nil || name == "" || len(name) > longestName || strings.ToValidUTF8(name, "") != name || strings.IndexByte(name, 0) >= 0 {
		return nil, nil
	}
	query := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: at.name, Op: adapter.Eq, Operands: []string{name}}}}}, Limit: maxAccountsPerName}
	list, err := accounts.List(ctx, &adapter.ListParams{Query: query})
	switch {
	case err != nil && adapter.KindOf(err) == adapter.Unsupported:
		return nil, nil // the backend has no such accounts
	case err != nil:
		return nil, err
	}
	records := list.Records
	if list.Partial && len(records) > 0 {
		if records, _, err = adapter.Apply(ctx, records[0].Schema, records, &query); err != nil {
			return nil, err
		}
	}
	users := make([]user, len(records))
	for i, record := range records {
		users[i] = at.user(record)
	}
	return users, nil
}

// upgrade replaces an outdated hash of a correct password, and returns the hash that is
// stored now. A failure is logged and does not prevent the log-in.
func (s *Site) upgrade(ctx context.Context, at *userKind, u user, password string) string {
	hash, err := adapter.HashPassword(password, s.cost)
	if err == nil {
		err = s.upgrades[at.resource](ctx, adapter.Key(u.id), u.hash, hash)
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "outdated password hash not replaced", slog.String("of", string(at.resource)), slog.Any("error", err))
		return u.hash
	}
	return hash
}

// accountKey returns the key under which attempts at an account are counted, whether the
// account exists or not.
func accountKey(name string) string {
	if len(name) > longestName {
		name = name[:longestName]
	}
	return adapter.Fold(name)
}

// UpgradeCustomer returns the Upgrade for customers in the store, for [Options.Upgrades].
func UpgradeCustomer(customers adapter.Store) Upgrade {
	return func(ctx context.Context, id adapter.Key, old, hash string) error {
		return customers.Update(ctx, &adapter.UpdateParams{Key: id, Change: func(current adapter.Record) (adapter.Record, error) {
			change := adapter.NewRecord(current.Schema)
			if current.Get("password_hash").Text() == old { // unless another request has changed it meanwhile
				change.Set("password_hash", adapter.TextValue(hash))
			}
			return change, nil
		}})
	}
}

// An Upgrade replaces the hash of an account's password if it is still old.
type Upgrade func(ctx context.Context, id adapter.Key, old, hash string) error

// Limits on failed log-ins: how many may fail in a row, and the interval at which another
// one is allowed after that. The tests use them as well.
const (
	// per client and account
	pairBurst, pairPause = 10, 30 * time.Second
	// per client, over all accounts
	clientBurst, clientPause = 30, 10 * time.Second
	// per account, over all clients that have never logged in to it: high enough that no
	// client can lock a user out with a few wrong passwords, low enough that many clients
	// together cannot guess a password
	accountBurst, accountPause = 100, 6 * time.Second

	// maxRememberedLogins is the number of clients that are remembered as having logged in.
	maxRememberedLogins = 10_000
)

// A tryer is a client that tries to log in to an account, which may not exist.
type loginAttempt struct {
	account string
	client  netip.Prefix
}

// attempts counts failed log-ins, of all processes if they share their counts.
type attempts struct {
	byPair    *limits.Limiter[loginAttempt]
	byClient  *limits.Limiter[netip.Prefix]
	byAccount *limits.Limiter[string]
	// loggedIn has the clients that have logged in to an account, probably its user.
	// Attempts of other clients do not block them.
	loggedIn *lru.Cache[loginAttempt, struct{}]
}

func newAttempts(now func() time.Time, shared limits.SharedRates) (a *attempts, err error) {
	a = &attempts{}
	if a.byPair, err = limits.NewLimiter[loginAttempt](1/pairPause.Seconds(), pairBurst, now); err != nil {
		return nil, err
	}
	if a.byClient, err = limits.NewLimiter[netip.Prefix](1/clientPause.Seconds(), clientBurst, now); err != nil {
		return nil, err
	}
	if a.byAccount, err = limits.NewLimiter[string](1/accountPause.Seconds(), accountBurst, now); err != nil {
		return nil, err
	}
	a.byPair.Share("login pair", shared)
	a.byClient.Share("login client", shared)
	a.byAccount.Share("login account", shared)
	a.loggedIn, err = lru.New[loginAttempt, struct{}](maxRememberedLogins)
	return a, err
}

// begin counts an attempt as failed until end reports its outcome. If the attempt is not
// allowed, wait is the number of seconds until the next one may be made; otherwise the
// caller must call end.
func (a *attempts) begin(t loginAttempt) (wait int, end func(outcome)) {
	known := a.loggedIn.Contains(t)
	if wait, ok := a.byClient.Take(t.client); !ok {
		return wait, nil
	}
	if wait, ok := a.byPair.Take(t); !ok {
		return wait, nil
	}
	if !known {
		if wait, ok := a.byAccount.Take(t.account); !ok {
			return wait, nil
		}
	}
	return 0, func(o outcome) {
		if o == wrongPassword {
			return
		}
		a.byClient.GiveBack(t.client)
		a.byPair.GiveBack(t)
		if !known {
			a.byAccount.GiveBack(t.account)
		}
		if o == rightPassword {
			a.loggedIn.Add(t, struct{}{})
		}
	}
}

// An outcome is the result of an attempt to log in.
type outcome uint8

const (
	wrongPassword outcome = iota
	rightPassword
	notChecked // the store failed, so the password was not checked
)
