package memstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/memstore"
)

// dump returns all records of an adapter as text, with all that is read on demand, at the
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
			result, err := storeOf(t, a, r).List(t.Context(), &adapter.ListParams{StoreID: level, With: with})
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range result.Records {
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
// and checks that nothing of them reaches a snapshot. Each write must change something.
func TestStatesAreImmutable(t *testing.T) {
	schemas := adapter.NewSchemas()
	a := shop(t, memstore.Options{Schemas: schemas})
	addGallery(t, a, schemas)
	number, text := adapter.IntegerValue, adapter.TextValue
	update := func(r adapter.Resource, key adapter.Key, level int64, v values) func() error {
		return func() error {
			change := func(adapter.Record) (adapter.Record, error) { return record(schemas.Of(r), v), nil }
			return storeOf(t, a, r).Update(t.Context(), &adapter.UpdateParams{Key: key, StoreID: level, Change: change})
		}
	}
	create := func(r adapter.Resource, v values) func() error {
		return func() error {
			_, err := storeOf(t, a, r).Create(t.Context(), &adapter.CreateParams{Record: record(schemas.Of(r), v)})
			return err
		}
	}
	remove := func(r adapter.Resource, key adapter.Key, level int64) func() error {
		return func() error {
			return storeOf(t, a, r).Delete(t.Context(), &adapter.DeleteParams{Key: key, StoreID: level})
		}
	}
	at, _ := schemas.Of(adapter.Products).Index("group_price")
	price := record(schemas.Of(adapter.Products).Attributes[at].Nested, values{"website_id": number(0), "cust_group": number(3), "price": text("1")})
	at, _ = schemas.Of(adapter.ProductWebsites).Index("copies")
	copies := record(schemas.Of(adapter.ProductWebsites).Attributes[at].Nested, values{"store_from": number(1), "store_to": number(3)})
	address := values{"customer_id": number(1), "is_default_billing": number(1), "is_default_shipping": number(0)}
	for _, write := range []struct {
		name string
		run  func() error
	}{
		{"product at a store view", update(adapter.Products, 1, 2, values{"name": text("at the view"), "status": number(2)})},
		{"product at it again", update(adapter.Products, 1, 2, values{"name": adapter.UnsetValue()})},
		{"prices", update(adapter.Products, 1, 0, values{"group_price": adapter.RecordsValue([]adapter.Record{price})})},
		{"image at a store view", update(adapter.ProductImages, 1, 2, values{"label": text("at the view"), "types": adapter.TextsValue([]string{"thumbnail"})})},
		{"image at it again", update(adapter.ProductImages, 1, 2, values{"label": text("again")})},
		{"image at a store view of another website", func() error {
			image := record(schemas.Of(adapter.ProductImages), values{
				"product_id": number(3), "file": text("n/e/new.png"), "media_type": text("image/png"), "content": text("x"), "types": adapter.TextsValue([]string{"image"}),
			})
			_, err := storeOf(t, a, adapter.ProductImages).Create(t.Context(), &adapter.CreateParams{Record: image, StoreID: 3})
			return err
		}},
		{"image deleted", remove(adapter.ProductImages, 6, 0)},
		{"assignment with copies", create(adapter.ProductWebsites, values{"product_id": number(3), "website_id": number(2), "copies": adapter.RecordsValue([]adapter.Record{copies})})},
		{"assignment deleted", remove(adapter.ProductCategories, 1, 0)},
		{"default address", create(adapter.CustomerAddresses, address)},
		{"comment", create(adapter.OrderComments, values{"parent_id": number(1), "status": text("new"), "is_customer_notified": number(0), "is_visible_on_front": number(0)})},
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
