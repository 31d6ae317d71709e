package consent

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/ratelimit"
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
		// Do not set a cookie: it would replace that of a logged-in user.
		return s.writeMessages(w, http.StatusForbidden, "This form was sent from another site. Please start again from the application.")
	}
	if !s.acceptsForm(v) {
		if one, ok := s.session(v.r, v.userKind); ok && one.User != 0 { // the form was submitted twice
			redirect(w, v.formURL())
			return nil
		}
		return s.askAgain(w, v, expiredForm)
	}
	name, password := v.form[nameField], v.form[passwordField]
	wait, end := s.attempts.begin(loginAttempt{v.userKind.cookie + " " + accountKey(name), ratelimit.Network(v.client)})
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		return s.askAgain(w, v, tooMany)
	}
	u, ok, err := s.authenticate(ctx, v.userKind, name, password)
	switch {
	case err != nil:
		end(notChecked)
		return err
	case !ok:
		end(wrongPassword)
		return s.askAgain(w, v, wrongLogin)
	}
	end(rightPassword)
	one := session{Browser: newBrowserID(), User: u.id, Password: fingerprint(u.hash), Since: s.now().Unix()}
	if err := s.setSessionCookie(w, v, one); err != nil {
		return err
	}
	redirect(w, v.formURL())
	return nil
}

// askAgain shows the log-in form again after a failed attempt.
func (s *Site) askAgain(w http.ResponseWriter, v *visit, why notice) error {
	one := session{Browser: newBrowserID(), Since: s.now().Unix()}
	if v.userKind.redirectsWrong && why != tooMany {
		one.Notice = why
		if err := s.setSessionCookie(w, v, one); err != nil {
			return err
		}
		redirect(w, v.formURL())
		return nil
	}
	return s.askToLogIn(w, v, one, why)
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
			if current.Get("password_hash").Text() == old { // unless somebody has changed it meanwhile
				change.Set("password_hash", adapter.TextValue(hash))
			}
			return change, nil
		}})
	}
}

// An Upgrade replaces the hash of an account's password if it is still old.
type Upgrade func(ctx context.Context, id adapter.Key, old, hash string) error
