package coordination_test

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestImportSources stores, replaces and resets the sources of imports.
func TestImportSources(t *testing.T) {
	sqltest.EachEngine(t, testImportSources)
}

func testImportSources(t *testing.T, e sqltest.Engine) {
	imports := coordination.NewImportLog(sqltest.Open(t, e.NewDSN(t)))
	ctx := t.Context()
	sources := func() []coordination.ImportSource {
		t.Helper()
		all, err := imports.Sources(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := sources(); len(got) != 0 {
		t.Fatalf("a new store has %+v", got)
	}
	first := coordination.ImportSource{Name: "shop-1", Server: "uuid", ServerVersion: "10.6", Database: "shop", Prefix: "m_", LogFile: "log.000003", LogPosition: 1 << 40, GTID: "0-1-2",
		GivenKeys: map[adapter.Resource]adapter.Key{adapter.Products: 7}}
	second := coordination.ImportSource{Name: "shop-2"}
	for _, s := range []coordination.ImportSource{second, first, {Name: "shop-2", Server: "other"}} {
		if err := imports.NoteSource(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	second.Server = "other"
	got := sources()
	if difference := cmp.Diff([]coordination.ImportSource{first, second}, got, cmpopts.IgnoreFields(coordination.ImportSource{}, "NotedAt")); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	for _, s := range got {
		if s.NotedAt.IsZero() {
			t.Errorf("%s has no time", s.Name)
		}
	}

	digests := func(source, part string, from, before adapter.Key) []coordination.RangeDigest {
		t.Helper()
		all, err := imports.RangeDigests(ctx, source, part, from, before)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	replace := func(source, part string, from, before adapter.Key, all ...coordination.RangeDigest) {
		t.Helper()
		if err := imports.ReplaceRangeDigests(ctx, source, part, from, before, all...); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := coordination.RangeDigest{0, "a", "s"}, coordination.RangeDigest{1000, "b", "s"}, coordination.RangeDigest{2000, "c", "s"}
	replace("shop-1", "products", 0, 3000, a, b, c)
	replace("shop-1", "orders", 0, 3000, a)
	replace("shop-2", "products", 0, 3000, a)
	if difference := cmp.Diff([]coordination.RangeDigest{a, b}, digests("shop-1", "products", 0, 2000)); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	changed := coordination.RangeDigest{1000, "B", "t"}
	replace("shop-1", "products", 1000, 2000, changed)
	replace("shop-1", "products", 2000, 9000)
	if difference := cmp.Diff([]coordination.RangeDigest{a, changed}, digests("shop-1", "products", 0, 9000)); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	if others := len(digests("shop-1", "orders", 0, 9000)) + len(digests("shop-2", "products", 0, 9000)); others != 2 {
		t.Errorf("%d digests of others, want 2", others)
	}

	longest := strings.Repeat("7", 1<<20)
	if err := imports.SetPosition(ctx, "shop-1", longest); err != nil {
		t.Fatal(err)
	}
	if err := imports.SetPosition(ctx, "shop-1", longest+"7"); adapter.KindOf(err) != adapter.Invalid {
		t.Errorf("a position that is too long: %v", err)
	}
	if position, err := imports.Position(ctx, "shop-1"); err != nil || position != longest {
		t.Errorf("a position of %d bytes, %v", len(position), err)
	}
}
