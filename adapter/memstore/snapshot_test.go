package memstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/memstore"
)

// dump returns all records of an adapter as text, with all on-demand attributes, at the
// default scope and at store views.
func dump(t *testing.T, a adapter.Adapter, schemas *adapter.Schemas) string {
	t.Helper()
	var b strings.Builder
	for _, r := range adapter.Resources() {
		var with []string
		for _, attribute := range schemas.Of(r).Attributes {
			if attribute.OnDemand {
				with = append(with, attribute.Name)
			}
		}
		for level := range int64(4) {
			for _, record := range adaptertest.MustList(t, adaptertest.StoreOf(t, a, r), adapter.ListParams{StoreID: level, With: with}).Records {
				fmt.Fprintf(&b, "%s at %d: %s\n", r, level, recordText(record))
			}
		}
	}
	return b.String()
}

func recordText(r adapter.Record) string {
	var b strings.Builder
	for i, v := range r.Values {
		fmt.Fprintf(&b, "%s %d %q %q ", r.Schema.Attributes[i].Name, v.Kind(), v.Text(), v.Texts())
		for _, part := range v.Records() {
			fmt.Fprintf(&b, "{%s} ", recordText(part))
		}
	}
	return b.String()
}

// TestStatesAreImmutable makes writes of all kinds, one after the other and none undone,
// and checks that none of them affects a snapshot. Each write must change something.
func TestStatesAreImmutable(t *testing.T) {
	schemas := adapter.NewSchemas()
	a := shop(t, memstore.Options{Schemas: schemas})
	addGallery(t, a, schemas)
	update := func(r adapter.Resource, key adapter.Key, level int64, v attrs) func() error {
		return func() error { return adaptertest.Update(t, adaptertest.StoreOf(t, a, r), key, level, v) }
	}
	create := func(r adapter.Resource, v attrs) func() error {
		return func() error {
			_, err := adaptertest.StoreOf(t, a, r).Create(t.Context(), &adapter.CreateParams{Record: v.Record(schemas.Of(r))})
			return err
		}
	}
	remove := func(r adapter.Resource, key adapter.Key, level int64) func() error {
		return func() error {
			return adaptertest.StoreOf(t, a, r).Delete(t.Context(), &adapter.DeleteParams{Key: key, StoreID: level})
		}
	}
	address := attrs{"customer_id": 1, "is_default_billing": 1, "is_default_shipping": 0}
	for _, write := range []struct {
		name string
		run  func() error
	}{
		{"product at a store view", update(adapter.Products, 1, 2, attrs{"name": "at the view", "status": 2})},
		{"product at it again", update(adapter.Products, 1, 2, attrs{"name": adapter.UnsetValue()})},
		{"prices", update(adapter.Products, 1, 0, attrs{"group_price": []attrs{{"website_id": 0, "cust_group": 3, "price": "1"}}})},
		{"image at a store view", update(adapter.ProductImages, 1, 2, attrs{"label": "at the view", "types": []string{"thumbnail"}})},
		{"image at it again", update(adapter.ProductImages, 1, 2, attrs{"label": "again"})},
		{"image at a store view of another website", func() error {
			image := attrs{
				"product_id": 3, "file": "n/e/new.png", "media_type": "image/png", "content": "x", "types": []string{"image"},
			}.Record(schemas.Of(adapter.ProductImages))
			_, err := adaptertest.StoreOf(t, a, adapter.ProductImages).Create(t.Context(), &adapter.CreateParams{Record: image, StoreID: 3})
			return err
		}},
		{"image deleted", remove(adapter.ProductImages, 6, 0)},
		{"assignment with copies", create(adapter.ProductWebsites, attrs{"product_id": 3, "website_id": 2, "copies": []attrs{{"store_from": 1, "store_to": 3}}})},
		{"assignment deleted", remove(adapter.ProductCategories, 1, 0)},
		{"default address", create(adapter.CustomerAddresses, address)},
		{"comment", create(adapter.OrderComments, attrs{"parent_id": 1, "status": "new", "is_customer_notified": 0, "is_visible_on_front": 0})},
		{"customer deleted", remove(adapter.Customers, 1, 0)},
		{"product deleted", remove(adapter.Products, 1, 0)},
	} {
		held, before := snapshot(t, a), dump(t, a, schemas)
		if err := write.run(); err != nil {
			t.Fatalf("%s: %v", write.name, err)
		}
		if dump(t, a, schemas) == before {
			t.Errorf("%s: changed nothing", write.name)
		}
		other := memstore.New(memstore.Options{Schemas: schemas})
		if err := other.Restore(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		if dump(t, other, schemas) != before {
			t.Errorf("%s: the snapshot before it is another now", write.name)
		}
	}
}
