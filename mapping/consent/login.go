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
	// longestForm bounds the body of a form, in bytes.
	longestForm = 16 << 10
	// Longer names and passwords than these, in bytes, are nobody's.
	longestName, longestPassword = 255, 1024
	// sameName bounds the accounts of one name: a customer may have one at each website.
	sameName = 4
)

// logIn answers the form to log in.
func (s *Site) logIn(ctx context.Context, w http.ResponseWriter, v *visit) error {
	if s.crossOrigin.Check(v.r) != nil {
		// No cookie: it would replace that of the user who is logged in.
		return s.say(w, http.StatusForbidden, "This form was sent from another site. Please start again from the application.")
	}
	if !s.takes(v) {
		if one, ok := s.session(v.r, v.side); ok && one.User != 0 { // the form was sent twice
			redirect(w, v.formURL())
			return nil
		}
		return s.again(w, v, oldForm)
	}
	name, password := v.form[nameField], v.form[passwordField]
	wait, end := s.attempts.begin(tryer{v.side.cookie + " " + accountKey(name), ratelimit.Network(v.client)})
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		return s.again(w, v, tooMany)
	}
	u, ok, err := s.authenticate(ctx, v.side, name, password)
	switch {
	case err != nil:
		end(notTried)
		return err
	case !ok:
		end(wrongPassword)
		return s.again(w, v, wrongLogin)
	}
	end(rightPassword)
	one := session{Browser: newBrowser(), User: u.id, Password: fingerprint(u.hash), Since: s.now().Unix()}
	if err := s.remember(w, v, one); err != nil {
		return err
	}
	redirect(w, v.formURL())
	return nil
}

// again asks once more after an attempt that came to nothing.
func (s *Site) again(w http.ResponseWriter, v *visit, why notice) error {
	one := session{Browser: newBrowser(), Since: s.now().Unix()}
	if v.side.redirectsWrong && why != tooMany {
		one.Notice = why
		if err := s.remember(w, v, one); err != nil {
			return err
		}
		redirect(w, v.formURL())
		return nil
	}
	return s.askToLogIn(w, v, one, why)
}

// authenticate returns whose name and password these are. It does the same work for
// every name and password that are not an account's. An error means that the store cannot tell.
func (s *Site) authenticate(ctx context.Context, at *side, name, password string) (user, bool, error) {
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

// find returns the accounts of a name.
func (s *Site) find(ctx context.Context, at *side, name string) ([]user, error) {
	accounts := s.accounts[at.resource]
	if accounts == nil || name == "" || len(name) > longestName || strings.ToValidUTF8(name, "") != name || strings.IndexByte(name, 0) >= 0 {
		return nil, nil
	}
	query := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: at.name, Op: adapter.Eq, Operands: []string{name}}}}}, Limit: sameName}
	list, err := accounts.List(ctx, &adapter.ListParams{Query: query})
	switch {
	case err != nil && adapter.KindOf(err) == adapter.Unsupported:
		return nil, nil // a backend that has no such accounts
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

// upgrade puts a hash of today in the place of an old one of the right password, and
// returns the one that is there now. That it failed stops nobody.
func (s *Site) upgrade(ctx context.Context, at *side, u user, password string) string {
	hash, err := adapter.HashPassword(password, s.cost)
	if err == nil {
		err = s.upgrades[at.resource](ctx, adapter.Key(u.id), u.hash, hash)
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "old hash of a password not replaced", slog.String("of", string(at.resource)), slog.Any("error", err))
		return u.hash
	}
	return hash
}

// accountKey stands for an account in counts, whether there is one or not.
func accountKey(name string) string {
	if len(name) > longestName {
		name = name[:longestName]
	}
	return adapter.Fold(name)
}

// UpgradeCustomer returns what puts a hash in the place of the old one of a customer of
// the store, for [Options.Upgrades].
func UpgradeCustomer(customers adapter.Store) Upgrade {
	return func(ctx context.Context, id adapter.Key, old, hash string) error {
		return customers.Update(ctx, &adapter.UpdateParams{Key: id, Change: func(current adapter.Record) (adapter.Record, error) {
			change := adapter.NewRecord(current.Schema)
			if current.Get("password_hash").Text() == old { // or somebody has changed it meanwhile
				change.Set("password_hash", adapter.TextValue(hash))
			}
			return change, nil
		}})
	}
}

// An Upgrade puts a hash in the place of the hash old of an account's password, if it
// still is that.
type Upgrade func(ctx context.Context, id adapter.Key, old, hash string) error
