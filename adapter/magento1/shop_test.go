package magento1_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// shopSchemas returns schemas with the attributes that the shop Rich has in addition to the
// contract's attributes, except care.
func shopSchemas(t testing.TB) *adapter.Schemas {
	t.Helper()
	all, err := adapter.NewSchemas().With(
		adapter.AddedAttribute{Resource: adapter.Products, Name: "size", Kind: adapter.KindInteger},
		adapter.AddedAttribute{Resource: adapter.Products, Name: "material", Kind: adapter.KindText, Scope: adapter.ScopeStore},
		adapter.AddedAttribute{Resource: adapter.Products, Name: "eco", Kind: adapter.KindInteger, Scope: adapter.ScopeWebsite},
	)
	if err != nil {
		t.Fatal(err)
	}
	completeProducts(all.Of(adapter.Products))
	return all
}

// completeProducts adds the attributes of products that a schema does not have yet.
func completeProducts(s *adapter.Schema) {
	attributes := slices.Clone(s.Attributes)
	for _, a := range []adapter.Attribute{
		{Name: "image_id", Kind: adapter.KindInteger, Scope: adapter.ScopeStore, ReadOnly: true, OnDemand: true},
		{Name: "small_image_id", Kind: adapter.KindInteger, Scope: adapter.ScopeStore, ReadOnly: true, OnDemand: true},
		{Name: "thumbnail_id", Kind: adapter.KindInteger, Scope: adapter.ScopeStore, ReadOnly: true, OnDemand: true},
		{Name: "rule_price", Kind: adapter.KindRecords, ReadOnly: true, OnDemand: true, Nested: adapter.NewSchema("product_rule_prices", "rule_price_id", []adapter.Attribute{
			{Name: "rule_price_id", Kind: adapter.KindInteger}, {Name: "website_id", Kind: adapter.KindInteger}, {Name: "cust_group", Kind: adapter.KindInteger},
			{Name: "rule_date", Kind: adapter.KindTime}, {Name: "price", Kind: adapter.KindDecimal},
		})},
	} {
		if _, ok := s.Index(a.Name); !ok {
			attributes = append(attributes, a)
		}
	}
	*s = *adapter.NewSchema(s.Resource, s.Key, attributes).FilteredBy(s.Filters...).WithDistinctNulls()
}

// A shop is an open legacy store with the rows and values that its reader has skipped.
type shop struct {
	*magento1.Database
	skipped []magento1.Skipped
}

// openRich opens the shop Rich, changed by statements that no foreign key stops.
func openRich(t testing.TB, options magento1.Options, changes ...string) *shop {
	t.Helper()
	dsn, raw := magento1test.NewShop(t, magento1test.Rich, options.Prefix)
	magento1test.Break(t, raw, changes...)
	s := &shop{}
	options.DSN, options.Schemas = dsn, shopSchemas(t)
	options.Skipped = func(skipped magento1.Skipped) { s.skipped = append(s.skipped, skipped) }
	s.Database = open(t, options)
	return s
}

// read returns the aggregates of a part by key; for parts with two resources, the aggregates of
// resource r.
func (s *shop) read(t testing.TB, p magento1.Part, r adapter.Resource) map[int64]adapter.Aggregate {
	t.Helper()
	all := map[int64]adapter.Aggregate{}
	last := int64(-1)
	for a, err := range s.Records(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		if a.Record.Schema.Resource != r {
			continue
		}
		key := a.Record.Get(a.Record.Schema.Key).Int()
		if key <= last {
			t.Errorf("%s: %d follows %d", p, key, last)
		}
		last, all[key] = key, a
	}
	return all
}

// some returns the values of a record with the given names: "absent" for names that it does not
// have.
func some(r adapter.Record, names ...string) map[string]any {
	all, got := valuesOf(r), map[string]any{}
	for _, name := range names {
		v, ok := all[name]
		if !ok {
			v = "absent"
		}
		got[name] = v
	}
	return got
}

// A values maps the names of attributes to values, as valuesOf and some return them.
type values = map[string]any

// compare compares the values of a record whose names want has.
func compare(t *testing.T, want values, r adapter.Record) {
	t.Helper()
	if r.Schema == nil {
		t.Fatal("there is no such record")
	}
	var names []string
	for name := range want {
		names = append(names, name)
	}
	if difference := cmp.Diff(want, some(r, names...)); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
}

// level returns a record's overrides for a store view: the overrides of the aggregate's own record
// with part 0, else of a part.
func level(a adapter.Aggregate, store, part int64) adapter.Record {
	for _, l := range a.Levels {
		own := l.Record.Schema.Resource == a.Record.Schema.Resource
		if l.StoreID == store && (part == 0 && own || part != 0 && !own && l.Record.Get(l.Record.Schema.Key).Int() == part) {
			return l.Record
		}
	}
	return adapter.Record{}
}

// TestShop reads the records that all others refer to.
func TestShop(t *testing.T) {
	s := openRich(t, magento1.Options{ServerOptions: magento1.ServerOptions{Prefix: "mg_"}},
		"DELETE FROM mg_core_config_data WHERE path = 'general/locale/timezone' AND scope = 'default'",
		"UPDATE mg_tax_calculation_rate SET tax_region_id = 9999 WHERE tax_calculation_rate_id = 6",
		"INSERT INTO mg_core_config_data (scope, scope_id, path, value) VALUES ('websites', 2, 'general/locale/timezone', 'Mars/Phobos')",
		"INSERT INTO mg_core_store (store_id, code, website_id, name) VALUES (9, 'lost', 77, 'Lost')",
		"INSERT INTO mg_tax_calculation VALUES (8, 99, 2, 3, 2)")
	websites, stores := s.read(t, magento1.Websites, adapter.Websites), s.read(t, magento1.Websites, adapter.Stores)
	groups, taxes := s.read(t, magento1.CustomerGroups, adapter.CustomerGroups), s.read(t, magento1.Taxes, adapter.TaxRates)
	countries, regions := s.read(t, magento1.Directory, adapter.Countries), s.read(t, magento1.Directory, adapter.Regions)
	for _, c := range []struct {
		name string
		r    adapter.Record
		want values
	}{
		{"default website, with the built-in time zone", websites[1].Record, values{"code": "base", "is_default": 1, "default_store_id": 1, "timezone": "America/Los_Angeles",
			"tax_country": "US", "tax_region_id": 12, "tax_postcode": "*"}},
		{"website with a tax place of its own", websites[2].Record, values{"is_default": 0, "default_store_id": 3, "tax_country": "DE", "tax_region_id": 0, "tax_postcode": "*"}},
		{"website with a time zone of its own", websites[4].Record, values{"name": "Asia & Pacific", "default_store_id": 7, "timezone": "Asia/Tokyo", "tax_country": "US"}},
		{"store view that is switched off", stores[6].Record, values{"website_id": 2, "code": "austrian", "name": "Austrian"}},
		{"name in another script", stores[7].Record, values{"name": "日本語"}},
		{"group of guests", groups[0].Record, values{"name": "NOT LOGGED IN", "tax_class_id": 3}},
		{"group with a tax class of its own", groups[5].Record, values{"name": "VIP – gold", "tax_class_id": 6}},
		{"tax of a region", taxes[3].Record, values{"country_id": "US", "region": "CA", "region_id": 12, "postcode": "*", "zip_from": nil, "customer_tax_class_id": 3,
			"tax_class_id": 2, "rule_id": 2, "priority": 0, "rate": "8.2500", "name": "US-CA-*-Rate 1"}},
		{"tax of a country", taxes[4].Record, values{"country_id": "DE", "region": "*", "region_id": 0, "rate": "19.0000"}},
		{"tax of a range of postcodes", taxes[5].Record, values{"region": "TX", "zip_from": 73300, "zip_to": 73399}},
		{"tax of a region that is not in the directory", taxes[7].Record, values{"region": "9999", "region_id": 9999}},
		{"first country", countries[1].Record, values{"country_id": "AD", "iso3_code": "AND"}},
		{"last country", countries[246].Record, values{"country_id": "ZW", "iso3_code": "ZWE"}},
		{"region", regions[12].Record, values{"country_id": "US", "code": "CA", "name": "California"}},
	} {
		t.Run(c.name, func(t *testing.T) { compare(t, c.want, c.r) })
	}
	if len(websites) != 3 || len(stores) != 6 || len(groups) != 5 || len(taxes) != 5 || len(countries) != 246 || len(regions) != 484 {
		t.Errorf("%d websites, %d stores, %d groups, %d taxes, %d countries, %d regions", len(websites), len(stores), len(groups), len(taxes), len(countries), len(regions))
	}
	s.mustHaveSkipped(t,
		magento1.Skipped{Part: magento1.Websites, Table: "core_config_data", Key: "website 2, general/locale/timezone", Reason: magento1.ReasonTimezone},
		magento1.Skipped{Part: magento1.Websites, Table: "core_store", Key: "store 9, website 77", Reason: magento1.ReasonNoWebsite},
		magento1.Skipped{Part: magento1.Taxes, Table: "tax_calculation", Key: "tax_calculation_id 8", Reason: magento1.ReasonNoRecord})
}

// mustHaveSkipped checks the skipped rows and values, in any order and any number of times.
func (s *shop) mustHaveSkipped(t *testing.T, want ...magento1.Skipped) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(s.skipped, w) {
			t.Errorf("%+v was not skipped", w)
		}
	}
	for _, got := range s.skipped {
		if !slices.Contains(want, got) {
			t.Errorf("%+v was skipped", got)
		}
	}
}

// TestCategories reads the tree with names of store views, and leaves out categories that are not
// in it.
func TestCategories(t *testing.T) {
	s := openRich(t, magento1.Options{},
		"UPDATE catalog_category_entity SET parent_id = 15 WHERE entity_id = 11", // 11 > 15 > 11
		"UPDATE catalog_category_entity SET parent_id = 999 WHERE entity_id = 14",
		"INSERT INTO catalog_category_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (3, 43, 5, 3, 'deleted view'), (3, 43, 0, 98, 'gone'), (3, 43, 2, 4, 'Lampes'), (3, 43, 0, 13, 'in a gap')",
		"DELETE FROM catalog_category_entity_int WHERE entity_id = 6 AND attribute_id = 44",
		"INSERT INTO catalog_category_entity_int (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (3, 44, 2, 5, 0)")
	categories := s.read(t, magento1.Categories, adapter.Categories)
	for _, c := range []struct {
		name string
		r    adapter.Record
		want values
	}{
		{"root of a group", categories[2].Record, values{"parent_id": 1, "name": "Default Category", "is_active": 1}},
		{"nested", categories[10].Record, values{"parent_id": 9, "is_active": 1}},
		{"never switched on", categories[6].Record, values{"is_active": 0}},
		{"switched off at a store view", categories[5].Record, values{"is_active": 1}},
		{"with a name of its own at a store view", level(categories[4], 2, 0), values{"category_id": 4, "name": "Lampes", "is_active": "absent"}},
	} {
		t.Run(c.name, func(t *testing.T) { compare(t, c.want, c.r) })
	}
	for _, missing := range []int64{1, 11, 14, 15} {
		if _, ok := categories[missing]; ok {
			t.Errorf("category %d was read", missing)
		}
	}
	skipped := func(table, key, reason string) magento1.Skipped {
		return magento1.Skipped{Part: magento1.Categories, Table: table, Key: key, Reason: reason}
	}
	s.mustHaveSkipped(t,
		skipped("catalog_category_entity", "category 11", magento1.ReasonTree), skipped("catalog_category_entity", "category 15", magento1.ReasonTree),
		skipped("catalog_category_entity", "category 14", magento1.ReasonTree),
		skipped("catalog_category_entity_varchar", "category 3, attribute name, store 5", magento1.ReasonNoStore),
		skipped("catalog_category_entity_varchar", "category 13, attribute name, store 0", magento1.ReasonNoRecord),
		skipped("catalog_category_entity_varchar", "category 98, attribute name, store 0", magento1.ReasonNoRecord))
}
