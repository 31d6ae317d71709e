package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/testenv"
)

// ownersStore returns a store in which Portico owns the writes of stock items, and a process that
// repeats them.
func ownersStore(t *testing.T) (owners coordination.OwnerTable, db *sqlstore.DB) {
	t.Helper()
	db = apptest.OpenRecords(t, sqlstore.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "store.db"), Migrate: true})
	owners = db.WriteOwners()
	announceMirror(t, owners)
	if err := errors.Join(owners.Begin(t.Context(), adapter.StockItems, true), owners.Complete(t.Context(), adapter.StockItems, 1)); err != nil {
		t.Fatal(err)
	}
	return owners, db
}

// announceMirror announces a process that repeats writes.
func announceMirror(t *testing.T, owners coordination.OwnerTable) {
	t.Helper()
	mirrors := outbox.Process{ID: "mirrors", Wishes: map[adapter.Resource]bool{adapter.StockItems: true}, Known: map[adapter.Resource]int64{adapter.StockItems: 1}}
	if _, err := owners.Announce(t.Context(), mirrors, time.Hour); err != nil {
		t.Fatal(err)
	}
}

// TestCheckOwners checks which processes may start once Portico owns the writes of a resource.
func TestCheckOwners(t *testing.T) {
	t.Parallel()
	toLegacy := []config.Route{{Resource: "all", To: "legacy"}}
	for _, tt := range []struct {
		name   string
		config config.Config
		ended  bool   // the process that repeats writes has ended
		want   string // of the error, "" for none
	}{
		{"one that repeats writes, too", config.Config{Adapter: "sql", Legacy: config.Legacy{URL: "http://old"}, Follow: config.Follow{DSN: "mysql:d"}}, false, ""},
		{"one without the legacy store", config.Config{}, false, "other processes repeat the writes of stock_items"},
		{"one without the legacy store, alone", config.Config{}, true, ""},
		{"one that forwards writes, alone", config.Config{Legacy: config.Legacy{URL: "http://old"}, Routes: toLegacy}, true, "the legacy store may not have all of them yet"},
		{"one that answers writes, alone", config.Config{Legacy: config.Legacy{URL: "http://old"}}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			owners, _ := ownersStore(t)
			if tt.ended {
				if err := owners.Leave(t.Context(), "mirrors"); err != nil {
					t.Fatal(err)
				}
			}
			err := program.CheckOwners(t.Context(), &tt.config, owners)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	t.Run("nothing has moved", func(t *testing.T) {
		_, db := ownersStore(t)
		if err := db.Reset(t.Context(), &adapter.Dataset{}); err != nil {
			t.Fatal(err)
		}
		announceMirror(t, db.WriteOwners())
		if err := program.CheckOwners(t.Context(), &config.Config{}, db.WriteOwners()); err != nil {
			t.Error(err)
		}
	})
}

// TestBystander checks that no writes are handed over while a process serves that cannot repeat
// them.
func TestBystander(t *testing.T) {
	t.Parallel()
	owners, db := ownersStore(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		newBystander(db, slog.New(slog.DiscardHandler)).Run(ctx)
	}()
	wishing := outbox.Process{ID: "mirrors"}
	if _, err := owners.Announce(t.Context(), wishing, time.Nanosecond); err != nil { // which has expired
		t.Fatal(err)
	}
	testenv.Await(t, "the bystander", func() bool {
		live, err := owners.Live(t.Context())
		return err == nil && live
	})
	announceMirror(t, owners)
	var refused *outbox.NoTurnError
	if err := owners.Begin(t.Context(), adapter.Products, true); !errors.As(err, &refused) {
		t.Errorf("%v, want no turn", err)
	}
	stop()
	<-ended
	products := outbox.Process{ID: "mirrors", Wishes: map[adapter.Resource]bool{adapter.Products: true}}
	if _, err := owners.Announce(t.Context(), products, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := owners.Begin(t.Context(), adapter.Products, true); err != nil {
		t.Error(err)
	}
}
