package adaptertest

import (
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strings"
	"testing"
)

// importedProduct returns a product of another system.
func importedProduct(id int, sku string, more attrs) attrs {
	return importedTimes().With(newProduct(sku, attrs{"entity_id": id})).With(more)
}

// level returns a record's values at a store view.
func (s *importSuite) level(r adapter.Resource, storeID int64, g attrs) adapter.Level {
	return adapter.Level{StoreID: storeID, Record: s.part(r, g)}
}

// replacing returns options that replace existing records.
func replacing() adapter.ImportOptions {
	return adapter.ImportOptions{Existing: adapter.ReplaceExisting}
}

// outcomes abbreviates the outcomes of a batch.
func outcomes(all ...adapter.ImportOutcome) []adapter.ImportOutcome { return all }

// shown compares values of a record as shown at a scope.
func (s *importSuite) shown(t *testing.T, name string, r adapter.Resource, p adapter.GetParams, want attrs) {
	t.Helper()
	for attribute := range want {
		if at, _ := s.schemas.Of(r).Index(attribute); s.schemas.Of(r).Attributes[at].OnDemand {
			p.With = append(p.With, attribute)
		}
	}
	got := MustGet(t, storeOf(t, s.adapter, r), p)
	for attribute, v := range want.Record(s.schemas.Of(r)).Values {
		if a := s.schemas.Of(r).Attributes[attribute].Name; want[a] != nil || v.Kind() != adapter.Absent {
			if FormatValue(got.Values[attribute]) != FormatValue(v) {
				t.Errorf("%s: %s at store %d is %s, want %s", name, a, p.StoreID, FormatValue(got.Values[attribute]), FormatValue(v))
			}
		}
	}
}

// selected returns the keys of the imported records that a query selects at a store view.
func (s *importSuite) selected(t *testing.T, r adapter.Resource, storeID int64, q adapter.Query) []adapter.Key {
	t.Helper()
	q.Where = append(q.Where, adapter.Condition{Any: []adapter.Test{{Attribute: s.schemas.Of(r).Key, Op: adapter.GtEq, Operands: []string{"900"}}}})
	var keys []adapter.Key
	for _, r := range MustSelect(t, storeOf(t, s.adapter, r), s.schemas.Of(r), adapter.ListParams{StoreID: storeID, Query: q}) {
		keys = append(keys, r.Key())
	}
	return keys
}

// equals returns a query for records in which an attribute has a value.
func equals(attribute, operand string) adapter.Query {
	return adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: attribute, Op: adapter.Eq, Operands: []string{operand}}}}}}
}

// testLevels imports values at store views, whatever the scope of their attributes.
func (s *importSuite) testLevels(t *testing.T) {
	product := importedProduct(900, "levels", attrs{"weight": "2.0000", "meta_title": "M", "description": "D", "stock_status": nil})
	at := func(storeID int64, more attrs) adapter.Level {
		return s.level(adapter.Products, storeID, attrs{"entity_id": 900}.With(more))
	}
	whole := s.aggregate(adapter.Products, product)
	whole.Levels = []adapter.Level{
		at(aView, attrs{"name": "Nom", "price": "5.0000", "meta_title": nil, "reviews_count": 3, "stock_status": 1, "weight": nil}),
		at(otherView, attrs{"name": "Name", "status": 2}),
	}
	s.expect(t, "first", adapter.ImportOptions{}, outcomes(created), whole)
	absent := adapter.Value{}
	own := attrs{"name": "Nom", "price": "5.0000", "meta_title": nil, "reviews_count": 3, "stock_status": 1, "weight": nil, "description": "D"}
	s.shown(t, "own values", adapter.Products, adapter.GetParams{Key: 900, StoreID: aView}, own)
	s.shown(t, "default scope", adapter.Products, adapter.GetParams{Key: 900}, attrs{"name": "N", "price": "1.0000", "meta_title": "M", "reviews_count": absent, "weight": "2.0000"})
	s.shown(t, "sister view", adapter.Products, adapter.GetParams{Key: 900, StoreID: sisterView}, attrs{"name": "N", "price": "1.0000", "stock_status": nil})
	s.shown(t, "values of the website alone", adapter.Products, adapter.GetParams{Key: 900, StoreID: aView, WebsiteScope: true},
		attrs{"name": "N", "price": "1.0000", "meta_title": "M", "weight": "2.0000", "reviews_count": absent, "stock_status": 1})
	for name, c := range map[string]struct {
		storeID int64
		q       adapter.Query
		found   int
	}{
		"price at the store view":     {aView, equals("price", "5.0000"), 1},
		"default price":               {aView, equals("price", "1.0000"), 0},
		"price in the default scope":  {0, equals("price", "1.0000"), 1},
		"number at the store view":    {aView, equals("reviews_count", "3"), 1},
		"by a price at the view":      {aView, adapter.Query{OrderBy: "price", Where: equals("name", "nom").Where}, 1},
		"an attribute without levels": {aView, equals("sku", "levels"), 1},
	} {
		if got := s.selected(t, adapter.Products, c.storeID, c.q); len(got) != c.found {
			t.Errorf("%s: found %v, want %d", name, got, c.found)
		}
	}
	s.expect(t, "again", replacing(), outcomes(equal), whole)

	whole.Levels = []adapter.Level{at(aView, attrs{"name": "Nom", "price": "6.0000"})}
	dry := replacing()
	dry.DryRun = true
	s.expect(t, "others, dry", dry, outcomes(changed), whole)
	s.shown(t, "others, dry", adapter.Products, adapter.GetParams{Key: 900, StoreID: aView}, own)
	s.expect(t, "others", replacing(), outcomes(changed), whole)
	s.shown(t, "others", adapter.Products, adapter.GetParams{Key: 900, StoreID: aView}, attrs{"name": "Nom", "price": "6.0000", "meta_title": "M", "reviews_count": absent, "weight": "2.0000"})
	s.shown(t, "removed", adapter.Products, adapter.GetParams{Key: 900, StoreID: otherView}, attrs{"name": "N", "status": 1})

	merged := s.aggregate(adapter.Products, attrs{"entity_id": 900})
	merged.Levels = []adapter.Level{at(aView, attrs{"meta_title": "T"}), at(otherView, attrs{"name": "Name"})}
	merge := adapter.ImportOptions{Existing: adapter.MergeExisting}
	s.expect(t, "merged", merge, outcomes(changed), merged)
	s.shown(t, "merged", adapter.Products, adapter.GetParams{Key: 900, StoreID: aView}, attrs{"name": "Nom", "price": "6.0000", "meta_title": "T"})
	s.expect(t, "merged again", merge, outcomes(equal), merged)

	whole.Levels = nil
	s.expect(t, "none", replacing(), outcomes(changed), whole)
	s.shown(t, "none", adapter.Products, adapter.GetParams{Key: 900, StoreID: aView}, attrs{"name": "N", "price": "1.0000", "meta_title": "M"})

	// A client's change at the store view stores each value at its attribute's scope.
	whole.Levels = []adapter.Level{at(aView, attrs{"price": "5.0000"})}
	s.expect(t, "a price", replacing(), outcomes(changed), whole)
	if err := Update(t, storeOf(t, s.adapter, adapter.Products), 900, aView, attrs{"price": "7.0000"}); err != nil {
		t.Fatal(err)
	}
	s.shown(t, "written at the view", adapter.Products, adapter.GetParams{Key: 900}, attrs{"price": "7.0000"})
	s.shown(t, "still its own", adapter.Products, adapter.GetParams{Key: 900, StoreID: aView}, attrs{"price": "5.0000"})
}

// testFaultyLevels imports values at store views that cannot be stored.
func (s *importSuite) testFaultyLevels(t *testing.T) {
	key := attrs{"entity_id": 900}
	for _, c := range []struct {
		name   string
		levels []adapter.Level
		kind   adapter.ErrorKind
		field  string
	}{
		{"unknown store view", []adapter.Level{s.level(adapter.Products, 1<<40, key.With(attrs{"name": "x"}))}, adapter.Invalid, "store_id"},
		{"default scope", []adapter.Level{s.level(adapter.Products, 0, key.With(attrs{"name": "x"}))}, adapter.Invalid, "store_id"},
		{"twice", []adapter.Level{s.level(adapter.Products, aView, key), s.level(adapter.Products, aView, key)}, adapter.Invalid, "store_id"},
		{"static attribute", []adapter.Level{s.level(adapter.Products, aView, key.With(attrs{"sku": "x"}))}, adapter.Invalid, "sku"},
		{"computed attribute", []adapter.Level{s.level(adapter.Products, aView, key.With(attrs{"image_file": "x"}))}, adapter.Invalid, "image_file"},
		{"price list", []adapter.Level{s.level(adapter.Products, aView, key.With(attrs{"tier_price": []attrs{}}))}, adapter.Invalid, "tier_price"},
		{"value of another kind", []adapter.Level{s.level(adapter.Products, aView, key.With(attrs{"price": "x"}))}, adapter.Invalid, "price"},
		{"another product", []adapter.Level{s.level(adapter.Products, aView, attrs{"entity_id": 1, "name": "x"})}, adapter.Invalid, "entity_id"},
		{"records without store views", []adapter.Level{s.level(adapter.StockItems, aView, attrs{"item_id": 1})}, adapter.Unsupported, ""},
	} {
		for _, dry := range []bool{true, false} {
			one := s.aggregate(adapter.Products, importedProduct(900, "faulty", nil))
			one.Levels = c.levels
			_, err := s.importer.Import(t.Context(), []adapter.Aggregate{one}, adapter.ImportOptions{DryRun: dry})
			wantError(t, c.name, err, c.kind, c.field)
		}
	}
	if found := s.imported(t, adapter.Products); len(found) != 0 {
		t.Errorf("%v is stored", found)
	}
}

// testImportedAssignments imports the assignments of products as their parts.
func (s *importSuite) testImportedAssignments(t *testing.T) {
	website := func(id int) adapter.Record {
		return s.part(adapter.ProductWebsites, attrs{"product_id": 900, "website_id": id})
	}
	category := func(id, position int) adapter.Record {
		return s.part(adapter.ProductCategories, attrs{"product_id": 900, "category_id": id, "position": position})
	}
	both := []adapter.Resource{adapter.ProductWebsites, adapter.ProductCategories}
	product := importedProduct(900, "assigned", nil)
	with := func(of []adapter.Resource, parts ...adapter.Record) adapter.Aggregate {
		one := s.aggregate(adapter.Products, product, parts...)
		one.PartsOf = of
		return one
	}
	expect := func(name string, websites, categories string) {
		t.Helper()
		got := map[adapter.Resource]string{}
		for r, attribute := range map[adapter.Resource]string{adapter.ProductWebsites: "website_id", adapter.ProductCategories: "category_id"} {
			for _, a := range MustList(t, storeOf(t, s.adapter, r), adapter.ListParams{Query: equals("product_id", "900")}).Records {
				got[r] += a.Get(attribute).Text() + " " + a.Get("position").Text() + "|"
			}
		}
		if got[adapter.ProductWebsites] != websites || got[adapter.ProductCategories] != categories {
			t.Errorf("%s: websites %s, categories %s, want %s and %s", name, got[adapter.ProductWebsites], got[adapter.ProductCategories], websites, categories)
		}
	}
	first := with(both, website(1), category(3, -4), category(freeCategory, 7))
	s.expect(t, "first", replacing(), outcomes(created), first)
	expect("first", "1 |", "3 -4|"+category(freeCategory, 7).Get("category_id").Text()+" 7|")
	if _, err := storeOf(t, s.adapter, adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 900, StoreID: sisterView, Filters: []adapter.Filter{{Name: adapter.Listed}}}); err != nil {
		t.Errorf("shoppers do not see it: %v", err)
	}
	s.expect(t, "again", replacing(), outcomes(equal), first)
	s.expect(t, "another position", replacing(), outcomes(changed), with(both, website(1), category(3, 5)))
	expect("another position", "1 |", "3 5|")
	s.expect(t, "categories alone", replacing(), outcomes(changed), with(both[1:], category(3, 6)))
	expect("categories alone", "1 |", "3 6|")
	s.expect(t, "one more", replacing(), outcomes(changed), with(nil, website(otherWebsite)))
	expect("one more", "1 |2 |", "3 6|")
	s.expect(t, "none named", replacing(), outcomes(equal), with(nil))
	s.expect(t, "none", replacing(), outcomes(changed), with(both))
	expect("none", "", "")
	_, err := storeOf(t, s.adapter, adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 900, StoreID: sisterView, Filters: []adapter.Filter{{Name: adapter.Listed}}})
	wantError(t, "no longer sold", err, adapter.NotFound, "")

	stray := s.part(adapter.ProductWebsites, attrs{"product_id": 901, "website_id": 1})
	for _, c := range []struct {
		name  string
		one   adapter.Aggregate
		kind  adapter.ErrorKind
		field string
	}{
		{"unknown website", with(both, website(1<<40)), adapter.NotFound, "website_id"},
		{"unknown category", with(both, category(1<<40, 1)), adapter.NotFound, "category_id"},
		{"the same twice", with(both, website(1), website(1)), adapter.Conflict, "website_id"},
		{"of another product", with(both, stray), adapter.Invalid, "product_id"},
		{"stock items", with([]adapter.Resource{adapter.StockItems}), adapter.Unsupported, ""},
		{"an assignment of no product", s.aggregate(adapter.ProductWebsites, attrs{"product_id": 999, "website_id": 1}), adapter.NotFound, "product_id"},
		{"a record of its own for no website", s.aggregate(adapter.ProductWebsites, attrs{"product_id": 900, "website_id": 1 << 40}), adapter.NotFound, "website_id"},
	} {
		_, err := s.importer.Import(t.Context(), []adapter.Aggregate{c.one}, replacing())
		wantError(t, c.name, err, c.kind, c.field)
	}
	expect("refused", "", "")
}

// testImportedCategories imports the names of categories at store views.
func (s *importSuite) testImportedCategories(t *testing.T) {
	category := func(id int, name string, own attrs) adapter.Aggregate {
		one := s.aggregate(adapter.Categories, attrs{"category_id": id, "parent_id": 2, "name": name, "is_active": 1})
		if own != nil {
			one.Levels = []adapter.Level{s.level(adapter.Categories, aView, attrs{"category_id": id}.With(own))}
		}
		return one
	}
	batch := []adapter.Aggregate{category(900, "Tables", attrs{"name": "Ébéniste"}), category(901, "Chairs", nil)}
	s.expect(t, "first", replacing(), outcomes(created, created), batch...)
	s.expect(t, "again", replacing(), outcomes(equal, equal), batch...)
	s.shown(t, "own name", adapter.Categories, adapter.GetParams{Key: 900, StoreID: aView}, attrs{"name": "Ébéniste", "is_active": 1})
	s.shown(t, "name of the default scope", adapter.Categories, adapter.GetParams{Key: 900}, attrs{"name": "Tables"})
	s.shown(t, "name at another view", adapter.Categories, adapter.GetParams{Key: 900, StoreID: otherView}, attrs{"name": "Tables"})
	s.shown(t, "no own name", adapter.Categories, adapter.GetParams{Key: 901, StoreID: aView}, attrs{"name": "Chairs"})
	for name, c := range map[string]struct {
		storeID int64
		q       adapter.Query
		want    []adapter.Key
	}{
		"own name":              {aView, equals("name", "ebeniste"), []adapter.Key{900}},
		"hidden name":           {aView, equals("name", "Tables"), nil},
		"name elsewhere":        {otherView, equals("name", "Tables"), []adapter.Key{900}},
		"order":                 {0, adapter.Query{OrderBy: "name"}, []adapter.Key{901, 900}},
		"order at the view":     {aView, adapter.Query{OrderBy: "name", Desc: true}, []adapter.Key{900, 901}},
		"after a name there":    {aView, adapter.Query{OrderBy: "name", After: &adapter.Cursor{Key: 901, Value: adapter.TextValue("Chairs")}}, []adapter.Key{900}},
		"by key, with the page": {aView, adapter.Query{Limit: 1}, []adapter.Key{900}},
	} {
		if got := s.selected(t, adapter.Categories, c.storeID, c.q); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	s.expect(t, "another name", replacing(), outcomes(changed), category(900, "Tables", attrs{"name": "Tables basses"}))
	s.shown(t, "another name", adapter.Categories, adapter.GetParams{Key: 900, StoreID: aView}, attrs{"name": "Tables basses"})
	s.expect(t, "none", replacing(), outcomes(changed), category(900, "Tables", nil))
	s.shown(t, "none", adapter.Categories, adapter.GetParams{Key: 900, StoreID: aView}, attrs{"name": "Tables"})
	_, err := s.importer.Import(t.Context(), []adapter.Aggregate{category(900, "Tables", attrs{"is_active": 0})}, replacing())
	wantError(t, "an attribute without store views", err, adapter.Invalid, "is_active")
}

// testRequestPaths imports addresses of pages, which follow the url_key that clients write.
func (s *importSuite) testRequestPaths(t *testing.T) {
	at := func(storeID int64, more attrs) adapter.Level {
		return s.level(adapter.Products, storeID, attrs{"entity_id": 900}.With(more))
	}
	one := s.aggregate(adapter.Products, importedProduct(900, "paths", attrs{"url_key": "lamp"}))
	one.Levels = []adapter.Level{
		at(aView, attrs{"request_path": "lamp.html"}), at(sisterView, attrs{"url_key": "lampe", "request_path": "lampe-12.html"}), at(otherView, attrs{"request_path": "lampshade.html"}),
	}
	s.expect(t, "first", adapter.ImportOptions{}, outcomes(created), one)
	long := strings.Repeat("x", 251)
	for _, step := range []struct {
		key  string
		view int64
		want [3]string // at the three store views
	}{
		{"lamp", 0, [3]string{"lamp.html", "lampe-12.html", "lampshade.html"}},
		{"light", 0, [3]string{"light.html", "lampe-12.html", "lampshade.html"}},
		{"glow", aView, [3]string{"glow.html", "lampe-12.html", "lampshade.html"}},
		{"lueur", sisterView, [3]string{"glow.html", "lueur.html", "lampshade.html"}},
		{"dark", 0, [3]string{"glow.html", "lueur.html", "lampshade.html"}},
		{long, aView, [3]string{long[:240] + ".html", "lueur.html", "lampshade.html"}},
		{"short", aView, [3]string{"short.html", "lueur.html", "lampshade.html"}},
	} {
		if err := Update(t, storeOf(t, s.adapter, adapter.Products), 900, step.view, attrs{"url_key": step.key}); err != nil {
			t.Fatal(err)
		}
		for i, view := range []int64{aView, sisterView, otherView} {
			s.shown(t, step.key, adapter.Products, adapter.GetParams{Key: 900, StoreID: view}, attrs{"request_path": step.want[i]})
		}
	}
	s.shown(t, "default scope", adapter.Products, adapter.GetParams{Key: 900}, attrs{"request_path": adapter.Value{}})
}
