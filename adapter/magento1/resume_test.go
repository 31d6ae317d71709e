package magento1_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// TestRecordsAfter starts in the middle of every part.
func TestRecordsAfter(t *testing.T) {
	s := openRich(t, magento1.Options{})
	keysAfter := func(p magento1.Part, after adapter.Key) (keys []int64) {
		for a, err := range s.RecordsBetween(t.Context(), p, after, math.MaxInt64) {
			if err != nil {
				t.Fatal(p, err)
			}
			keys = append(keys, a.Record.Get(a.Record.Schema.Key).Int())
		}
		return keys
	}
	for _, p := range magento1.Parts() {
		all := keysAfter(p, -1)
		count, err := s.Count(t.Context(), p)
		if err != nil || int(count) < len(all) || len(all) == 0 {
			t.Errorf("%s: %d records of %d rows, %v", p, len(all), count, err)
		}
		want := all
		switch p {
		case magento1.Websites, magento1.Directory, magento1.CustomerGroups, magento1.Taxes:
		default:
			want = all[3:]
		}
		if got := keysAfter(p, adapter.Key(all[2])); !slices.Equal(got, want) {
			t.Errorf("%s after %d: %v, want %v", p, all[2], got, want)
		}
	}
	for _, err := range s.Records(t.Context(), "carts") {
		if err == nil {
			t.Error("there are carts")
		}
	}
}

// TestRecordsBetween reads a shop window by window. Everything is yielded and skipped as
// often as when it is read at once.
func TestRecordsBetween(t *testing.T) {
	s := openRich(t, magento1.Options{}, "UPDATE catalog_product_entity SET entity_id = 2500 WHERE entity_id = 45",
		"INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (4, 73, 0, 900, 'in a gap'), (4, 73, 0, 1900, 'in another gap'), (4, 73, 99, 2500, 'of no store view')",
		"INSERT INTO catalog_product_website VALUES (1900, 1), (2500, 77)",
		"INSERT INTO sales_flat_order_status_history (entity_id, parent_id, comment) VALUES (900, 900, 'of no order')", "UPDATE sales_flat_order SET entity_id = 2500 WHERE entity_id = 12")
	for _, p := range []magento1.Part{magento1.Categories, magento1.Products, magento1.Images, magento1.Stock, magento1.Customers, magento1.Addresses, magento1.Orders} {
		t.Run(string(p), func(t *testing.T) {
			keysOf := func(after, through adapter.Key) (keys []int64) {
				for a, err := range s.RecordsBetween(t.Context(), p, after, through) {
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, a.Record.Get(a.Record.Schema.Key).Int())
				}
				return keys
			}
			s.skipped = nil
			want := keysOf(0, math.MaxInt64)
			wantSkipped := s.skipped
			s.skipped = nil
			var got []int64
			for after := adapter.Key(0); after >= 0; {
				through := after + 7
				next, err := s.NextKey(t.Context(), p, through)
				if err != nil {
					t.Fatal(err)
				}
				end, following := next-1, next-1
				if next == 0 {
					end, following = math.MaxInt64, -1
				}
				got = append(got, keysOf(after, end)...)
				after = following
			}
			if !slices.Equal(want, got) {
				t.Errorf("%v, want %v", got, want)
			}
			sorted := func(all []magento1.Skipped) []magento1.Skipped {
				all = slices.DeleteFunc(all, func(s magento1.Skipped) bool { return s.Reason == magento1.ReasonNoSetting }) // given once
				slices.SortFunc(all, func(a, b magento1.Skipped) int {
					return strings.Compare(a.Table+a.Key+a.Reason, b.Table+b.Key+b.Reason)
				})
				return all
			}
			if difference := cmp.Diff(sorted(wantSkipped), sorted(s.skipped)); difference != "" {
				t.Errorf("skipped: want -, got +:\n%s", difference)
			}
		})
	}
	if _, err := s.NextKey(t.Context(), magento1.Websites, 0); err == nil {
		t.Error("a part that is read as a whole has a next key")
	}
}

// TestOldShop reads everything from a shop that lacks tables and columns of later versions.
func TestOldShop(t *testing.T) {
	s := openRich(t, magento1.Options{},
		"DROP TABLE catalog_product_entity_group_price, catalogrule_product_price, review, review_store, review_detail, review_entity, cataloginventory_stock_status, log_customer, oauth_consumer, oauth_token, "+
			"gift_message, sales_order_tax, eav_attribute_option, customer_eav_attribute, api2_acl_role, api2_acl_rule, api2_acl_user, api2_acl_attribute",
		"ALTER TABLE catalog_product_entity DROP COLUMN has_options",
		"ALTER TABLE tax_calculation_rate DROP COLUMN zip_is_range, DROP COLUMN zip_from, DROP COLUMN zip_to",
		"UPDATE eav_attribute SET backend_table = 'gone' WHERE attribute_code = 'meta_title'",
		"CREATE TABLE names LIKE catalog_product_entity_varchar", "INSERT INTO names SELECT * FROM catalog_product_entity_varchar WHERE attribute_id = 73",
		"DELETE FROM catalog_product_entity_varchar WHERE attribute_id = 73", "UPDATE eav_attribute SET backend_table = 'names' WHERE attribute_id = 73")
	for _, p := range magento1.Parts() {
		if err := lastError(s.Records(t.Context(), p)); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if _, err := s.Digests(t.Context(), p, 0, magento1.RangeSize); err != nil {
			t.Errorf("digest of %s: %v", p, err)
		}
	}
	if _, err := s.Settings(t.Context()); err != nil {
		t.Error(err)
	}
	if consumers, tokens := collect(t, s.Consumers(t.Context())), collect(t, s.Tokens(t.Context())); len(consumers)+len(tokens) > 0 {
		t.Errorf("%d consumers and %d tokens of a version without them", len(consumers), len(tokens))
	}
	products := s.read(t, magento1.Products, adapter.Products)
	compare(t, values{"name": "Steel Kettle", "has_custom_options": "absent", "reviews_count": "absent", "meta_title": "absent"}, products[1].Record)
	if prices := products[2].Record.Get("group_price"); prices.Kind() != adapter.Records || len(prices.Records()) != 0 {
		t.Errorf("group prices of a version without them: %v", prices)
	}
	compare(t, values{"name": "Table en chêne"}, level(products[25], 2, 0))
	if !slices.Contains(s.skipped, magento1.Skipped{Part: magento1.Products, Table: "eav_attribute", Key: "attribute meta_title", Reason: magento1.ReasonNoTable}) {
		t.Errorf("%+v", s.skipped)
	}
}

// TestRate checks that reading pauses: a pause that is longer than the context lasts fails
// at once.
func TestRate(t *testing.T) {
	dsn, _ := magento1test.New(t, "")
	d := open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Rate: 1}, Schemas: schemas(t)})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := lastError(d.Records(ctx, magento1.Customers)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want a pause that is too long", err)
	}
	if _, err := magento1.Open(t.Context(), magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Rate: -1}}); err == nil {
		t.Error("a negative rate was accepted")
	}
}
