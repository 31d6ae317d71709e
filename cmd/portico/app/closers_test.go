package app

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestClosers checks the order of closing, and that errors are collected.
func TestClosers(t *testing.T) {
	t.Parallel()
	var closed []string
	var c closers
	for _, name := range []string{"first", "second", "third"} {
		c.add(func() error {
			closed = append(closed, name)
			if name == "first" {
				return nil
			}
			return errors.New(name)
		})
	}
	if err := c.close(); err == nil || err.Error() != "third\nsecond" {
		t.Errorf("got %v, want the errors of both", err)
	}
	if err := c.close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if want := []string{"third", "second", "first"}; !slices.Equal(closed, want) {
		t.Errorf("closed %v, want %v", closed, want)
	}
}

// TestSetUpFailures lets the set-up of the program fail at each of its steps, and checks
// that all open resources are closed once and that the error contains only the cause.
func TestSetUpFailures(t *testing.T) {
	file := apptest.NewFile(t, "file", "")
	data := demotest.Data(t)
	db, err := openDemo(t.Context(), t.TempDir(), data, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	tests := []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"dialect", func(c *config.Config) { c.Dialect = "x" }, "dialect"},
		{"backend", func(c *config.Config) { c.Adapter = "rest" }, "rest.url"},
		{"cache", func(c *config.Config) { c.Cache.RedisURL = "x" }, "cache.redis_url"},
		{"public URL", func(c *config.Config) { c.PublicURL = ":" }, "public_url"},
		{"consent", func(c *config.Config) { c.PublicURL = "http://" }, "consent"},
		{"stock", func(c *config.Config) { c.Stock.MinQty = "x" }, "stock.min_qty"},
		{"legacy store", func(c *config.Config) { c.Legacy.URL = ":" }, "legacy.url"},
		{"spool", func(c *config.Config) { c.Lists.SpoolDir = filepath.Join(file, "spool") }, "lists.spool_dir"},
		{"recording", func(c *config.Config) { c.Record.Dir = filepath.Join(file, "record") }, "record.dir"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Nothing listens there. The Redis client reports an error if it is closed twice,
			// which this test would find.
			cfg, err := config.Load(config.Sources{Sections: newProgram().Sections(), Environ: []string{"PORTICO_CACHE_REDIS_URL=redis://127.0.0.1:1/0"}})
			if err != nil {
				t.Fatal(err)
			}
			tt.change(cfg)
			before := runtime.NumGoroutine()
			_, err = newApp(t.Context(), newProgram(), cfg, db, nil, program.NewLogger(apptest.NewOutput(), cfg))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "closed") {
				t.Fatalf("got %v, want an error about %s alone", err, tt.want)
			}
			testenv.Await(t, "an end of the goroutines", func() bool { return runtime.NumGoroutine() <= before })
		})
	}
	if err := db.Adapter().Ping(t.Context()); err != nil {
		t.Errorf("the database, which is the caller's, is not open any more: %v", err)
	}
}
