package sqlstore

import (
	"errors"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestResetForgetsImports checks that a reset removes the log of imports.
func TestResetForgetsImports(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		db := openTest(t, e)
		ctx := t.Context()
		if err := errors.Join(db.Imports().NoteSource(ctx, coordination.ImportSource{Name: "shop-1"}), db.Imports().SetPosition(ctx, "shop-1", "7"),
			db.Imports().ReplaceRangeDigests(ctx, "shop-1", "products", 0, 9000, coordination.RangeDigest{Digest: "a", Settings: "s"}),
			db.Imports().Park(ctx, "shop-1", coordination.Parked{Part: "products", Key: 1}), db.Reset(ctx, &adapter.Dataset{})); err != nil {
			t.Fatal(err)
		}
		sources, err := db.Imports().Sources(ctx)
		if err != nil || len(sources) != 0 {
			t.Errorf("a reset leaves the sources %v, %v", sources, err)
		}
		digests, err := db.Imports().RangeDigests(ctx, "shop-1", "products", 0, 9000)
		if err != nil || len(digests) != 0 {
			t.Errorf("a reset leaves the digests %v, %v", digests, err)
		}
		if parked, err := db.Imports().CountParked(ctx, "shop-1"); err != nil || len(parked) != 0 {
			t.Errorf("a reset leaves what is parked: %v, %v", parked, err)
		}
		if position, err := db.Imports().Position(ctx, "shop-1"); err != nil || position != "" {
			t.Errorf("a reset leaves the position %q, %v", position, err)
		}
	})
}
