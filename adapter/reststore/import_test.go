package reststore_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
)

// TestImport checks that the shop's records are imported into the shop, too, with their
// parts, and that a record that the shop refuses stays unchanged.
func TestImport(t *testing.T) {
	s := openShop(t, fakeShopKind)
	shop := s.shop.(*fakeShop)
	exported := func(r adapter.Resource, key adapter.Key, values map[string]string) adapter.Aggregate {
		all, err := s.replica.Export(t.Context(), r, key-1, 1)
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		for name, v := range values {
			all[0].Record.Set(name, adapter.TextValue(v))
		}
		return all[0]
	}
	changed := exported(adapter.Products, 1, map[string]string{"name": "Imported"})
	changed.PartsOf = []adapter.Resource{adapter.ProductCategories}
	changed.Parts = slices.DeleteFunc(changed.Parts, func(part adapter.Record) bool {
		return part.Schema.Resource != adapter.ProductCategories || part.Key() == 1
	})
	changed.Levels = slices.DeleteFunc(changed.Levels, func(l adapter.Level) bool { return l.Record.Schema.Resource != adapter.Products || l.StoreID == 0 })
	refused := exported(adapter.Products, 2, map[string]string{"sku": "taken"})
	refused.Parts, refused.Levels = nil, nil
	gone := adapter.Aggregate{Record: adapter.NewRecord(changed.Record.Schema), Gone: true}
	gone.Record.Set("entity_id", adapter.IntegerValue(3))
	shop.mu.Lock()
	shop.articles["7"] = jsonObject{"number": 7, "code": "taken"}
	shop.mu.Unlock()

	done, err := s.Import(t.Context(), []adapter.Aggregate{changed, refused, gone}, adapter.ImportOptions{Existing: adapter.ReplaceExisting})
	if err != nil {
		t.Fatal(err)
	}
	if done[0] != (adapter.Imported{Key: 1, Outcome: adapter.ImportChanged}) || done[2] != (adapter.Imported{Key: 3, Outcome: adapter.ImportRemoved}) {
		t.Errorf("%+v", done)
	}
	if err := done[1].Err; adapter.KindOf(err) != adapter.Conflict || fieldOf(err) != "sku" {
		t.Errorf("the refused record: %+v", done[1])
	}
	store := adaptertest.StoreOf(t, s, adapter.Products)
	if r, err := store.Get(t.Context(), &adapter.GetParams{Key: 2}); err != nil || r.Get("sku").Text() == "taken" {
		t.Errorf("the refused record is %v, %v", r, err)
	}
	shop.mu.Lock()
	defer shop.mu.Unlock()
	articles := map[any]jsonObject{} // by legacy id
	for _, article := range shop.articles {
		articles[article["legacy"]] = article
	}
	titles, _ := articles["1"]["titles"].(jsonObject)
	boards, _ := articles["1"]["boards"].([]any)
	if titles["main"] != "Imported" || len(boards) != len(changed.Parts) || articles["3"] != nil {
		t.Errorf("the shop has %v and %v", articles["1"], articles["3"])
	}
}

// fieldOf returns the attribute at fault.
func fieldOf(err error) string {
	known, ok := errors.AsType[*adapter.Error](err)
	if !ok {
		return ""
	}
	return known.Field
}
