package app

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config"
)

// TestCachedReplies checks the cache headers of replies to Guests, and that a client with
// the current reply gets no body.
func TestCachedReplies(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			l := serveLocal(t, true, "PORTICO_DIALECT="+dialect)
			const target = "/api/rest/products/1"
			get := func(header ...string) apptest.Reply {
				return apptest.Send(t, "GET", l.contract+target, "", append([]string{"Accept", "application/json"}, header...)...)
			}
			first, second := get(), get()
			if first.Header.Get("X-Cache") != "MISS" || second.Header.Get("X-Cache") != "HIT" {
				t.Errorf("X-Cache is %q, then %q", first.Header.Get("X-Cache"), second.Header.Get("X-Cache"))
			}
			formKey := regexp.MustCompile(`form_key\\?/[A-Z0-9]{16}`)
			if a, b := formKey.ReplaceAllString(first.Body, ""), formKey.ReplaceAllString(second.Body, ""); a != b || first.Body == second.Body {
				t.Errorf("first  %s\ncached %s", first.Body, second.Body)
			}
			tag := second.Header.Get("Etag")
			if dialect == "magento" {
				for _, name := range []string{"Etag", "Vary"} {
					if value := second.Header.Get(name); value != "" {
						t.Errorf("%s is %q", name, value)
					}
				}
				return
			}
			if tag == "" || tag != first.Header.Get("Etag") || second.Header.Get("Vary") != "Accept, Authorization" || second.Header.Get("Cache-Control") != "no-cache" {
				t.Errorf("%v", second.Header)
			}
			for _, c := range []struct {
				sent   string
				status int
			}{
				{tag, 304}, {"*", 304}, {strings.TrimPrefix(tag, "W/"), 304}, {`"other", ` + tag, 304}, {`"other"`, 200}, {"rubbish", 200}, {"", 200},
			} {
				got := get("If-None-Match", c.sent)
				if got.Status != c.status || (got.Body == "") != (c.status == 304) || got.Header.Get("Etag") != tag {
					t.Errorf("If-None-Match %q is answered %d %v", c.sent, got.Status, got.Header)
				}
			}
			if got := apptest.Send(t, "PUT", l.contract+target, `{"name":"Other"}`, "Authorization", apptest.DemoAdmin(), "Content-Type", "application/json"); got.Status != http.StatusOK {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			if got := get("If-None-Match", tag); got.Status != http.StatusOK || got.Header.Get("Etag") == tag {
				t.Errorf("after a write: %d %v", got.Status, got.Header)
			}
		})
	}
}

// TestPurge checks that changes made directly in the database become visible after a
// purge.
func TestPurge(t *testing.T) {
	t.Parallel()
	l := serveLocal(t, true)
	read := func() (text, how string) {
		got := apptest.Send(t, "GET", l.contract+"/api/rest/products/1?attrs=name", "", "Accept", "application/json")
		return got.Body, got.Header.Get("X-Cache")
	}
	before, _ := read()
	products, err := l.app.db.Adapter().Store(adapter.Products)
	if err != nil {
		t.Fatal(err)
	}
	err = products.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
		next := adapter.NewRecord(current.Schema)
		next.Set("name", adapter.TextValue("Other"))
		return next, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if text, how := read(); text != before || how != "HIT" {
		t.Errorf("before a purge: %s %s", how, text)
	}
	if got := apptest.Send(t, "POST", l.ops+"/cache/purge", ""); got.Status != http.StatusOK || got.Body != "purged\n" {
		t.Errorf("/cache/purge answers %d %q", got.Status, got.Body)
	}
	if text, how := read(); text == before || how != "MISS" {
		t.Errorf("after it: %s %s", how, text)
	}
}

// TestReadyWithReplies checks that a program whose upstream is unavailable is ready while
// it has cached replies.
func TestReadyWithReplies(t *testing.T) {
	t.Parallel()
	l := serveLocal(t, true)
	apptest.Send(t, "GET", l.contract+"/api/rest/products", "")
	if err := l.app.db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := apptest.Send(t, "GET", l.ops+"/readyz", ""); got.Status != http.StatusOK || !strings.Contains(got.Body, "upstream unavailable") {
		t.Errorf("/readyz answers %d %q", got.Status, got.Body)
	}
	if got := apptest.Send(t, "POST", l.ops+"/cache/purge", ""); got.Status != http.StatusOK {
		t.Errorf("/cache/purge answers %d %q", got.Status, got.Body)
	}
	if got := apptest.Send(t, "GET", l.ops+"/readyz", ""); got.Status != http.StatusServiceUnavailable {
		t.Errorf("/readyz answers %d %q with an empty cache", got.Status, got.Body)
	}
}

// TestFingerprint checks which processes share cached replies.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.db")
	of := func(demoStore bool, environ ...string) string {
		t.Helper()
		cfg, err := config.Load(config.Sources{Environ: environ, Sections: newProgram().Sections()})
		if err != nil {
			t.Fatal(err)
		}
		store, err := storeIdentity(cfg, demoStore)
		if err != nil {
			t.Fatal(err)
		}
		return replyFingerprint(cfg, store)
	}
	const server = "PORTICO_SQL_DSN=postgres://portico:secret@db/portico"
	base := of(false, server)
	for _, c := range []struct {
		name    string
		demo    bool
		environ []string
		same    bool
	}{
		{"a replica", false, []string{server, "PORTICO_LISTEN=127.0.0.1:8081", "PORTICO_LOG_LEVEL=debug", "PORTICO_CACHE_TTL=1m", "PORTICO_UPSTREAM_TIMEOUT=3s"}, true},
		{"another password", false, []string{"PORTICO_SQL_DSN=postgres://portico:changed@db/portico?sslmode=prefer&connect_timeout=3"}, true},
		{"tables are made by a job", false, []string{server, "PORTICO_SQL_MIGRATE=off"}, true},
		{"other pools", false, []string{server, "PORTICO_SQL_READ_CONNECTIONS=3", "PORTICO_SQL_DIRECT_DSN=postgres://portico:secret@db/portico"}, true},
		{"another folder of images", false, []string{server, "PORTICO_SQL_MEDIA_DIR=other"}, false},
		{"another user", false, []string{"PORTICO_SQL_DSN=postgres://other:secret@db/portico"}, false},
		{"another schema", false, []string{"PORTICO_SQL_DSN=postgres://portico:secret@db/portico?search_path=other"}, false},
		{"another dialect", false, []string{server, "PORTICO_DIALECT=magento"}, false},
		{"another base URL", false, []string{server, "PORTICO_PUBLIC_URL=https://shop.example"}, false},
		{"another tax country", false, []string{server, "PORTICO_STORE_TAX_COUNTRY=DE"}, false},
		{"another database", false, []string{"PORTICO_SQL_DSN=postgres://portico:secret@db/staging"}, false},
		{"a file", false, []string{"PORTICO_SQL_DSN=sqlite:" + file}, false},
		{"a demo", true, []string{server}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := of(c.demo, c.environ...); (got == base) != c.same {
				t.Errorf("the same: %t, want %t", got == base, c.same)
			}
		})
	}
	if one, other := of(true, server), of(true, server); one == other {
		t.Error("two demos share replies")
	}
	if one, other := of(false, "PORTICO_SQL_DSN=sqlite:"+file), of(false, "PORTICO_SQL_DSN=sqlite:"+file); one != other {
		t.Error("two processes on one file do not share replies")
	}
}
