package reststore

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/replica"
)

// builtIn serves a built-in mapping with the first answer whose key occurs in the method, path and
// body of a request. It returns the requests sent.
func builtIn(t *testing.T, name string, answers ...[2]string) (*Backend, *[]string) {
	t.Helper()
	content, _ := Mapping(name)
	sent := &[]string{}
	b := serve(t, string(content), groups, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := r.Method + " " + r.URL.Path + " " + string(body)
		*sent = append(*sent, request)
		w.Header().Set("vendure-auth-token", "t")
		for _, answer := range answers {
			if strings.Contains(request, answer[0]) {
				respond(w, http.StatusOK, answer[1])
				return
			}
		}
		respond(w, http.StatusOK, `{"token": "t", "data": {}}`)
	})
	return b, sent
}

// permutations returns lists in several orders, as a JSON list each.
func permutations(elements ...string) (lists []string) {
	for i := range elements {
		lists = append(lists, "["+strings.Join(slices.Concat(elements[i:], elements[:i]), ", ")+"]")
	}
	slices.Reverse(elements)
	return append(lists, "["+strings.Join(elements, ", ")+"]")
}

// TestEqualPrices checks that the lowest of several prices counts if they apply equally, and the
// first of several variants, regardless of the order in which the backend returns them. It also checks which tier
// prices of Magento 2 become group prices.
func TestEqualPrices(t *testing.T) {
	group := `"rules": {"customer.groups.id": "g-one"}`
	medusaPrices := permutations(
		`{"currency_code": "usd", "amount": 12}`, `{"currency_code": "usd", "amount": 11.5}`, `{"currency_code": "eur", "amount": 1}`, `{"currency_code": "usd", "amount": 1, "rules": {"region_id": "r"}}`,
		`{"currency_code": "usd", "amount": 9, "min_quantity": 5}`, `{"currency_code": "usd", "amount": 8, "min_quantity": 5}`, `{"currency_code": "usd", "amount": 7, "min_quantity": 10}`,
		`{"currency_code": "usd", "amount": 6, `+group+`}`, `{"currency_code": "usd", "amount": 5, `+group+`}`, `{"currency_code": "usd", "amount": 4, "min_quantity": 5, `+group+`}`,
	)
	sales := permutations(`{"currency_code": "usd", "amount": 3}`, `{"currency_code": "usd", "amount": 2}`, `{"currency_code": "usd", "amount": 1, "min_quantity": 2}`)
	vendurePrices := permutations(`{"currencyCode": "EUR", "price": 1}`, `{"currencyCode": "USD", "price": 1200}`, `{"currencyCode": "USD", "price": 1150}`)
	tiers := []string{`[{"customer_group_id": 32000, "qty": 1, "value": 9}, {"customer_group_id": 0, "qty": 1, "value": 8}, {"customer_group_id": 32000, "qty": 2, "value": 7}]`}
	for _, c := range []struct {
		name   string
		lists  []string
		answer func(i int, list string) [][2]string
		want   string
	}{
		{"medusa", medusaPrices, func(i int, list string) [][2]string {
			variants := []string{`{"id": "v1", "variant_rank": 0, "sku": "a", "manage_inventory": true, "allow_backorder": false, "prices": ` + list + `}`, `{"id": "v2", "variant_rank": 0, "sku": "b", "prices": []}`}
			if i%2 == 1 {
				slices.Reverse(variants)
			}
			return [][2]string{
				{"/admin/price-lists", `{"price_lists": [{"id": "s", "type": "sale", "status": "active", "starts_at": null, "ends_at": "+010000-01-01T00:00:00.000Z", "prices": ` + sales[i%len(sales)] + `}]}`},
				{"/admin/products", `{"products": [{"id": "1", "title": "T", "status": "published", "metadata": {"portico_sale": "s"}, "variants": [` + strings.Join(variants, ",") + `]}]}`},
			}
		}, "sku=a name=T url_key=null country_of_manufacture=null description=null short_description=null price=11.5000 weight=null special_price=2.0000 special_from_date=null status=1 " +
			"group_price=[website_id=0 cust_group=1 price=5.0000] tier_price=[website_id=0 cust_group=32000 price=8.0000 price_qty=5.0000]" +
			"[website_id=0 cust_group=32000 price=7.0000 price_qty=10.0000][website_id=0 cust_group=1 price=4.0000 price_qty=5.0000] without special_to_date"},
		{"magento2", tiers, func(_ int, list string) [][2]string {
			return [][2]string{
				{"/token", `"t"`}, {"/store/", `[]`}, {"/inventory/", `{"items": []}`},
				{"/products", `{"items": [{"id": 1, "sku": "a", "name": "T", "price": 10, "status": 1, "visibility": 4, "tier_prices": ` + list + `, "custom_attributes": []}]}`},
			}
		}, "sku=a name=T url_key=null meta_title=null meta_description=null country_of_manufacture=null gift_message_available=null description=null short_description=null meta_keyword=null" +
			" price=10.0000 weight=null special_price=null msrp=null cost=null news_from_date=null news_to_date=null special_from_date=null special_to_date=null status=1 visibility=4 tax_class_id=null" +
			" group_price=[website_id=0 cust_group=0 price=8.0000] tier_price=[website_id=0 cust_group=32000 price=9.0000 price_qty=1.0000][website_id=0 cust_group=32000 price=7.0000 price_qty=2.0000]"},
		{"vendure", vendurePrices, func(i int, list string) [][2]string {
			variants := []string{`{"id": "9", "sku": "a", "currencyCode": "USD", "trackInventory": "TRUE", "useGlobalOutOfStockThreshold": true, "outOfStockThreshold": 0, "stockLevels": [], "prices": ` + list + `}`, `{"id": "10", "sku": "b", "currencyCode": "USD", "prices": []}`}
			if i%2 == 1 {
				slices.Reverse(variants)
			}
			return [][2]string{{"products(", `{"data": {"products": {"items": [{"id": "1", "name": "T", "slug": "t", "enabled": true, "channels": [], "facetValues": [], "assets": [], "customFields": {}, "variants": [` + strings.Join(variants, ",") + `]}]}}}`}}
		}, "sku=a name=T url_key=t country_of_manufacture=null description=null short_description=null price=11.5000 weight=null status=1"},
	} {
		for i, list := range c.lists {
			t.Run(fmt.Sprint(c.name, i), func(t *testing.T) {
				b, _ := builtIn(t, c.name, c.answer(i, list)...)
				found, err := b.Fetch(t.Context(), adapter.Products, []string{"1"})
				if err != nil || len(found) != 1 {
					t.Fatal(found, err)
				}
				item, _, err := found[0].Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want, without, _ := strings.Cut(c.want, " without ")
				if got := formatRecord(item.Record); got != want {
					t.Errorf("read %s, want %s", got, want)
				}
				if leftOut := strings.Join(item.LeftOut, ""); !strings.Contains(leftOut, without) || without == "" && leftOut != "" {
					t.Errorf("left out %q, want %q", leftOut, without)
				}
			})
		}
	}
}

// TestUpdatesKeepWhatOthersKeep checks that an update does not replace, with an empty object or without their ids,
// objects of the backend in which others keep something.
func TestUpdatesKeepWhatOthersKeep(t *testing.T) {
	schemas := adapter.NewSchemas()
	product := func(v adaptertest.Attributes) adapter.Record { return v.Record(schemas.Of(adapter.Products)) }
	image := func(v adaptertest.Attributes) adapter.Record { return v.Record(schemas.Of(adapter.ProductImages)) }
	variant := [2]string{"/admin/products/p", `{"product": {"id": "p", "thumbnail": "http://files/b.png", "variants": [{"id": "v", "prices": []}], "images": [{"id": "i1", "url": "http://files/a.png", "rank": 0}, {"id": "i2", "url": "http://files/b.png", "rank": 1}]}}`}
	a, b := replica.Sibling{ID: "http://files/a.png", Record: image(attrs{"id": 1, "position": 2})}, replica.Sibling{ID: "http://files/b.png", Record: image(attrs{"id": 2, "position": 1})}
	typed := replica.Sibling{ID: a.ID, Record: image(attrs{"id": 1, "position": 2, "types": []string{"small_image"}})}
	update := func(w replica.Write) func(*Backend) error {
		return func(b *Backend) error { return b.Update(t.Context(), &w) }
	}
	ofImage := replica.Write{Resource: adapter.ProductImages, Key: 1, ID: a.ID, RootKey: 7, RootID: "p", Old: a.Record, New: a.Record, Changed: []string{"position"}, Siblings: []replica.Sibling{a, b}}
	typedImage, untypedImage := ofImage, ofImage
	typedImage.New, typedImage.Siblings, typedImage.Changed = typed.Record, []replica.Sibling{typed, b}, []string{"types"}
	untypedImage.Old, untypedImage.Changed = typed.Record, []string{"types"}
	deleted := ofImage
	deleted.ID, deleted.Old, deleted.New, deleted.Siblings = b.ID, b.Record, adapter.Record{}, []replica.Sibling{a}
	both := `"images":[{"id":"i2","url":"http://files/b.png"},{"id":"i1","url":"http://files/a.png"}]`
	for _, c := range []struct {
		name, mapping string
		write         func(*Backend) error
		to            string // the request whose body is compared
		want          string // the body
	}{
		{"a product without a stock item", "medusa", update(replica.Write{
			Resource: adapter.Products, Key: 7, ID: "p", Changed: []string{"stock_item"}, Old: product(attrs{"sku": "a"}), New: product(attrs{"sku": "a", "stock_item": []attrs{}}),
		}), "POST /admin/products/p/variants/v ", `{"allow_backorder":false,"manage_inventory":false}`},
		{"the position of an image", "medusa", update(ofImage), "POST /admin/products/p ", `{` + both + `}`},
		{"the small image", "medusa", update(typedImage), "POST /admin/products/p ", `{` + both + `,"thumbnail":"http://files/a.png"}`},
		{"no small image any more", "medusa", update(untypedImage), "POST /admin/products/p ", `{` + both + `,"thumbnail":null}`},
		{"the thumbnail is deleted", "medusa", func(b *Backend) error { return b.Delete(t.Context(), &deleted) }, "POST /admin/products/p ", `{"images":[{"id":"i1","url":"http://files/a.png"}],"thumbnail":null}`},
		{"a name", "vendure", update(replica.Write{
			Resource: adapter.Products, Key: 7, ID: "1", Changed: []string{"status"}, Old: product(attrs{"sku": "a"}), New: product(attrs{"sku": "a", "status": 1}),
		}), "updateProduct(", `{"enabled":true,"id":"1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, sent := builtIn(t, c.mapping, variant)
			if err := c.write(b); err != nil {
				t.Fatal(err)
			}
			for _, request := range *sent {
				if !strings.Contains(request, c.to) {
					continue
				}
				body := strings.SplitN(request, " ", 3)[2]
				var graphql struct {
					Variables struct{ Input json.RawMessage }
				}
				if json.Unmarshal([]byte(body), &graphql) == nil && graphql.Variables.Input != nil {
					body = string(graphql.Variables.Input)
				}
				if body != c.want {
					t.Errorf("sent %s, want %s", body, c.want)
				}
				return
			}
			t.Errorf("%s was not sent: %q", c.to, *sent)
		})
	}
}
