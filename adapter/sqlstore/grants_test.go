package sqlstore_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

func TestGrants(t *testing.T) {
	sqltest.EachEngine(t, testGrants)
}

func notFound(err error) bool { return err != nil && adapter.KindOf(err) == adapter.NotFound }

func testGrants(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	c := db.Credentials()
	seeded := data(t)
	other, err := c.AddConsumer(t.Context(), adapter.Consumer{Name: "other", Callback: "https://a.example/", RejectedCallback: "https://b.example/"})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := c.AddToken(t.Context(), adapter.Token{ConsumerID: other.ID, CustomerID: 1})
	if err != nil {
		t.Fatal(err)
	}
	gone := func(token string) bool {
		t.Helper()
		_, err := c.Token(t.Context(), token)
		if err != nil && !notFound(err) {
			t.Fatal(err)
		}
		return err != nil
	}
	tests := []struct {
		name                string
		adminID, customerID int64
		mine                string // token of the same consumer and user in the demo store
	}{
		{"customer", 0, 1, seeded.Tokens[1].Token},
		{"administrator", 1, 0, seeded.Tokens[0].Token},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const callback = "http://client.example/cb?a=1"
			request, err := c.Begin(t.Context(), 1, callback)
			if err != nil || len(request.Token) != 32 || len(request.Secret) != 32 {
				t.Fatalf("%+v, %v", request, err)
			}
			pending, consumer, err := c.Pending(t.Context(), strings.ToUpper(request.Token))
			if err != nil || pending != request || consumer.ID != 1 || consumer.Key != seeded.Consumer.Key || consumer.Secret != "" {
				t.Errorf("%+v, %+v, %v; want %+v", pending, consumer, err, request)
			}
			if _, err := c.Exchange(t.Context(), request.Token, ""); err == nil {
				t.Error("exchanged without consent")
			}
			rival, err := c.Begin(t.Context(), 1, "oob")
			if err != nil {
				t.Fatal(err)
			}
			if _, err = c.Authorize(t.Context(), rival.Token, tt.adminID, tt.customerID); err != nil {
				t.Fatal(err)
			}
			if !gone(tt.mine) {
				t.Error("the user's access token of the same consumer is still there")
			}
			granted, err := c.Authorize(t.Context(), request.Token, tt.adminID, tt.customerID)
			if err != nil || len(granted.Verifier) != 32 || granted.AdminID != tt.adminID || granted.CustomerID != tt.customerID || granted.Callback != callback {
				t.Fatalf("%+v, %v", granted, err)
			}
			if !gone(rival.Token) {
				t.Error("the user's other authorised request token is still there")
			}
			if gone(kept.Token) || gone(seeded.Tokens[2].Token) {
				t.Error("a token of another consumer or user is gone")
			}
			if _, err := c.Authorize(t.Context(), request.Token, 1, 0); !notFound(err) {
				t.Errorf("authorised twice: %v", err)
			}
			if _, err := c.Exchange(t.Context(), request.Token, strings.Repeat("0", 32)); !notFound(err) {
				t.Errorf("exchanged with another verifier: %v", err)
			}
			access, err := c.Exchange(t.Context(), strings.ToUpper(request.Token), granted.Verifier)
			if err != nil || access.Type != adapter.AccessToken || access.Token == request.Token || access.Secret == request.Secret ||
				access.AdminID != tt.adminID || access.CustomerID != tt.customerID || access.Verifier != granted.Verifier {
				t.Errorf("%+v, %v", access, err)
			}
			if !gone(request.Token) {
				t.Error("the request token is still there")
			}
			for name, text := range map[string]string{"exchanged": request.Token, "access": access.Token, "unknown": strings.Repeat("0", 32), "empty": ""} {
				if err := c.Reject(t.Context(), text); !notFound(err) {
					t.Errorf("rejected, %s: %v", name, err)
				}
			}
			if gone(access.Token) {
				t.Error("an access token is rejected")
			}
			for _, token := range []string{request.Token, access.Token} {
				if _, err := c.Exchange(t.Context(), token, granted.Verifier); !notFound(err) {
					t.Errorf("exchanged twice: %v", err)
				}
			}
		})
	}
	if _, consumer, err := c.Pending(t.Context(), kept.Token); err != nil || consumer.Callback != other.Callback || consumer.RejectedCallback != other.RejectedCallback {
		t.Errorf("%+v, %v; want the callbacks of %+v", consumer, err, other)
	}
	if found, err := c.Consumer(t.Context(), other.Key); err != nil || found != other {
		t.Errorf("%+v, %v; want %+v", found, err, other)
	}
	request, err := c.Begin(t.Context(), 1, "oob")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Authorize(t.Context(), request.Token, 0, 99); !notFound(err) {
		t.Errorf("customer who does not exist: %v", err)
	}
	for _, owners := range [][2]int64{{0, 0}, {1, 1}} {
		if _, err := c.Authorize(t.Context(), request.Token, owners[0], owners[1]); err == nil || adapter.KindOf(err) != adapter.Invalid {
			t.Errorf("owners %v: %v", owners, err)
		}
	}
	if _, err := c.Begin(t.Context(), 99, "oob"); !notFound(err) {
		t.Errorf("consumer who does not exist: %v", err)
	}
	if _, err := c.Authorize(t.Context(), "nothing", 1, 0); !notFound(err) {
		t.Errorf("token that does not exist: %v", err)
	}
	rejected, err := c.Begin(t.Context(), 1, "oob")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Reject(t.Context(), strings.ToUpper(rejected.Token)); err != nil || !gone(rejected.Token) {
		t.Errorf("rejected: %v", err)
	}
	if err := c.Reject(t.Context(), rejected.Token); !notFound(err) {
		t.Errorf("rejected twice: %v", err)
	}
	granted, err := c.Begin(t.Context(), 1, "oob")
	if err == nil {
		granted, err = c.Authorize(t.Context(), granted.Token, 1, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Reject(t.Context(), granted.Token); !notFound(err) {
		t.Errorf("rejected after consent: %v", err)
	}
	if err := c.Revoke(t.Context(), request.Token); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Authorize(t.Context(), request.Token, 1, 0); !notFound(err) {
		t.Errorf("revoked: %v", err)
	}
}

// TestConcurrentGrants checks that only one of several concurrent authorizations and
// exchanges succeeds.
func TestConcurrentGrants(t *testing.T) {
	sqltest.EachEngine(t, testConcurrentGrants)
}

func testConcurrentGrants(t *testing.T, e sqltest.Engine) {
	c := openDemo(t, e).Credentials()
	const clients = 8
	var wg sync.WaitGroup
	granted := make([]adapter.Token, clients)
	for i := range clients {
		wg.Go(func() {
			request, err := c.Begin(t.Context(), 1, "oob")
			if err == nil {
				granted[i], err = c.Authorize(t.Context(), request.Token, 0, 1)
			}
			if err != nil && !notFound(err) { // a later authorization has deleted it
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var left adapter.Token
	for _, token := range granted {
		if _, err := c.Token(t.Context(), token.Token); err == nil && token.Token != "" {
			if left.Token != "" {
				t.Error("two tokens of one user are left")
			}
			left = token
		}
	}
	if left.Token == "" {
		t.Fatal("no token is left")
	}
	var exchanged atomic.Int64
	for range clients {
		wg.Go(func() {
			_, err := c.Exchange(t.Context(), left.Token, left.Verifier)
			if err == nil {
				exchanged.Add(1)
			} else if !notFound(err) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if exchanged.Load() != 1 {
		t.Errorf("exchanged %d times", exchanged.Load())
	}
}

// TestRequestTokensExpire checks that a request token is invalid after two hours, and
// deleted when the next one is created.
func TestRequestTokensExpire(t *testing.T) {
	sqltest.EachEngine(t, testRequestTokensExpire)
}

func testRequestTokensExpire(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	c := db.Credentials()
	old, err := c.Begin(t.Context(), 1, "oob")
	if err != nil {
		t.Fatal(err)
	}
	granted, err := c.Begin(t.Context(), 1, "oob")
	if err == nil {
		granted, err = c.Authorize(t.Context(), granted.Token, 0, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	then := time.Now().UTC().Add(-2*time.Hour - time.Minute).Format(time.DateTime)
	sqlstore.Exec(t, db, "UPDATE oauth_token SET created_at = '"+then+"'")
	if _, _, err := c.Pending(t.Context(), old.Token); !notFound(err) {
		t.Errorf("pending: %v", err)
	}
	if _, err := c.Authorize(t.Context(), old.Token, 0, 2); !notFound(err) {
		t.Errorf("authorised: %v", err)
	}
	if _, err := c.Exchange(t.Context(), granted.Token, granted.Verifier); !notFound(err) {
		t.Errorf("exchanged: %v", err)
	}
	young, err := c.Begin(t.Context(), 1, "oob")
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]bool{old.Token: false, granted.Token: false, young.Token: true, data(t).Tokens[0].Token: true} {
		if _, err := c.Token(t.Context(), token); (err == nil) != want {
			t.Errorf("%s: %v, there: want %t", token, err, want)
		}
	}
}

func TestAPIKeys(t *testing.T) {
	sqltest.EachEngine(t, testAPIKeys)
}

func testAPIKeys(t *testing.T, e sqltest.Engine) {
	c := openDemo(t, e).Credentials()
	admin, text, err := c.AddKey(t.Context(), adapter.APIKey{ID: 7, Name: "probe", Kind: adapter.AdminKey, Revoked: true})
	if err != nil || admin.Revoked || len(text) < 50 {
		t.Fatalf("%+v, %v", admin, err)
	}
	customer, second, err := c.AddKey(t.Context(), adapter.APIKey{Name: "app", Kind: adapter.CustomerKey, CustomerID: 2})
	if err != nil || second == text {
		t.Fatalf("%+v, %v", customer, err)
	}
	for _, refused := range []struct {
		name string
		key  adapter.APIKey
		want adapter.ErrorKind
	}{
		{"customer who does not exist", adapter.APIKey{Kind: adapter.CustomerKey, CustomerID: 99}, adapter.NotFound},
		{"administrator who does not exist", adapter.APIKey{Kind: adapter.AdminKey, AdminID: 99}, adapter.NotFound},
		{"unknown kind", adapter.APIKey{CustomerID: 2}, adapter.Invalid},
		{"no customer", adapter.APIKey{Kind: adapter.CustomerKey}, adapter.Invalid},
		{"customer key with an administrator", adapter.APIKey{Kind: adapter.CustomerKey, CustomerID: 2, AdminID: 1}, adapter.Invalid},
		{"administrator key with a customer", adapter.APIKey{Kind: adapter.AdminKey, CustomerID: 2}, adapter.Invalid},
	} {
		if _, _, err := c.AddKey(t.Context(), refused.key); err == nil || adapter.KindOf(err) != refused.want {
			t.Errorf("%s: %v, want %v", refused.name, err, refused.want)
		}
	}
	for text, want := range map[string]adapter.APIKey{text: admin, second: customer} {
		if got, err := c.Key(t.Context(), adapter.HashAPIKey(text)); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	for _, hash := range []string{"", text, adapter.HashAPIKey(text)[1:], "\x00", "\xff"} {
		if _, err := c.Key(t.Context(), hash); !notFound(err) {
			t.Errorf("%q: %v", hash, err)
		}
	}
	if err := c.RevokeKey(t.Context(), customer.ID); err != nil {
		t.Fatal(err)
	}
	customer.Revoked = true
	if got, err := c.Keys(t.Context()); err != nil || len(got) != 2 || got[0] != admin || got[1] != customer {
		t.Errorf("%+v, %v", got, err)
	}
	if err := c.RevokeKey(t.Context(), 99); !notFound(err) {
		t.Errorf("key that does not exist: %v", err)
	}
}

// TestDisableAdmin checks that nothing can act for an administrator who is disabled,
// until the administrator is enabled again.
func TestDisableAdmin(t *testing.T) { sqltest.EachEngine(t, testDisableAdmin) }

func testDisableAdmin(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	c := db.Credentials()
	id, err := db.Admins().Add(t.Context(), 0, "Erp", "hash")
	if err != nil {
		t.Fatal(err)
	}
	mine, err := c.AddToken(t.Context(), adapter.Token{ConsumerID: 1, AdminID: int64(id)})
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.AddToken(t.Context(), adapter.Token{ConsumerID: 1, AdminID: 1})
	if err != nil {
		t.Fatal(err)
	}
	key, text, err := c.AddKey(t.Context(), adapter.APIKey{Name: "mine", Kind: adapter.AdminKey, AdminID: int64(id)})
	if err != nil || key.AdminID != int64(id) {
		t.Fatal(key, err)
	}
	_, anybodys, err := c.AddKey(t.Context(), adapter.APIKey{Name: "anybody's", Kind: adapter.AdminKey})
	if err != nil {
		t.Fatal(err)
	}
	var begun []adapter.Token
	consumer, err := c.AddConsumer(t.Context(), adapter.Consumer{Name: "dance"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		request, err := c.Begin(t.Context(), consumer.ID, "oob")
		if err != nil {
			t.Fatal(err)
		}
		begun = append(begun, request)
	}
	authorised, err := c.Authorize(t.Context(), begun[0].Token, int64(id), 0)
	if err != nil {
		t.Fatal(err)
	}

	done, err := db.Admins().Disable(t.Context(), "ÉRP")
	if want := (credentials.DisableReport{ID: id, Tokens: 2, Keys: 1}); err != nil || done != want {
		t.Errorf("%+v, %v; want %+v", done, err, want)
	}
	for token, revoked := range map[string]bool{mine.Token: true, authorised.Token: true, other.Token: false} {
		if got, err := c.Token(t.Context(), token); err != nil || got.Revoked != revoked {
			t.Errorf("token %s: revoked %t, %v", token, got.Revoked, err)
		}
	}
	for text, revoked := range map[string]bool{text: true, anybodys: false} {
		if got, err := c.Key(t.Context(), adapter.HashAPIKey(text)); err != nil || got.Revoked != revoked {
			t.Errorf("key %s: %+v, %v", got.Name, got, err)
		}
	}
	if _, err := c.Exchange(t.Context(), authorised.Token, authorised.Verifier); !notFound(err) {
		t.Errorf("exchange: %v, want not found", err)
	}
	refusals := func() map[string]error {
		_, token := c.AddToken(t.Context(), adapter.Token{ConsumerID: 1, AdminID: int64(id)})
		_, _, key := c.AddKey(t.Context(), adapter.APIKey{Kind: adapter.AdminKey, AdminID: int64(id)})
		_, grant := c.Authorize(t.Context(), begun[1].Token, int64(id), 0)
		return map[string]error{"token": token, "key": key, "grant": grant}
	}
	for what, err := range refusals() {
		if err == nil || adapter.KindOf(err) != adapter.Invalid && !(what == "grant" && notFound(err)) {
			t.Errorf("a new %s: %v", what, err)
		}
	}
	disabled := func() int64 {
		store := adaptertest.StoreOf(t, db.Adapter(), adapter.Admins)
		return adaptertest.MustGet(t, store, adapter.GetParams{Key: id}).Get("disabled").Int()
	}
	if disabled() != 1 {
		t.Error("the record does not say so")
	}
	if done, err := db.Admins().Disable(t.Context(), "erp"); err != nil || done.Tokens+done.Keys != 0 {
		t.Errorf("again: %+v, %v", done, err)
	}
	if enabled, err := db.Admins().Enable(t.Context(), "erp"); err != nil || enabled != id || disabled() != 0 {
		t.Errorf("enabled %d, %v", enabled, err)
	}
	for what, err := range refusals() {
		if err != nil {
			t.Errorf("a new %s once enabled: %v", what, err)
		}
	}
	if got, err := c.Token(t.Context(), mine.Token); err != nil || !got.Revoked {
		t.Errorf("an old token once enabled: revoked %t, %v", got.Revoked, err)
	}
	_, disable := db.Admins().Disable(t.Context(), "nobody")
	_, enable := db.Admins().Enable(t.Context(), "nobody")
	_, find := db.Admins().ID(t.Context(), "nobody")
	if !notFound(disable) || !notFound(enable) || !notFound(find) {
		t.Errorf("nobody: %v, %v, %v", disable, enable, find)
	}
}
