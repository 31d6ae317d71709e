//go:build linux

package reststore_test

import (
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// A liveShop is the demo store with a live backend.
type liveShop struct {
	*testing.T
	*replica.Adapter
	local   replica.Replica
	initial []string // the demo store's records, formatted
}

// openLiveShop pushes the demo store to an empty backend. mapping is the built-in mapping;
// options name the backend.
func openLiveShop(t *testing.T, mapping string, options reststore.Options) *liveShop {
	t.Helper()
	db := demotest.Open(t, sqlstore.Options{DSN: demotest.SQLite(t), MediaDir: t.TempDir()})
	local := db.Replica()
	s := &liveShop{T: t, local: local, initial: recordsOf(t, db.Adapter())}
	options.Mapping, _ = reststore.Mapping(mapping)
	options.File, options.IDs = mapping+".yaml", idmap.NewCache(local)
	backend, err := reststore.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Adapter, err = replica.New(replica.Options{
		Replica: local, Backend: backend, AllocateIDs: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	begun, last := time.Now(), 0
	if err := s.Push(t.Context(), 1, func(done, total int) { last = total - done }); err != nil || last != 0 {
		t.Fatalf("%d records are left: %v", last, err)
	}
	t.Logf("the demo store is pushed in %s", time.Since(begun).Round(time.Millisecond))
	return s
}

// liveTests are the tests of one backend, in the order in which they run: each uses the state that
// the tests before it have left.
type liveTests interface {
	testPushed()
	testChangedAtBackend()
	testNewAtBackend()
	testChangedInPortico()
	testNewInPortico()
	testRejected()
	testDeleted()
}

// run runs the tests of a backend. They check that the pushed records are unchanged, and that
// changes and deletions on either side reach the other side.
func (s *liveShop) run(of liveTests) {
	s.Helper()
	whole := s.T
	for _, c := range []struct {
		name string
		test func()
	}{
		{"pushed", of.testPushed},
		{"changed at the backend", of.testChangedAtBackend},
		{"new at the backend", of.testNewAtBackend},
		{"changed in Portico", of.testChangedInPortico},
		{"new in Portico", of.testNewInPortico},
		{"rejected", of.testRejected},
		{"deleted", of.testDeleted},
	} {
		s.Run(c.name, func(t *testing.T) {
			s.T = t
			c.test()
		})
		s.T = whole
	}
}

// testPushed checks that pushing the demo store has not changed its records.
func (s *liveShop) testPushed() {
	if diff := cmp.Diff(s.initial, recordsOf(s.T, s)); diff != "" {
		s.Errorf("records differ from the demo store:\n%s", diff)
	}
	if err := s.Scan(s.Context()); err != nil {
		s.Error(err)
	}
	if diff := cmp.Diff(s.initial, recordsOf(s.T, s)); diff != "" {
		s.Errorf("records differ after a scan:\n%s", diff)
	}
}

// syncedResources returns the resources that a backend holds, at least in part.
func syncedResources() []adapter.Resource {
	return []adapter.Resource{
		adapter.Websites, adapter.CustomerGroups, adapter.Categories, adapter.Customers, adapter.CustomerAddresses, adapter.Products,
		adapter.StockItems, adapter.ProductWebsites, adapter.ProductCategories, adapter.Orders, adapter.OrderItems, adapter.OrderAddresses,
	}
}

// recordsOf returns all records of these resources, formatted.
func recordsOf(t *testing.T, a adapter.Adapter) (all []string) {
	t.Helper()
	for _, r := range syncedResources() {
		store := adaptertest.StoreOf(t, a, r)
		for _, record := range adaptertest.MustList(t, store, adapter.ListParams{With: onDemand(r)}).Records {
			all = append(all, string(r)+" "+formatRecord(record))
		}
	}
	return all
}

func onDemand(r adapter.Resource) []string {
	if r == adapter.Products {
		return []string{"group_price", "tier_price", "stock_item"}
	}
	return nil
}

// formatRecord formats a record without updated_at.
func formatRecord(r adapter.Record) string {
	var b strings.Builder
	for i, v := range r.Values {
		if name := r.Schema.Attributes[i].Name; v.Kind() != adapter.Absent && name != "updated_at" {
			fmt.Fprintf(&b, "%s=%s ", name, formatValue(v))
		}
	}
	return b.String()
}

func formatValue(v adapter.Value) string {
	switch v.Kind() {
	case adapter.Null:
		return "null"
	case adapter.Texts:
		return fmt.Sprintf("%q", v.Texts())
	case adapter.Records:
		var all []string
		for _, r := range v.Records() {
			all = append(all, formatRecord(r))
		}
		return fmt.Sprint(all)
	default:
		return v.Text()
	}
}

// checkDocument compares values of a document, by path.
func (s *liveShop) checkDocument(document map[string]any, want map[string]string) {
	s.Helper()
	for path, w := range want {
		if got := fmt.Sprint(sqltest.LiveValue(document, path)); got != w {
			s.Errorf("%s is %s at the backend, want %s", path, got, w)
		}
	}
}

func (s *liveShop) get(r adapter.Resource, key int) adapter.Record {
	s.Helper()
	return adaptertest.MustGet(s, adaptertest.StoreOf(s, s, r), adapter.GetParams{Key: adapter.Key(key), With: onDemand(r)})
}

// isGone reports whether a record does not exist.
func (s *liveShop) isGone(r adapter.Resource, key int) bool {
	s.Helper()
	_, err := adaptertest.StoreOf(s, s, r).Get(s.Context(), &adapter.GetParams{Key: adapter.Key(key)})
	if err != nil && adapter.KindOf(err) != adapter.NotFound {
		s.Fatal(err)
	}
	return err != nil
}

// checkRecord compares formatted values of a record.
func (s *liveShop) checkRecord(r adapter.Resource, key int, want map[string]string) {
	s.Helper()
	record := s.get(r, key)
	for name, w := range want {
		if got := formatValue(record.Get(name)); got != w {
			s.Errorf("%s of %s %d is %s, want %s", name, r, key, got, w)
		}
	}
}

// list returns the records whose attribute has the value.
func (s *liveShop) list(r adapter.Resource, attribute, value string) []adapter.Record {
	s.Helper()
	query := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: attribute, Op: adapter.Eq, Operands: []string{value}}}}}}
	return adaptertest.MustSelect(s, adaptertest.StoreOf(s, s, r), adapter.NewSchemas().Of(r), adapter.ListParams{Query: query, With: onDemand(r)})
}

// checkListed checks how many records have the value of the attribute.
func (s *liveShop) checkListed(r adapter.Resource, attribute, value string, want int) {
	s.Helper()
	if n := len(s.list(r, attribute, value)); n != want {
		s.Errorf("%d %s have %s %s, want %d", n, r, attribute, value, want)
	}
}

type attrs = adaptertest.Attributes

func (s *liveShop) create(r adapter.Resource, v attrs) int {
	s.Helper()
	key, err := adaptertest.StoreOf(s, s, r).Create(s.Context(), &adapter.CreateParams{Record: v.Record(adapter.NewSchemas().Of(r))})
	if err != nil {
		s.Fatal(err)
	}
	return int(key)
}

func (s *liveShop) update(r adapter.Resource, key int, v attrs) {
	s.Helper()
	if err := adaptertest.Update(s, adaptertest.StoreOf(s, s, r), adapter.Key(key), 0, v); err != nil {
		s.Fatal(err)
	}
}

func (s *liveShop) remove(r adapter.Resource, key int) {
	s.Helper()
	adaptertest.MustDelete(s, adaptertest.StoreOf(s, s, r), adapter.DeleteParams{Key: adapter.Key(key)})
}

// picture is a minimal PNG.
const picture = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

// createImage creates an image of a product.
func (s *liveShop) createImage(product int, file string, position int, types ...string) int {
	s.Helper()
	return s.create(adapter.ProductImages, attrs{
		"product_id": product, "file": file, "media_type": "image/png", "label": "x", "position": position,
		"types": types, "content": picture,
	})
}

// checkAdoptedImage checks that the only image of a product disappears from Portico when it is
// removed at the backend, and that a scan imports it with its file when it is there again. set
// removes or adds it at the backend.
func (s *liveShop) checkAdoptedImage(product int, set func(there bool)) {
	s.Helper()
	images := func() []adapter.Record { return s.list(adapter.ProductImages, "product_id", fmt.Sprint(product)) }
	set(false)
	if n := len(images()); n != 0 {
		s.Errorf("%d images are left", n)
	}
	set(true)
	if err := s.Scan(s.Context()); err != nil {
		s.Error(err)
	}
	adopted := images()
	if len(adopted) != 1 {
		s.Fatalf("%d images are taken over, want 1", len(adopted))
	}
	content, err := s.local.FileContent(s.Context(), adopted[0].Get("file").Text())
	if err != nil || string(content) != picture {
		s.Errorf("the file of the image has %d bytes, want %d: %v", len(content), len(picture), err)
	}
}

// checkTakenSKU checks that a write of a SKU that only the backend has is rejected, and does not
// change the local replica.
func (s *liveShop) checkTakenSKU(sku string) {
	s.Helper()
	store := adaptertest.StoreOf(s, s, adapter.Products)
	_, err := store.Create(s.Context(), &adapter.CreateParams{Record: attrs{
		"attribute_set_id": 4, "type_id": "simple", "sku": sku, "name": "Own", "price": "1.0000",
		"status": 1, "visibility": 4, "tax_class_id": 0, "weight": "1.0000",
	}.Record(adapter.NewSchemas().Of(adapter.Products))})
	if adapter.KindOf(err) != adapter.Conflict {
		s.Errorf("create: %v, want a conflict", err)
	}
	s.checkListed(adapter.Products, "sku", sku, 0)
	before := formatRecord(s.get(adapter.Products, 1))
	if err := adaptertest.Update(s, store, 1, 0, attrs{"sku": sku}); adapter.KindOf(err) != adapter.Conflict {
		s.Errorf("update: %v, want a conflict", err)
	}
	if after := formatRecord(s.get(adapter.Products, 1)); after != before {
		s.Errorf("the product is now\n%s, and was\n%s", after, before)
	}
}

// checkKettle checks the values and the tier price that product 2 has got at the backend.
func (s *liveShop) checkKettle() {
	s.Helper()
	s.checkRecord(adapter.Products, 2, map[string]string{
		"name": "Kupferkessel", "status": "2", "short_description": "null", "weight": "2.2500", "price": "120.1234", "sku": "kettle-copper",
		"special_price": "99.0000", "special_to_date": "2030-06-01 00:00:00", "group_price": "[]", "visibility": "4",
	})
	if tiers := s.get(adapter.Products, 2).Get("tier_price").Records(); len(tiers) != 1 || tiers[0].Get("price_qty").Text() != "6.0000" || tiers[0].Get("cust_group").Int() != 32000 {
		s.Errorf("tier prices: %v", formatValue(s.get(adapter.Products, 2).Get("tier_price")))
	}
}

// scanTray imports the product that the backend has in addition, and returns its key.
func (s *liveShop) scanTray(sku string) int {
	s.Helper()
	if err := s.Scan(s.Context()); err != nil {
		s.Fatal(err)
	}
	trays := s.list(adapter.Products, "sku", sku)
	if len(trays) != 1 {
		s.Fatalf("%d products of the new SKU", len(trays))
	}
	key := int(trays[0].Get("entity_id").Int())
	s.checkRecord(adapter.Products, key, map[string]string{"name": "Tray", "price": "12.0000", "status": "1", "visibility": "4", "type_id": "simple", "url_key": "tray"})
	s.checkListed(adapter.ProductWebsites, "product_id", fmt.Sprint(key), 1)
	return key
}

// createBowl creates a product in one website, and returns the keys of both.
func (s *liveShop) createBowl() (product, website int) {
	s.Helper()
	product = s.create(adapter.Products, attrs{
		"attribute_set_id": 4, "type_id": "simple", "sku": "bowl", "name": "Bowl", "url_key": "bowl", "price": "3.5000",
		"status": 1, "visibility": 4, "tax_class_id": 2, "weight": "0.2000",
	})
	website = s.create(adapter.ProductWebsites, attrs{"product_id": product, "website_id": 2})
	return product, website
}

// createEve creates a customer with two default billing addresses, of which the last one remains the default.
func (s *liveShop) createEve(also attrs) int {
	s.Helper()
	record := attrs{
		"website_id": 1, "store_id": 0, "email": "Eve@Example.com", "firstname": "Eve", "lastname": "New", "group_id": 2,
		"disable_auto_group_change": 0, "created_in": "Admin",
	}
	maps.Copy(record, also)
	customer := s.create(adapter.Customers, record)
	for _, street := range []string{"1", "2"} {
		s.create(adapter.CustomerAddresses, attrs{
			"customer_id": customer, "firstname": "Eve", "lastname": "New", "street": []string{street}, "city": "Paris",
			"country_id": "FR", "postcode": "1", "telephone": "1", "is_default_billing": 1, "is_default_shipping": 0,
		})
	}
	return customer
}

// checkGone checks that the product and the customer that the backend has deleted are gone.
func (s *liveShop) checkGone() {
	s.Helper()
	if !s.isGone(adapter.Products, 4) || !s.isGone(adapter.Customers, 4) {
		s.Error("what the backend deleted is still there")
	}
	s.checkListed(adapter.StockItems, "product_id", "4", 0)
}
