package sqlstore

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/portico-commerce/portico/adapter"
)

// TestImportSources stores, replaces and resets what is known about imports.
func TestImportSources(t *testing.T) {
	EachEngine(t, testImportSources)
}

func testImportSources(t *testing.T, e Engine) {
	db := openTest(t, e)
	ctx := t.Context()
	sources := func() []ImportSource {
		t.Helper()
		all, err := db.Imports().Sources(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := sources(); len(got) != 0 {
		t.Fatalf("a new store has %+v", got)
	}
	first := ImportSource{Name: "shop-1", Server: "uuid", ServerVersion: "10.6", Database: "shop", Prefix: "m_", LogFile: "log.000003", LogPosition: 1 << 40, GTID: "0-1-2",
		GivenKeys: map[adapter.Resource]adapter.Key{adapter.Products: 7}}
	second := ImportSource{Name: "shop-2"}
	for _, s := range []ImportSource{second, first, {Name: "shop-2", Server: "other"}} {
		if err := db.Imports().NoteSource(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	second.Server = "other"
	got := sources()
	if difference := cmp.Diff([]ImportSource{first, second}, got, cmpopts.IgnoreFields(ImportSource{}, "NotedAt")); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	for _, s := range got {
		if s.NotedAt.IsZero() {
			t.Errorf("%s has no time", s.Name)
		}
	}

	digests := func(source, part string, from, before adapter.Key) []RangeDigest {
		t.Helper()
		all, err := db.Imports().RangeDigests(ctx, source, part, from, before)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	replace := func(source, part string, from, before adapter.Key, all ...RangeDigest) {
		t.Helper()
		if err := db.Imports().ReplaceRangeDigests(ctx, source, part, from, before, all...); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := RangeDigest{0, "a", "s"}, RangeDigest{1000, "b", "s"}, RangeDigest{2000, "c", "s"}
	replace("shop-1", "products", 0, 3000, a, b, c)
	replace("shop-1", "orders", 0, 3000, a)
	replace("shop-2", "products", 0, 3000, a)
	if difference := cmp.Diff([]RangeDigest{a, b}, digests("shop-1", "products", 0, 2000)); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	changed := RangeDigest{1000, "B", "t"}
	replace("shop-1", "products", 1000, 2000, changed)
	replace("shop-1", "products", 2000, 9000)
	if difference := cmp.Diff([]RangeDigest{a, changed}, digests("shop-1", "products", 0, 9000)); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	if others := len(digests("shop-1", "orders", 0, 9000)) + len(digests("shop-2", "products", 0, 9000)); others != 2 {
		t.Errorf("%d digests of others, want 2", others)
	}

	longest := strings.Repeat("7", 1<<20)
	if err := db.Imports().SetPosition(ctx, "shop-1", longest); err != nil {
		t.Fatal(err)
	}
	if err := db.Imports().SetPosition(ctx, "shop-1", longest+"7"); adapter.KindOf(err) != adapter.Invalid {
		t.Errorf("a position that is too long: %v", err)
	}
	if position, err := db.Imports().Position(ctx, "shop-1"); err != nil || position != longest {
		t.Errorf("a position of %d bytes, %v", len(position), err)
	}
	if err := db.Reset(ctx, &adapter.Dataset{}); err != nil {
		t.Fatal(err)
	}
	if left := len(sources()) + len(digests("shop-1", "products", 0, 9000)) + len(digests("shop-1", "orders", 0, 9000)); left != 0 {
		t.Errorf("a reset leaves %d sources and digests", left)
	}
	if position, err := db.Imports().Position(ctx, "shop-1"); err != nil || position != "" {
		t.Errorf("a reset leaves the position %q, %v", position, err)
	}
}
