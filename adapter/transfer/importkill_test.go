package transfer_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest/shops"
	"github.com/portico-commerce/portico/config/testenv/nightly"
)

// TestImportKilled is TestImportKilledTwice for many moments.
func TestImportKilled(t *testing.T) {
	nightly.Only(t, "faults")
	killImports(t, 50)
}

// TestImportKilledTwice kills two imports of a shop with SIGKILL at a random moment. The next
// import completes, and the store is as if none had been interrupted.
func TestImportKilledTwice(t *testing.T) {
	t.Parallel()
	killImports(t, 2)
}

// killImports kills so many imports: those with even numbers while they fill an empty store,
// the others while they take over what a shop has changed and removed.
func killImports(t *testing.T, rounds int) {
	t.Helper()
	shop, path := newRichShop(t)
	before, err := os.ReadFile(path) // the commands have closed it
	if err != nil {
		t.Fatal(err)
	}
	changeOldShop(t, shop)
	began := time.Now()
	want := again(t, shop)
	took := time.Since(began)
	interrupted := 0
	for round := range rounds {
		shop, store := shop.WithStore(t)
		var update []string
		if round%2 == 1 {
			update = []string{"--update"}
			apptest.WriteFile(t, store, string(before))
		}
		after := rand.N(took)
		t.Logf("round %d is over after %s of %s", round, after, took)
		killed := startImport(t, shop, store, update...)
		select {
		case <-killed.Ended:
		case <-time.After(after):
			killed.Signal(t, os.Kill)
			<-killed.Ended
			interrupted++
		}
		shop.Run(t, append(update, "--media", shop.Media, "all")...)
		if difference := cmp.Diff(want, contentsOf(t, store)); difference != "" {
			t.Fatalf("round %d: the store differs from that of an import without interruption (-that +this)\n%s", round, difference)
		}
		if got := shop.Run(t, "--media", shop.Media, "--update", "all").Counts(); len(got) > 0 {
			t.Errorf("round %d: another import changes %v", round, got)
		}
	}
	if interrupted == 0 && rounds > 2 {
		t.Error("no import was interrupted")
	}
}

// startImport starts to import all of the shop into a SQLite store.
func startImport(t *testing.T, s *shops.Imported, store string, arguments ...string) *apptest.Process {
	t.Helper()
	environ := []string{apptest.FastPasswordHashing, "PORTICO_SQL_DSN=sqlite:" + store, "PORTICO_SQL_MEDIA_DIR=" + store + "-media", "PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey}
	return apptest.StartProgram(t, environ, apptest.Program(t), slices.Concat([]string{"import", "--config", s.Config, "--media", s.Media, "all"}, s.From, arguments)...)
}
