package sqlstore_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

func TestSeededCredentials(t *testing.T) {
	sqltest.EachEngine(t, testSeededCredentials)
}

func testSeededCredentials(t *testing.T, e sqltest.Engine) {
	c := openDemo(t, e).Credentials()
	want := data(t)
	consumer, err := c.Consumer(t.Context(), strings.ToUpper(want.Consumer.Key))
	if err != nil || consumer.Key != want.Consumer.Key || consumer.Secret != want.Consumer.Secret {
		t.Errorf("consumer %+v, %v", consumer, err)
	}
	for _, seeded := range want.Tokens {
		token, err := c.Token(t.Context(), strings.ToUpper(seeded.Token))
		if err != nil || token.Token != seeded.Token || token.Secret != seeded.Secret || token.AdminID != seeded.AdminID ||
			token.CustomerID != seeded.CustomerID || token.ConsumerID != consumer.ID || token.Type != adapter.AccessToken || token.Revoked || token.CreatedAt.IsZero() {
			t.Errorf("token %+v, %v", token, err)
		}
	}
	for name, find := range map[string]func(string) error{
		"consumer": func(s string) error { _, err := c.Consumer(t.Context(), s); return err },
		"token":    func(s string) error { _, err := c.Token(t.Context(), s); return err },
	} {
		for _, s := range []string{"", "nobody", "'", "\x00", "\xff", want.Consumer.Key + " ", want.Tokens[0].Token + " "} {
			if err := find(s); adapter.KindOf(err) != adapter.NotFound || err == nil {
				t.Errorf("%s %q: %v, want not found", name, s, err)
			}
		}
	}
}

func TestAddAndRevoke(t *testing.T) {
	sqltest.EachEngine(t, testAddAndRevoke)
}

func testAddAndRevoke(t *testing.T, e sqltest.Engine) {
	c := openDemo(t, e).Credentials()
	consumer, err := c.AddConsumer(t.Context(), adapter.Consumer{Name: "mine"})
	if err != nil || len(consumer.Key) != 32 || len(consumer.Secret) != 32 {
		t.Fatalf("%+v, %v", consumer, err)
	}
	if again, err := c.Consumer(t.Context(), consumer.Key); err != nil || again != consumer {
		t.Errorf("%+v, %v; want %+v", again, err, consumer)
	}
	token, err := c.AddToken(t.Context(), adapter.Token{ConsumerID: consumer.ID, CustomerID: 2})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Token(t.Context(), token.Token); err != nil || again != token {
		t.Errorf("%+v, %v; want %+v", again, err, token)
	}
	if err := c.Revoke(t.Context(), strings.ToUpper(token.Token)); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Token(t.Context(), token.Token); err != nil || !again.Revoked {
		t.Errorf("%+v, %v; want it revoked", again, err)
	}
	if err := c.Revoke(t.Context(), "nothing"); adapter.KindOf(err) != adapter.NotFound || err == nil {
		t.Errorf("Revoke: %v, want not found", err)
	}
	grants, err := c.List(t.Context())
	if err != nil || len(grants) != 3 || len(grants[2].Tokens) != 1 || !grants[2].Tokens[0].Revoked {
		t.Fatalf("List: %+v, %v", grants, err)
	}
	for _, g := range grants {
		if g.Consumer.Secret != "" || slices.ContainsFunc(g.Tokens, func(t adapter.Token) bool { return t.Secret != "" }) {
			t.Error("a list holds secrets")
		}
	}
}

func TestAddRefuses(t *testing.T) {
	sqltest.EachEngine(t, testAddRefuses)
}

func testAddRefuses(t *testing.T, e sqltest.Engine) {
	c := openDemo(t, e).Credentials()
	taken := data(t)
	for _, tc := range []struct {
		name  string
		token adapter.Token
		want  adapter.ErrorKind
	}{
		{"unknown consumer", adapter.Token{ConsumerID: 99, AdminID: 1}, adapter.NotFound},
		{"unknown customer", adapter.Token{ConsumerID: 1, CustomerID: 99}, adapter.NotFound},
		{"unknown administrator", adapter.Token{ConsumerID: 1, AdminID: 99}, adapter.NotFound},
		{"no owner", adapter.Token{ConsumerID: 1}, adapter.Invalid},
		{"two owners", adapter.Token{ConsumerID: 1, AdminID: 1, CustomerID: 1}, adapter.Invalid},
		{"token too short", adapter.Token{ConsumerID: 1, AdminID: 1, Token: "abc"}, adapter.Invalid},
		{"token taken", adapter.Token{ConsumerID: 1, AdminID: 1, Token: strings.ToUpper(taken.Tokens[0].Token)}, adapter.Conflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := c.AddToken(t.Context(), tc.token); adapter.KindOf(err) != tc.want || err == nil {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
	if _, err := c.AddConsumer(t.Context(), adapter.Consumer{Key: strings.ToUpper(taken.Consumer.Key)}); adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("taken key: %v, want conflict", err)
	}
	if _, err := c.AddConsumer(t.Context(), adapter.Consumer{Key: "short"}); adapter.KindOf(err) != adapter.Invalid || err == nil {
		t.Errorf("short key: %v, want invalid", err)
	}
}

// TestSecretsAtRest opens one file under several secret keys.
func TestSecretsAtRest(t *testing.T) {
	sqltest.EachEngine(t, testSecretsAtRest)
}

func testSecretsAtRest(t *testing.T, e sqltest.Engine) {
	dsn := e.NewDSN(t)
	const secret = "0123456789abcdef0123456789abcdef"
	keyA, keyB := strings.Repeat("A", 32), strings.Repeat("B", 32)
	under := func(key string, f func(c *credentials.Store)) {
		t.Helper()
		db := sqlstore.OpenWith(t, sqlstore.Options{DSN: dsn, Migrate: true, SecretKey: key})
		f(db.Credentials())
	}
	under("first", func(c *credentials.Store) {
		if _, err := c.AddConsumer(t.Context(), adapter.Consumer{Key: keyA, Secret: secret}); err != nil {
			t.Fatal(err)
		}
	})
	under("", func(c *credentials.Store) {
		if _, err := c.AddConsumer(t.Context(), adapter.Consumer{Key: keyB, Secret: secret}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.AddConsumer(t.Context(), adapter.Consumer{Secret: "v1:x"}); adapter.KindOf(err) != adapter.Invalid || err == nil {
			t.Errorf("a plain secret with the mark: %v, want invalid", err)
		}
	})
	for _, key := range []string{"first", "second", ""} {
		under(key, func(c *credentials.Store) {
			sealed, err := c.Consumer(t.Context(), keyA)
			if (key == "first") != (err == nil && sealed.Secret == secret) {
				t.Errorf("sealed secret under %q: %+v, %v", key, sealed, err)
			}
			if err != nil && (adapter.KindOf(err) != adapter.Internal || !strings.Contains(err.Error(), "secret key") || strings.Contains(err.Error(), "v1:")) {
				t.Errorf("under %q: %v", key, err)
			}
			if plain, err := c.Consumer(t.Context(), keyB); err != nil || plain.Secret != secret {
				t.Errorf("plain secret under %q: %+v, %v", key, plain, err)
			}
		})
	}
	raw := sqltest.Raw(t, dsn)
	var stored string
	if err := raw.QueryRowContext(t.Context(), "SELECT secret FROM oauth_consumer WHERE consumer_key = '"+keyA+"'").Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stored, "v1:") || strings.Contains(stored, secret) {
		t.Errorf("stored as %q", stored)
	}
	// An encrypted secret copied to another row does not open.
	sqltest.Exec(t, dsn, "UPDATE oauth_consumer SET secret = '"+stored+"' WHERE consumer_key = '"+keyB+"'")
	under("first", func(c *credentials.Store) {
		if moved, err := c.Consumer(t.Context(), keyB); err == nil {
			t.Errorf("a secret of another row opened: %+v", moved)
		}
	})
}

func TestNonces(t *testing.T) {
	sqltest.EachEngine(t, testNonces)
}

func testNonces(t *testing.T, e sqltest.Engine) {
	c := openDemo(t, e).Credentials()
	use := func(nonce string, timestamp int64, want bool) {
		t.Helper()
		if fresh, err := c.Use(t.Context(), nonce, timestamp); fresh != want || err != nil {
			t.Errorf("Use(%q, %d) = %v, %v; want %v", nonce, timestamp, fresh, err, want)
		}
	}
	use("a", 1, true)
	use("a", 1, false)
	use("a", 2, false)
	use("A", 1, true)
	use("", 0, true)
	use("a ", 1, true) // every byte counts
	use("a\n", 1, true)
	use("é", 1, true)
	use("e", 1, true)
	use("\uFFFD", 1, true)
	for nonce, want := range map[string]bool{"a": true, "b": false} {
		if used, err := c.Used(t.Context(), nonce); used != want || err != nil {
			t.Errorf("Used(%q) = %v, %v", nonce, used, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if fresh, err := c.Use(ctx, "c", 1); fresh || err != context.Canceled { //nolint:errorlint // must be unwrapped
		t.Errorf("Use with a cancelled context: %v, %v", fresh, err)
	}
}

// TestNonceOnce uses one nonce from many goroutines.
func TestNonceOnce(t *testing.T) {
	sqltest.EachEngine(t, testNonceOnce)
}

func testNonceOnce(t *testing.T, e sqltest.Engine) {
	c := openDemo(t, e).Credentials()
	var won atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			fresh, err := c.Use(t.Context(), "wanted", 1)
			if err != nil {
				t.Error(err)
			}
			if fresh {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d callers found it fresh", won.Load())
	}
}

func TestRemoveConsumer(t *testing.T) { sqltest.EachEngine(t, testRemoveConsumer) }

func testRemoveConsumer(t *testing.T, e sqltest.Engine) {
	c := openDemo(t, e).Credentials()
	consumer, err := c.AddConsumer(t.Context(), adapter.Consumer{Name: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := c.AddToken(t.Context(), adapter.Token{ConsumerID: consumer.ID, CustomerID: 2})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.RemoveConsumer(t.Context(), strings.ToUpper(consumer.Key)); err != nil || n != 1 {
		t.Errorf("%d tokens, %v; want 1", n, err)
	}
	if _, err := c.Token(t.Context(), token.Token); err == nil || adapter.KindOf(err) != adapter.NotFound {
		t.Errorf("the token: %v, want not found", err)
	}
	if _, err := c.RemoveConsumer(t.Context(), consumer.Key); err == nil || adapter.KindOf(err) != adapter.NotFound {
		t.Errorf("again: %v, want not found", err)
	}
	if grants, err := c.List(t.Context()); err != nil || len(grants) != 2 || len(grants[0].Tokens) == 0 {
		t.Errorf("%+v, %v; want the others as they were", grants, err)
	}
}
