package app

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test/oldshop"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/consistency"
)

// A livingShop is an old shop that people work in and that answers its REST interface.
type livingShop struct {
	*oldshop.Shop                      // its administrators and buyers
	*importedShop                      // its database, and how commands find it
	target        contracttests.Target // its REST interface
}

// runOldShop runs an old shop until the end of the test: a program that serves the tables of
// its database, with the credentials that are in them.
func runOldShop(t *testing.T, content magento1test.Shop, prefix string) *livingShop {
	t.Helper()
	from, old := magento1test.NewShop(t, content, prefix)
	return runOldShopAt(t, from, old, prefix)
}

// runOldShopAt is runOldShop for a shop that exists.
func runOldShopAt(t *testing.T, from string, old *sql.DB, prefix string) *livingShop {
	t.Helper()
	s := &livingShop{importedShop: shopAt(t, from, old, prefix, "sqlite:"+filepath.Join(t.TempDir(), "credentials.db"))}
	s.run(t, "--admins", "websites", "customer-groups", "customers", "credentials") // tokens need their customers
	s.Shop = oldshop.New(s.old, prefix)
	p := newProgram(WithAdapter(Adapter{Name: "oldshop", Open: func(ctx context.Context, e *Environment) (adapter.Adapter, error) {
		return s.Adapter(ctx, s.from[1], e.Schemas)
	}}))
	s.target = s.serve(t, p, "PORTICO_ADAPTER=oldshop", "PORTICO_STORE_THEMES=base/default,default/default,default/iphone,default/modern,rwd/default",
		withoutReplyCache) // since the tables change without the program
	return s
}

// isAnswered reports whether the shop can answer an exchange as the original did. It only
// reads images and comments of orders, and its credentials are no part of the database that
// the replay resets.
func isAnswered(c contracttests.Exchange) bool {
	if c.Name == "delete customer, what goes with it" || strings.Contains(c.Name, "nonce") {
		return false
	}
	return !slices.ContainsFunc(c.Steps, func(s contracttests.Step) bool {
		return strings.Contains(s.Path, "/images") || strings.Contains(s.Path, "/comments") && s.Method == http.MethodPost
	})
}

// TestOldShopExchanges replays what the original answered: to the reads of the demo shop, and
// to samples of the rest.
func TestOldShopExchanges(t *testing.T) {
	demo, err := contracttests.Exchanges()
	if err != nil {
		t.Fatal(err)
	}
	rich, err := contracttests.RichExchanges()
	if err != nil {
		t.Fatal(err)
	}
	writes := slices.DeleteFunc(slices.Clone(demo), func(c contracttests.Exchange) bool { return !isAnswered(c) })
	for _, tt := range []struct {
		name, prefix string
		shop         magento1test.Shop
		cases        []contracttests.Exchange
		all, oneIn   int
	}{
		{"reads of the demo shop", "mage_", magento1test.Demo, readsOf(demo), 168, 1},
		{"reads of the rich shop", "", magento1test.Rich, readsOf(rich), 136, 4},
		{"writes", "", magento1test.Demo, writes, 503, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if len(tt.cases) != tt.all {
				t.Errorf("%d exchanges, want %d", len(tt.cases), tt.all)
			}
			shop := runOldShop(t, tt.shop, tt.prefix)
			shop.target.Reset = shop.backup(t)
			cases := sampleExchanges(t, tt.cases, tt.oneIn)
			if got, want := contracttests.Replay(t, shop.target, cases), (contracttests.Summary{Passed: len(cases)}); got != want && !t.Failed() {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// backup copies the tables until the end of the test, and returns a function that restores
// them.
func (s *livingShop) backup(t *testing.T) (restore func(context.Context) error) {
	t.Helper()
	var name string
	if err := s.old.QueryRowContext(t.Context(), "SELECT CONCAT(DATABASE(), '_backup')").Scan(&name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.old.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE IF EXISTS "+name); err != nil {
			t.Error(err)
		}
	})
	restore, err := s.Backup(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return restore
}

// A field is a value that clients of a shop write and read.
type field struct{ path, name, format string }

// historyFields returns the fields of a [shopHistory].
func historyFields() []field {
	return []field{{"/stockitems/1", "qty", "%d.0000"}, {"/products/2", "name", "Name %d"}, {"/customers/1", "firstname", "First %d"}}
}

// A shopHistory is what clients of a shop write and read.
type shopHistory struct {
	t *testing.T
	*consistency.Log
}

// get reads a field as a client.
func (h shopHistory) get(admin *client, f field) (value string, ok bool) {
	got, err := admin.call(h.t.Context(), http.MethodGet, f.path, "")
	var record map[string]any
	if err == nil {
		err = json.Unmarshal([]byte(got.body), &record)
	}
	if err != nil || got.status != http.StatusOK {
		h.t.Errorf("%s: %d %s %v", f.path, got.status, got.body, err)
		return "", false
	}
	return fmt.Sprint(record[f.name]), true
}

// write sets a field to a value of its own as a client.
func (h shopHistory) write(name string, admin *client, f field, n int) {
	value := fmt.Sprintf(f.format, n)
	h.Write(name, f.path, value, func() consistency.Outcome {
		got, err := admin.call(h.t.Context(), http.MethodPut, f.path, fmt.Sprintf(`{%q: %q}`, f.name, value))
		if err != nil || got.status != http.StatusOK {
			h.t.Errorf("%s: %d %s %v", f.path, got.status, got.body, err)
			return consistency.Unknown
		}
		return consistency.Acknowledged
	})
}

// play lets each client write each field so often, and another one read it meanwhile by each
// client in turn. others write, too. It reports what cannot be right.
func (h shopHistory) play(clients []*client, rounds int, others ...func()) {
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for i, f := range historyFields() {
		initial, _ := h.get(clients[0], f)
		h.Initial(f.path, initial)
		read := func(name string, admin *client) {
			h.Read(name, f.path, func() (string, bool) { return h.get(admin, f) })
		}
		for at, admin := range clients {
			writers.Go(func() {
				for n := range rounds {
					h.write(fmt.Sprintf("client %d", at), admin, f, 1_000*(at+1)+n)
				}
			})
		}
		readers.Go(func() {
			for n := 0; ; n++ {
				read(fmt.Sprintf("reader %d", i), clients[n%len(clients)])
				select {
				case <-done:
					for _, admin := range clients {
						read("last reader", admin)
					}
					return
				default:
				}
			}
		})
	}
	for _, other := range others {
		writers.Go(other)
	}
	writers.Wait()
	close(done)
	readers.Wait()
	for _, fault := range consistency.Check(h.Operations()) {
		h.t.Error(fault)
	}
}

// TestOldShopHistory writes through the REST interface and in the admin panel, and reads
// meanwhile. No read may show an older value than one that was stored before it.
func TestOldShopHistory(t *testing.T) {
	shop := runOldShop(t, magento1test.Demo, "")
	h := shopHistory{t, consistency.NewLog()}
	const rounds = 8
	admin := newClient(t, shop.target.BaseURL, demoAdmin())
	h.play([]*client{admin, admin}, rounds, func() {
		name := historyFields()[1]
		for n := range rounds {
			value := fmt.Sprintf(name.format, 3_000+n)
			h.Write("the admin panel", name.path, value, func() consistency.Outcome {
				if err := shop.RenameProduct(t.Context(), 2, 0, value); err != nil {
					t.Error(err)
					return consistency.Unknown
				}
				return consistency.Acknowledged
			})
		}
	})
}
