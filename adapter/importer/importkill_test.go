//go:build linux

package importer_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestImportKilled is TestImportKilledTwice for many moments.
func TestImportKilled(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	killImports(t, 50)
}

// TestImportKilledTwice kills two imports of a shop with SIGKILL at a random moment. The next
// import completes, and the store is as if none had been interrupted.
func TestImportKilledTwice(t *testing.T) {
	t.Parallel()
	killImports(t, 2)
}

// killImports kills so many imports: the even-numbered ones while they fill an empty store, the
// others while they apply changes and removals of a shop.
func killImports(t *testing.T, rounds int) {
	t.Helper()
	shop, path := newRichShop(t)
	sample := testenv.NewSample(t)
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
		after := time.Duration(sample.Int64N(int64(took)))
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

// TestImportKilledOnServers kills imports into databases on servers, and compares all that a store
// exports, the images included.
func TestImportKilledOnServers(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	for engine, newDSN := range followedEngines() {
		t.Run(engine, func(t *testing.T) {
			killImportsInto(t, 10, func(t *testing.T) apptest.Environment {
				return apptest.Environment{"PORTICO_SQL_DSN=" + newDSN(t), "PORTICO_SQL_MEDIA_DIR=" + t.TempDir()}
			})
		})
	}
}

// TestImportKilledWithBucket kills imports of images into a bucket.
func TestImportKilledWithBucket(t *testing.T) {
	testenv.OnlyNightly(t, "media")
	bucket, stores := sqltest.StartBucketServer(t), 0
	killImportsInto(t, 20, func(t *testing.T) apptest.Environment {
		stores++
		return apptest.Environment(bucket.Environ()).With("PORTICO_SQL_DSN="+sqltest.SQLite(t), "PORTICO_SQL_MEDIA_DIR=", "PORTICO_MEDIA_PREFIX="+fmt.Sprint("store-", stores, "/"))
	})
}

// killImportsInto kills so many imports into stores, which newStore makes. The next import
// completes, and the store's export equals the export after an uninterrupted import.
func killImportsInto(t *testing.T, rounds int, newStore func(t *testing.T) apptest.Environment) {
	t.Helper()
	shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	into := func() *apptest.Imported {
		other := *shop
		other.Commands = shop.Commands.With(newStore(t)...)
		return &other
	}
	sample := testenv.NewSample(t)
	fresh := into()
	began := time.Now()
	fresh.Run(t, "--media", shop.Media, "all")
	took := time.Since(began)
	want := exported(t, fresh.Commands)
	for round := range rounds {
		shop := into()
		after := time.Duration(sample.Int64N(int64(took)))
		t.Logf("round %d is over after %s of %s", round, after, took)
		killed := apptest.StartProgram(t, shop.Commands, apptest.Program(t), slices.Concat([]string{"import", "--config", shop.Config, "--media", shop.Media, "all"}, shop.From)...)
		select {
		case <-killed.Ended:
		case <-time.After(after):
			killed.Signal(t, os.Kill)
			<-killed.Ended
		}
		shop.Run(t, "--media", shop.Media, "all")
		if difference := cmp.Diff(want, exported(t, shop.Commands)); difference != "" {
			t.Fatalf("round %d: the store differs from that of an import without interruption (-that +this)\n%s", round, difference)
		}
		if got := shop.Run(t, "--media", shop.Media, "--update", "all").Counts(); len(got) > 0 {
			t.Errorf("round %d: another import changes %v", round, got)
		}
	}
}

// startImport starts to import all of the shop into a SQLite store.
func startImport(t *testing.T, s *apptest.Imported, store string, arguments ...string) *apptest.Process {
	t.Helper()
	environ := []string{apptest.FastPasswordHashing, "PORTICO_SQL_DSN=sqlite:" + store, "PORTICO_SQL_MEDIA_DIR=" + store + "-media", "PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey}
	return apptest.StartProgram(t, environ, apptest.Program(t), slices.Concat([]string{"import", "--config", s.Config, "--media", s.Media, "all"}, s.From, arguments)...)
}
