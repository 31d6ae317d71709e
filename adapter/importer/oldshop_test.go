package importer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

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

// TestOldShopExchanges replays samples of the recorded replies of the original.
func TestOldShopExchanges(t *testing.T) {
	t.Parallel()
	demo := apptest.Exchanges(t)
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
		{"reads of the demo shop", "mage_", magento1test.Demo, readsOf(demo), 172, 10},
		{"reads of the rich shop", "", magento1test.Rich, readsOf(rich), 136, 10},
		{"writes", "", magento1test.Demo, writes, 509, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if len(tt.cases) != tt.all {
				t.Errorf("%d exchanges, want %d", len(tt.cases), tt.all)
			}
			shop := apptest.StartLiving(t, tt.shop, tt.prefix)
			shop.Target.Reset = backup(t, shop)
			cases := apptest.SampleExchanges(t, tt.cases, tt.oneIn)
			if got, want := contracttests.Replay(t, shop.Target, cases), (contracttests.Summary{Passed: len(cases)}); got != want && !t.Failed() {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// backup copies the tables until the end of the test, and returns a function that restores
// them.
func backup(t *testing.T, s *apptest.Living) (restore func(context.Context) error) {
	t.Helper()
	var name string
	if err := s.DB.QueryRowContext(t.Context(), "SELECT CONCAT(DATABASE(), '_backup')").Scan(&name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.DB.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE IF EXISTS "+name); err != nil {
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

// A shopHistory is a log of the writes and reads of a shop's clients.
type shopHistory struct {
	t *testing.T
	*testenv.OperationLog
}

// get reads a field as a client.
func (h shopHistory) get(admin *apptest.Client, f field) (value string, ok bool) {
	got, err := admin.Call(h.t.Context(), http.MethodGet, f.path, "")
	var record map[string]any
	if err == nil {
		err = json.Unmarshal([]byte(got.Body), &record)
	}
	if err != nil || got.Status != http.StatusOK {
		h.t.Errorf("%s: %d %s %v", f.path, got.Status, got.Body, err)
		return "", false
	}
	return fmt.Sprint(record[f.name]), true
}

// write sets a field to a value of its own as a client.
func (h shopHistory) write(name string, admin *apptest.Client, f field, n int) {
	value := fmt.Sprintf(f.format, n)
	h.Write(name, f.path, value, func() testenv.Outcome {
		got, err := admin.Call(h.t.Context(), http.MethodPut, f.path, fmt.Sprintf(`{%q: %q}`, f.name, value))
		if err != nil || got.Status != http.StatusOK {
			h.t.Errorf("%s: %d %s %v", f.path, got.Status, got.Body, err)
			return testenv.Unknown
		}
		return testenv.Acknowledged
	})
}

// play lets each client write each field rounds times, while another one reads it by each client in
// turn, whenever a write begins or ends. others write, too. It reports impossible histories.
func (h shopHistory) play(clients []*apptest.Client, rounds int, others ...func()) {
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for i, f := range historyFields() {
		initial, _ := h.get(clients[0], f)
		h.Initial(f.path, initial)
		read := func(name string, admin *apptest.Client) {
			h.Read(name, f.path, func() (string, bool) { return h.get(admin, f) })
		}
		step := make(chan struct{}, 1)
		readAgain := func() {
			select {
			case step <- struct{}{}:
			default:
			}
		}
		for at, admin := range clients {
			writers.Go(func() {
				for n := range rounds {
					readAgain()
					h.write(fmt.Sprintf("client %d", at), admin, f, 1_000*(at+1)+n)
					readAgain()
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
				case <-step:
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
	for _, fault := range testenv.CheckOperations(h.Operations()) {
		h.t.Error(fault)
	}
}

// TestOldShopHistory writes through the REST interface and in the admin panel, and reads
// meanwhile. No read may show an older value than one that was stored before it.
func TestOldShopHistory(t *testing.T) {
	t.Parallel()
	shop := apptest.StartLiving(t, magento1test.Demo, "")
	h := shopHistory{t, testenv.NewOperationLog()}
	const rounds = 8
	admin := apptest.NewClient(t, shop.Target.BaseURL, apptest.DemoAdmin())
	h.play([]*apptest.Client{admin, admin}, rounds, func() {
		name := historyFields()[1]
		for n := range rounds {
			value := fmt.Sprintf(name.format, 3_000+n)
			h.Write("the admin panel", name.path, value, func() testenv.Outcome {
				if err := shop.RenameProduct(t.Context(), 2, 0, value); err != nil {
					t.Error(err)
					return testenv.Unknown
				}
				return testenv.Acknowledged
			})
		}
	})
}
