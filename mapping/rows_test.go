package mapping_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// addRows adds three records to every list of the demo store, with the owner of record 1
// where records have owners.
func addRows(data *adapter.Dataset) {
	integer := adapter.IntegerValue
	for n := range int64(3) {
		for _, more := range []struct {
			resource adapter.Resource
			unlike   map[string]adapter.Value
		}{
			{adapter.Customers, map[string]adapter.Value{"email": adapter.TextValue(fmt.Sprintf("more%d@example.com", n))}},
			{adapter.CustomerAddresses, nil},
			{adapter.Websites, map[string]adapter.Value{"code": adapter.TextValue(fmt.Sprintf("more%d", n))}},
			{adapter.ProductWebsites, map[string]adapter.Value{"website_id": integer(2 + n)}},
			{adapter.ProductCategories, map[string]adapter.Value{"category_id": integer([]int64{2, 4, 6}[n])}},
			{adapter.OrderItems, nil},
			{adapter.OrderAddresses, nil},
			{adapter.OrderComments, nil},
		} {
			record := data.Records[more.resource][0].Clone()
			record.Set(record.Schema.Key, adapter.Value{})
			for name, value := range more.unlike {
				record.Set(name, value)
			}
			data.Records[more.resource] = append(data.Records[more.resource], record)
		}
	}
}

// A listPath is a list of the route table, with parameters of the demo store.
type listPath struct {
	path   string
	fields *contract.FieldTable
}

// listPaths returns all lists.
func listPaths() (paths []listPath) {
	parameters := strings.NewReplacer(":category_id", "3", ":customer_id", "1", ":order_id", "1", ":product_id", "1", ":store", "2", ":id", "1")
	for _, r := range contract.Routes(contract.StandardFields()) {
		if strings.HasPrefix(r.Calls[contract.GET], "list") {
			paths = append(paths, listPath{parameters.Replace(r.Path), r.Fields})
		}
	}
	return paths
}

// formKey matches the key in the links of a product, which differs with every call.
var formKey = regexp.MustCompile(`form_key.{1,3}[A-Z0-9]{16}`)

// withFullBody returns a response with its stream read into Body.
func withFullBody(t *testing.T, r resource.Response) resource.Response {
	t.Helper()
	if r.Stream != nil {
		if r.Body != nil {
			t.Error("both a body and a stream")
		}
		var body bytes.Buffer
		if _, err := r.Stream(t.Context(), &body); err != nil {
			t.Error(err)
		}
		r.Body = body.Bytes()
	}
	r.Body = formKey.ReplaceAll(r.Body, nil)
	return r
}

// TestRowsInBatches compares every list in batches of one record with the same list in
// one batch.
func TestRowsInBatches(t *testing.T) {
	t.Parallel()
	data := loadDemo(t)
	addRows(data)
	for _, category := range data.Records[adapter.Categories][:2] {
		category.Set("is_active", adapter.IntegerValue(0)) // so that a batch has no records left
	}
	shop := openGalleryOf(t, data)
	sample := testenv.NewSample(t)
	for _, d := range testenv.Rows(t, contract.Dialects(), 2) {
		t.Run(d.Name, func(t *testing.T) {
			one, all := shop.serve(t, d, mapping.Settings{}), shop.serve(t, d, mapping.Settings{})
			one.SetBatchRows(1)
			same := func(role contract.Role, path, accept string) (streamed bool) {
				t.Helper()
				want, got := shop.get(t, all, role, path, accept), shop.get(t, one, role, path, accept)
				if want.Stream != nil {
					t.Fatalf("%s %s is longer than a batch", role, path)
				}
				streamed = got.Stream != nil
				want, got = withFullBody(t, want), withFullBody(t, got)
				if got.Status != want.Status || got.ContentType != want.ContentType || !bytes.Equal(got.Body, want.Body) {
					t.Errorf("%s %s %s:\n%d %s %s\nwant\n%d %s %s", role, path, accept, got.Status, got.ContentType, got.Body, want.Status, want.ContentType, want.Body)
				}
				return streamed
			}
			for _, l := range listPaths() {
				t.Run(l.path, func(t *testing.T) {
					for _, accept := range []string{"application/json", "text/xml", "text/plain"} {
						for _, role := range contract.Roles() {
							if !sample.Takes(3) {
								continue
							}
							streamed := same(role, l.path+"?limit=0", accept)
							if role == contract.Admin && !streamed {
								t.Errorf("%s %s: not streamed", role, accept)
							}
							same(role, l.path+"?limit=0&attrs=nope", accept)
							same(role, l.path+"?limit=0&attrs=entity_id,sku", accept)
						}
					}
					for _, field := range l.fields.Fields {
						if !sample.Takes(5) {
							continue
						}
						same(contract.Admin, l.path+"?limit=0&dir=asc&order="+field.Name, "")
						same(contract.Customer, l.path+"?limit=0&order="+field.Name, "")
					}
					// SQL cannot do this, so the store returns more records than
					// requested.
					same(contract.Admin, l.path+"?limit=0&filter[1][attribute]="+l.fields.Fields[0].Name+"&filter[1][regexp]=.", "text/xml")
				})
			}
		})
	}
}

// A partialStore is a real one whose lists return all records as a partial result.
type partialStore struct{ adapter.Store }

func (s partialStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	all := *p
	all.Query = adapter.Query{}
	result, err := s.Store.List(ctx, &all)
	if err == nil {
		result.Partial = true
	}
	return result, err
}

// partialStores puts a partialStore in the place of each store.
var partialStores = wrapStores(func(_ adapter.Resource, s adapter.Store) adapter.Store { return partialStore{s} })

// TestMaxRowsInBatches checks the maximum number of rows at every position in a batch,
// and for partial results.
func TestMaxRowsInBatches(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(adapter.Adapter) adapter.Adapter{
		"whole":   nil,
		"partial": partialStores,
	} {
		t.Run(name, func(t *testing.T) {
			for maxRows := int64(1); maxRows <= 13; maxRows++ {
				s := settings()
				s.MaxRows = maxRows
				shop := openShopWith(t, contract.Documented(), s, between)
				want := []string{}
				for id := range min(maxRows, 12) {
					want = append(want, fmt.Sprintf("%d%%5Bitem_id%%5D=%d", id, 12-id))
				}
				for batch := int64(1); batch <= 13; batch++ {
					shop.service.SetBatchRows(batch)
					r := shop.serve(contract.Admin, "GET", "/stockitems?limit=0&order=item_id&attrs=item_id", "", "Accept", "text/plain")
					if streamed := r.Stream != nil; streamed && len(want) <= int(batch) || !streamed && len(want) > int(batch)+1 {
						t.Errorf("%d rows in batches of %d: streamed %t", len(want), batch, streamed)
					}
					if got := string(withFullBody(t, r).Body); got != strings.Join(want, "&") {
						t.Errorf("%d rows in batches of %d: %s", len(want), batch, got)
					}
				}
			}
		})
	}
}

// TestWritesBetweenBatches checks that writes during a list neither repeat nor hide a
// record that exists all the time.
func TestWritesBetweenBatches(t *testing.T) {
	t.Parallel()
	const insert = "INSERT INTO order_item (item_id, order_id, sku, sku_folded, created_at, updated_at) VALUES (20, 1, 'a', 'A', '2012-01-01 00:00:00', '2012-01-01 00:00:00')"
	for _, c := range []struct{ name, query, write, want string }{
		{"a record of the first batch is deleted", "", "DELETE FROM order_item WHERE item_id = 1", "1 2 6 7 8"},
		{"the last record of the first batch is deleted", "", "DELETE FROM order_item WHERE item_id = 6", "1 2 6 7 8"},
		{"a later record is deleted", "", "DELETE FROM order_item WHERE item_id = 7", "1 2 6 8"},
		{"all later records are deleted", "", "DELETE FROM order_item WHERE item_id > 6", "1 2 6"},
		{"a new record", "", insert, "1 2 6 7 8 20"},
		{"descending", "&order=item_id", "DELETE FROM order_item WHERE item_id IN (8, 2)", "8 7 6 1"},
		{"equal values", "&order=sku&dir=asc", "DELETE FROM order_item WHERE item_id = 7", "1 6 7 8 2"},
		{"a new record before the border", "&order=sku&dir=asc", insert, "1 6 7 8 2"},
		{"values changed before and after the border", "&order=sku&dir=asc", "UPDATE order_item SET sku = 'l', sku_folded = 'L' WHERE item_id IN (6, 8)", "1 6 7 6 8 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := loadDemo(t)
			addRows(data)
			shop := openGalleryOf(t, data)
			service := shop.serve(t, contract.Magento(), mapping.Settings{})
			service.SetBatchRows(2)
			r := shop.get(t, service, contract.Admin, "/orders/1/items?limit=0&attrs=item_id"+c.query, "")
			shop.run(t, c.write)
			body := string(withFullBody(t, r).Body)
			var items []struct {
				ID string `json:"item_id"`
			}
			if err := json.Unmarshal([]byte(body), &items); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			got := make([]string, len(items))
			for i, item := range items {
				got[i] = item.ID
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

// TestLateSelectionCrash checks that an empty selection of a part of an order is a crash,
// wherever in the list the first such part occurs.
func TestLateSelectionCrash(t *testing.T) {
	shop := openOrderShop(t, contract.Magento())
	shop.service.SetBatchRows(10)
	const path = "/orders?limit=0&attrs=entity_id&filter[1][attribute]=entity_id&filter[1][from]=100"
	if r := shop.get(t, contract.Admin, path); r.Stream != nil || r.Status != 500 {
		t.Errorf("%d, a stream: %t", r.Status, r.Stream != nil)
	}
	r := shop.get(t, contract.Admin, path+"&filter[1][to]=139")
	if r.Stream == nil {
		t.Fatalf("%d without a stream", r.Status)
	}
	if body := string(r.Body); !strings.HasPrefix(body, `{"100":{"entity_id":"100"},`) || !strings.HasSuffix(body, `,"139":{"entity_id":"139"}}`) {
		t.Error(body)
	}
}
