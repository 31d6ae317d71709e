package sqlstore_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// each returns an iterator over a list, without errors.
func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range list {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// name32 pads a text to 32 characters.
func name32(s string) string { return s + strings.Repeat("0", 32-len(s)) }

// foreign holds the credentials of another system, which tests may modify.
type foreign struct {
	admins    []adapter.Admin
	consumers []adapter.Consumer
	tokens    []adapter.LegacyToken
}

func anotherSystem() *foreign {
	access := func(id, consumer, admin, customer int64) adapter.LegacyToken {
		email := map[int64]string{1: "ADA@example.com", 2: "ben@example.com"}[customer]
		return adapter.LegacyToken{CustomerEmail: email, Token: adapter.Token{ID: id, ConsumerID: consumer, Type: adapter.AccessToken, Token: name32("token" + string(rune('a'+id))), Secret: name32("secret" + string(rune('a'+id))),
			AdminID: admin, CustomerID: customer, Verifier: name32("9"), CreatedAt: time.Date(2012, 1, 2, 3, 4, 5, 0, time.UTC)}}
	}
	f := &foreign{
		admins: []adapter.Admin{
			{ID: 7, Username: "ADMIN", PasswordHash: "x"}, {ID: 1, Username: "erp", PasswordHash: "15b29ffdce66e10527a65bc6d71ad94d"},
			{ID: 9, Username: "left", PasswordHash: "15b29ffdce66e10527a65bc6d71ad94d", Disabled: true}, {ID: 10, Username: "odd", PasswordHash: "$argon2id$"},
		},
		consumers: []adapter.Consumer{
			{ID: 50, Name: "Läger", Key: name32("KEY50"), Secret: name32("s50"), Callback: "https://a.example/", RejectedCallback: "https://b.example/"},
			{ID: 1, Name: "taken id", Key: name32("key1"), Secret: name32("s1")},
			{ID: 60, Name: "short", Key: "short", Secret: name32("s60")},
			{ID: 61, Name: "no secret", Key: name32("key61")},
		},
		tokens: []adapter.LegacyToken{
			access(0, 50, 7, 0), access(1, 50, 1, 0), access(2, 50, 9, 0), access(3, 50, 10, 0), access(4, 50, 99, 0), access(5, 1, 0, 1), access(6, 1, 0, 999),
			access(7, 60, 0, 1), access(8, 1, 0, 0), access(9, 1, 0, 2), access(10, 1, 0, 2), access(11, 1, 0, 2), access(12, 1, 0, 2), access(13, 61, 0, 2), access(14, 1, 0, 2), access(15, 1, 0, 2), access(16, 1, 0, 2),
		},
	}
	f.tokens[9].Revoked = true
	f.tokens[10].Type = adapter.RequestToken
	f.tokens[11].Token.Token = "short"
	f.tokens[12].Secret = ""
	f.tokens[14].CustomerEmail = "somebody.else@example.com"
	f.tokens[15].CustomerEmail = "" // the customer no longer exists there
	f.tokens[16].Unauthorized = true
	return f
}

func (f *foreign) credentials() credentials.Foreign {
	return credentials.Foreign{Admins: each(f.admins), Consumers: each(f.consumers), Tokens: each(f.tokens)}
}

func TestImportCredentials(t *testing.T) { sqltest.EachEngine(t, testImportCredentials) }

func testImportCredentials(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	c := db.Credentials()
	run := func(name string, from *foreign, o credentials.ImportOptions, want credentials.ImportReport) {
		t.Helper()
		got, err := c.Import(t.Context(), from.credentials(), o)
		if err != nil {
			t.Fatal(name, err)
		}
		got.Notes = nil
		if difference := cmp.Diff(want, got); difference != "" {
			t.Errorf("%s: want -, got +:\n%s", name, difference)
		}
	}
	from := anotherSystem()
	skippedTokens := map[credentials.Reason]int{credentials.AdminLocked: 1, credentials.NoAdmin: 1, credentials.NoCustomer: 1, credentials.NoConsumer: 2,
		credentials.NoOwner: 1, credentials.NotAccess: 1, credentials.NotGranted: 1, credentials.BadToken: 1, credentials.BadSecret: 1, credentials.OtherCustomer: 2}
	first := credentials.ImportReport{
		Admins:    credentials.Tally{Added: 3, Unchanged: 1},
		Consumers: credentials.Tally{Added: 2, Skipped: map[credentials.Reason]int{credentials.BadKey: 1, credentials.BadSecret: 1}},
		Tokens:    credentials.Tally{Added: 5, Skipped: skippedTokens},
	}
	before, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run("dry", from, credentials.ImportOptions{Admins: true, DryRun: true}, first)
	if after, err := c.List(t.Context()); err != nil || cmp.Diff(before, after) != "" {
		t.Errorf("a dry run has stored: %v", err)
	}
	withoutAdmins := first
	withoutAdmins.Admins = credentials.Tally{Unchanged: 1, Skipped: map[credentials.Reason]int{credentials.NoImport: 3}}
	withoutAdmins.Tokens = credentials.Tally{Added: 3, Skipped: map[credentials.Reason]int{credentials.AdminLocked: 1, credentials.NoAdmin: 3, credentials.NoCustomer: 1, credentials.NoConsumer: 2,
		credentials.NoOwner: 1, credentials.NotAccess: 1, credentials.NotGranted: 1, credentials.BadToken: 1, credentials.BadSecret: 1, credentials.OtherCustomer: 2}}
	run("dry, without administrators", from, credentials.ImportOptions{DryRun: true}, withoutAdmins)

	run("first", from, credentials.ImportOptions{Admins: true}, first)
	again := credentials.ImportReport{
		Admins:    credentials.Tally{Unchanged: 4},
		Consumers: credentials.Tally{Unchanged: 2, Skipped: map[credentials.Reason]int{credentials.BadKey: 1, credentials.BadSecret: 1}},
		Tokens:    credentials.Tally{Unchanged: 5, Skipped: skippedTokens},
	}
	run("again", from, credentials.ImportOptions{Admins: true}, again)

	consumer, err := c.Consumer(t.Context(), name32("key50"))
	want := from.consumers[0]
	if err != nil || consumer != want {
		t.Errorf("%+v, %v; want %+v", consumer, err, want)
	}
	if moved, err := c.Consumer(t.Context(), name32("key1")); err != nil || moved.ID == 1 || moved.Secret != name32("s1") {
		t.Errorf("%+v, %v; want another id", moved, err)
	}
	token, err := c.Token(t.Context(), name32("tokena"))
	if err != nil || token.AdminID != 1 || token.ConsumerID != 50 || token.Secret != name32("secreta") || token.Verifier != name32("9") || token.CreatedAt.Year() != 2012 || token.Revoked {
		t.Errorf("%+v, %v; want it the administrator's who is called so here", token, err)
	}
	if token, err := c.Token(t.Context(), name32("tokenb")); err != nil || token.AdminID == 1 {
		t.Errorf("%+v, %v; want another administrator than 1", token, err)
	}
	if token, err := c.Token(t.Context(), name32("tokenj")); err != nil || !token.Revoked || token.CustomerID != 2 {
		t.Errorf("%+v, %v; want it revoked", token, err)
	}
	if added, err := c.AddConsumer(t.Context(), adapter.Consumer{Name: "next"}); err != nil || added.ID <= 51 {
		t.Errorf("%+v, %v; want a greater id", added, err)
	}

	// Changes in the other system.
	from.consumers[0].Secret, from.consumers[0].Callback = name32("new"), ""
	from.tokens[0].Revoked, from.tokens[9].Revoked, from.tokens[5].Secret = true, false, name32("new")
	changed := again
	changed.Consumers = credentials.Tally{Unchanged: 1, Differing: 1, Skipped: again.Consumers.Skipped}
	changed.Tokens = credentials.Tally{Unchanged: 3, Updated: 1, Differing: 1, Skipped: skippedTokens}
	run("changed", from, credentials.ImportOptions{Admins: true}, changed)
	changed.Consumers = credentials.Tally{Unchanged: 1, Updated: 1, Skipped: again.Consumers.Skipped}
	changed.Tokens = credentials.Tally{Unchanged: 4, Updated: 1, Skipped: skippedTokens}
	run("changed, to be replaced", from, credentials.ImportOptions{Admins: true, Replace: true}, changed)
	if consumer, err := c.Consumer(t.Context(), name32("key50")); err != nil || consumer != from.consumers[0] {
		t.Errorf("%+v, %v; want %+v", consumer, err, from.consumers[0])
	}
	for token, revoked := range map[string]bool{"tokena": true, "tokenj": true, "tokenb": false} {
		if got, err := c.Token(t.Context(), name32(token)); err != nil || got.Revoked != revoked {
			t.Errorf("%s: revoked %t, %v", token, got.Revoked, err)
		}
	}
	if got, err := c.Token(t.Context(), name32("tokenf")); err != nil || got.Secret != name32("new") {
		t.Errorf("%+v, %v; want the new secret", got, err)
	}
}

// TestImportCredentialsFails checks that a failed import stores nothing and that its
// error contains no secret.
func TestImportCredentialsFails(t *testing.T) { sqltest.EachEngine(t, testImportCredentialsFails) }

func testImportCredentialsFails(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	broken := errors.New("the other system went away")
	from := anotherSystem().credentials()
	tokens := from.Tokens
	from.Tokens = func(yield func(adapter.LegacyToken, error) bool) {
		n := 0
		for token := range tokens {
			if n++; n == 3 {
				yield(adapter.LegacyToken{}, broken)
				return
			}
			if !yield(token, nil) {
				return
			}
		}
	}
	if _, err := db.Credentials().Import(t.Context(), from, credentials.ImportOptions{Admins: true}); !errors.Is(err, broken) {
		t.Errorf("%v, want the error of the source", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	from.Tokens = func(yield func(adapter.LegacyToken, error) bool) {
		for token := range tokens {
			if !yield(token, nil) {
				return
			}
			cancel()
		}
	}
	if _, err := db.Credentials().Import(ctx, from, credentials.ImportOptions{Admins: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want it cancelled", err)
	}
	grants, err := db.Credentials().List(t.Context())
	if err != nil || len(grants) != 2 {
		t.Errorf("%d consumers, %v; want the two of the demo store", len(grants), err)
	}
	from.Tokens = tokens
	if done, err := db.Credentials().Import(t.Context(), from, credentials.ImportOptions{Admins: true}); err != nil || done.Tokens.Added != 5 ||
		!slices.Contains(done.Notes, credentials.ImportNote{Kind: "consumer", Name: "short", Outcome: string(credentials.BadKey)}) {
		t.Errorf("repeated: %+v, %v", done, err)
	}
}

func TestRekey(t *testing.T) { sqltest.EachEngine(t, testRekey) }

func testRekey(t *testing.T, e sqltest.Engine) {
	dsn := e.NewDSN(t)
	with := func(key string) *credentials.Store {
		t.Helper()
		return sqlstore.OpenWith(t, sqlstore.Options{DSN: dsn, Migrate: true, SecretKey: key}).Credentials()
	}
	if _, err := open(t, dsn).Admins().Add(t.Context(), 1, "root", ""); err != nil {
		t.Fatal(err)
	}
	plain := with("")
	consumer, err := plain.AddConsumer(t.Context(), adapter.Consumer{Name: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := plain.AddToken(t.Context(), adapter.Token{ConsumerID: consumer.ID, AdminID: 1})
	if err != nil {
		t.Fatal(err)
	}
	opens := func(c *credentials.Store) bool {
		gotConsumer, err := c.Consumer(t.Context(), consumer.Key)
		gotToken, tokenErr := c.Token(t.Context(), token.Token)
		return err == nil && tokenErr == nil && gotConsumer.Secret == consumer.Secret && gotToken.Secret == token.Secret
	}
	rekey := func(name string, c *credentials.Store, old string, want credentials.RekeyReport, fails bool) {
		t.Helper()
		if got, err := c.Rekey(t.Context(), old); got != want || (err != nil) != fails {
			t.Errorf("%s: %+v, %v; want %+v, fails %t", name, got, err, want, fails)
		}
	}
	first, second := with("the first key"), with("the second key")
	rekey("no key", plain, "", credentials.RekeyReport{}, true)
	rekey("plain secrets", first, "", credentials.RekeyReport{Sealed: 2}, false)
	rekey("again", first, "", credentials.RekeyReport{Already: 2}, false)
	if !opens(first) || opens(plain) {
		t.Error("the first key does not open them, or none does")
	}
	// A secret that neither key decrypts stops the call, and nothing changes.
	late, err := with("a third key").AddToken(t.Context(), adapter.Token{ConsumerID: consumer.ID, AdminID: 1})
	if err != nil {
		t.Fatal(err)
	}
	rekey("one of another key", second, "the first key", credentials.RekeyReport{}, true)
	if !opens(first) {
		t.Error("a rekey that fails has changed secrets")
	}
	rekey("a wrong old key", second, "the third key", credentials.RekeyReport{}, true)
	sqltest.Exec(t, dsn, "DELETE FROM oauth_token WHERE token = '"+late.Token+"'")
	added, err := first.AddToken(t.Context(), adapter.Token{ConsumerID: consumer.ID, AdminID: 1})
	if err != nil {
		t.Fatal(err)
	}
	rekey("the old key", second, "the first key", credentials.RekeyReport{Sealed: 3}, false)
	if !opens(second) || opens(first) {
		t.Error("the second key does not open them, or the first still does")
	}
	if got, err := second.Token(t.Context(), added.Token); err != nil || got.Secret != added.Secret {
		t.Errorf("%v", err)
	}
	// A process that still uses the old key has added another secret.
	if _, err := first.AddToken(t.Context(), adapter.Token{ConsumerID: consumer.ID, AdminID: 1}); err != nil {
		t.Fatal(err)
	}
	rekey("what came meanwhile", second, "the first key", credentials.RekeyReport{Sealed: 1, Already: 3}, false)
}

// TestImportDisablesAdmins imports again after administrators became inactive in the
// other system: nothing may act for them any more.
func TestImportDisablesAdmins(t *testing.T) { sqltest.EachEngine(t, testImportDisablesAdmins) }

func testImportDisablesAdmins(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	c := db.Credentials()
	from := anotherSystem()
	run := func(o credentials.ImportOptions) credentials.ImportReport {
		t.Helper()
		done, err := c.Import(t.Context(), from.credentials(), o)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	done := run(credentials.ImportOptions{Admins: true})
	if added := (credentials.ImportNote{Kind: "admin", Name: "left", Outcome: "added, disabled: not active in the legacy store"}); !slices.Contains(done.Notes, added) {
		t.Errorf("%+v, want %+v", done.Notes, added)
	}
	erp, err := db.Admins().ID(t.Context(), "erp")
	if err != nil {
		t.Fatal(err)
	}
	consented, err := c.AddToken(t.Context(), adapter.Token{ConsumerID: 1, AdminID: int64(erp)})
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]bool{name32("tokenb"): true, consented.Token: true, name32("tokend"): true, name32("tokena"): false}
	check := func(when string, disabled bool) {
		t.Helper()
		for token, hit := range tokens {
			if got, err := c.Token(t.Context(), token); err != nil || got.Revoked != (hit && disabled) {
				t.Errorf("%s: token %s: revoked %t, %v", when, token, got.Revoked, err)
			}
		}
	}
	check("at first", false)
	from.admins[1].Disabled = true
	from.admins[3].Username, from.admins[3].Disabled = "renamed", true // matches no administrator here
	if done := run(credentials.ImportOptions{DryRun: true}); done.Admins.Updated != 1 || done.Tokens.Updated != 2 {
		t.Errorf("dry run: %+v", done)
	}
	check("after a dry run", false)
	done = run(credentials.ImportOptions{})
	if want := (credentials.ImportNote{Kind: "admin", Name: "erp", Outcome: "disabled: not active in the legacy store"}); !slices.Contains(done.Notes, want) || done.Admins.Updated != 1 {
		t.Errorf("%+v, want %+v", done, want)
	}
	check("afterwards", true)
	if again := run(credentials.ImportOptions{}); again.Admins.Updated != 0 || again.Tokens.Updated != 0 {
		t.Errorf("again: %+v", again)
	}
	// An administrator who becomes active there again must be enabled here by hand.
	from.admins[1].Disabled = false
	if done := run(credentials.ImportOptions{}); done.Tokens.Skipped[credentials.AdminLocked] == 0 {
		t.Errorf("%+v, want tokens of the administrator who is disabled here left out", done.Tokens)
	}
}
