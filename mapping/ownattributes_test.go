package mapping_test

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/memstore"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// An ownKind is a kind of own attributes, with three values of it in ascending order. The values of
// selects and multiselects are places of options, 0 to 2, whose labels ownLabels has.
type ownKind struct {
	name   string
	added  adapter.AddedAttribute
	values [3]string
	byID   bool             // the values are ids of options
	sort   contract.Sorting // of products
}

func ownKinds() []ownKind {
	return []ownKind{
		{name: "text", added: adapter.AddedAttribute{Kind: adapter.KindText}, values: [3]string{"alder", "Birch", "cedar"}},
		{name: "textarea", added: adapter.AddedAttribute{Input: adapter.InputTextarea}, values: [3]string{"Acid", "base", "Clay"}},
		{name: "date", added: adapter.AddedAttribute{Kind: adapter.KindTime}, values: [3]string{"2012-03-04 00:00:00", "2012-11-05 00:00:00", "2013-01-06 00:00:00"}},
		{name: "boolean", added: adapter.AddedAttribute{Input: adapter.InputBoolean}, values: [3]string{"0", "1", "1"}, sort: contract.SortIgnored},
		{name: "select", added: adapter.AddedAttribute{Input: adapter.InputSelect}, values: [3]string{"0", "1", "2"}, byID: true, sort: contract.SortByLabel},
		{name: "multiselect", added: adapter.AddedAttribute{Input: adapter.InputMultiselect}, values: [3]string{"0,2", "1", "2,0"}, byID: true, sort: contract.SortByLabel},
		{name: "price", added: adapter.AddedAttribute{Input: adapter.InputPrice}, values: [3]string{"7.0000", "12.5000", "100.0000"}},
		{name: "image", added: adapter.AddedAttribute{Input: adapter.InputImage}, values: [3]string{"/a/a.png", "/b/b.png", "no_selection"}},
	}
}

// ownLabels returns the labels of the options of each attribute by store view, 0 for the default scope.
// A view that is missing has the labels of the default scope.
func ownLabels() map[int64][3]string {
	return map[int64][3]string{0: {"two", "Three", "one"}, 2: {"Deux", "trois", "Un"}}
}

// ownScopes returns the scopes of attributes by the names that test cases give them.
func ownScopes() map[string]adapter.Scope {
	return map[string]adapter.Scope{"global": adapter.ScopeGlobal, "website": adapter.ScopeWebsite, "store": adapter.ScopeStore}
}

// A cell is what a record has of an attribute in one scope: none, a null, or the place of one of the
// kind's three values.
type cell int8

const (
	none cell = iota - 2
	null
	first
	second
	third
)

// ownRows returns what products have of every attribute: in the default scope, and at the store views 1
// to 3.
func ownRows() map[adapter.Key][4]cell {
	return map[adapter.Key][4]cell{
		1: {none, none, none, none}, 2: {second, none, none, none}, 3: {first, none, third, none}, 4: {third, null, null, second},
		7: {none, first, second, first}, 8: {null, none, second, none}, 9: {null, third, none, first}, 11: {second, first, first, null},
	}
}

// An ownAttribute is an attribute of the shop of these tests.
type ownAttribute struct {
	ownKind
	name  string
	scope adapter.Scope
	base  int64 // the id of its first option
}

func (a *ownAttribute) id(place byte) string { return fmt.Sprint(a.base + int64(place-'0')) }

// text returns the text of a cell that has a value.
func (a *ownAttribute) text(c cell) string {
	text := a.values[c]
	if !a.byID {
		return text
	}
	var ids []string
	for place := range strings.SplitSeq(text, ",") {
		ids = append(ids, a.id(place[0]))
	}
	return strings.Join(ids, ",")
}

// value returns the value that a record stores.
func (a *ownAttribute) value(c cell) adapter.Value {
	switch {
	case c == none:
		return adapter.Value{}
	case c == null:
		return adapter.NullValue()
	case a.kind() == adapter.KindInteger:
		var n int64
		_, _ = fmt.Sscan(a.text(c), &n)
		return adapter.IntegerValue(n)
	default:
		return adapter.TextValue(a.text(c))
	}
}

func (a *ownAttribute) kind() adapter.Kind {
	if a.added.Input == adapter.InputSelect || a.added.Input == adapter.InputBoolean {
		return adapter.KindInteger
	}
	return adapter.KindText
}

// label returns the label at a store view of the option that a cell begins with.
func (a *ownAttribute) label(c cell, view int64) string {
	labels, ok := ownLabels()[view]
	if !ok {
		labels = ownLabels()[0]
	}
	return labels[a.values[c][0]-'0']
}

// A shownCell is what a reply shows: nothing, null, or a text.
type shownCell struct {
	there, isNull bool
	text          string
}

// shows returns how a reply shows a cell.
func (a *ownAttribute) shows(c cell) shownCell {
	switch c {
	case none:
		return shownCell{}
	case null:
		return shownCell{there: true, isNull: true}
	default:
		return shownCell{there: true, text: a.text(c)}
	}
}

// An ownReading is one way of reading products.
type ownReading struct {
	admin bool
	view  int64 // 0 for the default scope
	list  bool
	// orders or filters: a list is ordered or filtered by the attribute.
	orders, filters bool
}

// global reports whether an attribute counts as global (own_attributes 7). byWebsite: the shop's
// prices may differ between websites.
func (a *ownAttribute) global(byWebsite bool) bool {
	if a.added.Input == adapter.InputPrice {
		return !byWebsite
	}
	return a.scope == adapter.ScopeGlobal
}

// expected returns what a reply shows of an attribute of a product, and the cell that a filter or an
// order compares, by the rules of own_attributes 1 to 7.
func (a *ownAttribute) expected(in ownReading, row [4]cell, byWebsite bool) (shown shownCell, compared cell) {
	atDefault, atView := row[0], none
	if in.view != 0 {
		atView = row[in.view]
	}
	listed := atDefault // 1 and 2: lists of Guests and Customers show the default scope
	switch {
	case !in.list: // the value of the store view
		if atView != none {
			listed = atView
		}
		return a.shows(listed), listed
	case in.admin && atDefault != none && atView != none: // 5 and 6
		listed = atView
	}
	joined := atDefault
	if in.admin && atView != none && !a.global(byWebsite) { // 5, and 6 for the others
		joined = atView
	}
	orders := in.orders && a.sort != contract.SortIgnored // 4
	switch {
	case orders && a.sort == contract.SortByLabel:
		if in.admin && atView != none { // 5: whatever the scope
			joined = atView
		}
		shown = a.shows(listed)
		if in.admin && atDefault == none && atView >= first {
			shown = shownCell{there: true, text: a.label(atView, in.view)}
		}
	case orders, in.filters:
		shown = a.shows(joined)
	default:
		return a.shows(listed), listed
	}
	if orders && !shown.there { // 4: added as null
		shown = shownCell{there: true, isNull: true}
	}
	return shown, joined
}

// compare compares two cells as an order does, with products without a value first.
func (a *ownAttribute) compare(x, y cell, view int64) int {
	if x < first || y < first {
		return cmp.Compare(max(x, null), max(y, null))
	}
	if a.sort == contract.SortByLabel { // 3
		return cmp.Compare(strings.ToLower(a.label(x, view)), strings.ToLower(a.label(y, view)))
	}
	return cmp.Compare(x, y)
}

// ownShop returns the demo store with attributes of every kind and scope, and the attributes.
func ownShop(t *testing.T, inSQLite, byWebsite bool) (*customerShop, []ownAttribute) {
	t.Helper()
	base := adapter.NewSchemas()
	if byWebsite {
		base = base.WithPricesByWebsite()
	}
	var all []ownAttribute
	var added []adapter.AddedAttribute
	var options contract.FieldOptions
	data := loadDemo(t)
	for _, kind := range ownKinds() {
		for scopeName, scope := range ownScopes() {
			a := ownAttribute{ownKind: kind, scope: scope, base: int64(100 + 3*len(all))}
			a.name = "own_" + kind.name + "_" + scopeName
			all = append(all, a)
			one := kind.added
			one.Resource, one.Name, one.Scope = adapter.Products, a.name, scope
			added = append(added, one)
			options.Added = append(options.Added, contract.AddedField{Resource: "products", Name: a.name, Read: contract.Roles(),
				Write: []contract.Role{contract.Admin}, InList: true, InSingle: true, Sort: kind.sort, Integer: a.kind() == adapter.KindInteger})
			if !kind.byID {
				continue
			}
			for place := range 3 {
				r := adapter.NewRecord(base.Of(adapter.AttributeOptions))
				r.Set("option_id", adapter.IntegerValue(a.base+int64(place)))
				r.Set("resource", adapter.TextValue(string(adapter.Products)))
				r.Set("attribute", adapter.TextValue(a.name))
				r.Set("label", adapter.TextValue(ownLabels()[0][place]))
				r.Set("labels", adapter.TextsValue([]string{"2:" + ownLabels()[2][place]}))
				data.Records[adapter.AttributeOptions] = append(data.Records[adapter.AttributeOptions], r)
			}
		}
	}
	schemas, err := base.With(added...)
	if err != nil {
		t.Fatal(err)
	}
	addOwnRows(data, schemas, all)
	return serveOwn(t, data, schemas, options, inSQLite), all
}

// serveOwn serves data, in SQLite or in memory, with the fields that options add.
func serveOwn(t *testing.T, data *adapter.Dataset, schemas *adapter.Schemas, options contract.FieldOptions, inSQLite bool) *customerShop {
	t.Helper()
	fields, err := contract.NewFields(options)
	if err != nil {
		t.Fatal(err)
	}
	var store *store
	if inSQLite {
		store = openSQLiteStore(t, data, schemas)
	} else {
		records := memstore.New(memstore.Options{Schemas: schemas})
		if err := records.Load(t.Context(), data); err != nil {
			t.Fatal(err)
		}
		store = inMemory(t, records)
	}
	return serveCustomers(t, store, data, fields, schemas, mapping.Settings{})
}

// addOwnRows gives products the cells of ownRows, and makes them products of both websites.
func addOwnRows(data *adapter.Dataset, schemas *adapter.Schemas, all []ownAttribute) {
	schema := schemas.Of(adapter.Products)
	extend := func(r *adapter.Record) {
		extended := adapter.NewRecord(schema)
		copy(extended.Values, r.Values)
		*r = extended
	}
	for i := range data.Levels {
		if r := &data.Levels[i].Record; r.Schema.Resource == adapter.Products {
			extend(r)
		}
	}
	for i := range data.Records[adapter.Products] {
		product := &data.Records[adapter.Products][i]
		extend(product)
		rows, ok := ownRows()[product.Key()]
		if !ok {
			continue
		}
		product.Set("visibility", adapter.IntegerValue(4))
		for view, c := range rows {
			r := levelOf(data, *product, int64(view))
			for j := range all {
				r.Set(all[j].name, all[j].value(c))
			}
		}
		for website := range int64(2) {
			in := data.Records[adapter.ProductWebsites]
			if !slices.ContainsFunc(in, func(r adapter.Record) bool {
				return r.Get("product_id").Int() == int64(product.Key()) && r.Get("website_id").Int() == website+1
			}) {
				r := adapter.NewRecord(schemas.Of(adapter.ProductWebsites))
				r.Set("product_id", product.Get("entity_id"))
				r.Set("website_id", adapter.IntegerValue(website+1))
				data.Records[adapter.ProductWebsites] = append(in, r)
			}
		}
	}
}

// levelOf returns the record with the values of a product at a store view, which it adds to data, or the
// product itself for the default scope.
func levelOf(data *adapter.Dataset, product adapter.Record, view int64) adapter.Record {
	if view == 0 {
		return product
	}
	for _, l := range data.Levels {
		if l.StoreID == view && l.Record.Schema == product.Schema && l.Record.Key() == product.Key() {
			return l.Record
		}
	}
	r := adapter.NewRecord(product.Schema)
	r.Set("entity_id", product.Get("entity_id"))
	data.Levels = append(data.Levels, adapter.Level{StoreID: view, Record: r})
	return r
}

// TestOwnAttributesOfProducts compares what replies show of own attributes of every kind and scope with
// the rules of own_attributes, for every role, at every store view, in lists and alone.
func TestOwnAttributesOfProducts(t *testing.T) {
	t.Parallel()
	const all = 3452 // combinations that the test has to make
	for _, in := range []struct {
		name                string
		inSQLite, byWebsite bool
	}{{"memory", false, false}, {"SQLite", true, false}, {"prices by website", false, true}} {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			shop, attributes := ownShop(t, in.inSQLite, in.byWebsite)
			for _, d := range testenv.Rows(t, contract.Dialects(), 2) {
				t.Run(d.Name, func(t *testing.T) {
					check := ownCheck{shop: shop, dialect: d, attributes: attributes, byWebsite: in.byWebsite, sample: testenv.NewSample(t)}
					check.run(t)
					t.Logf("%d combinations of kind, scope, role, store view, list or single, and values", check.combinations)
					if check.combinations < all {
						t.Errorf("%d combinations, want at least %d", check.combinations, all)
					}
				})
			}
		})
	}
}

// An ownCheck compares the replies of a shop in one dialect with the rules.
type ownCheck struct {
	shop         *customerShop
	dialect      *contract.Dialect
	attributes   []ownAttribute
	byWebsite    bool
	sample       *testenv.Sample // of orders and filters
	combinations int
}

func (c *ownCheck) run(t *testing.T) {
	t.Helper()
	for _, as := range []string{"guest", "customer 1", "admin"} {
		for view := range int64(4) {
			in := ownReading{admin: as == "admin", view: view}
			below := ""
			switch {
			case view > 0:
				below = fmt.Sprintf("/store/%d", view)
			case !in.admin:
				in.view = 1 // the default store view
			}
			for key, row := range ownRows() {
				c.compare(t, as, fmt.Sprintf("/products/%d%s", key, below), in, row)
			}
			in.list = true
			lists := []string{"/products" + below + "?limit=100"}
			if view > 0 {
				lists = append(lists, "/products?limit=100&store="+[]string{"default", "french", "german"}[view-1])
			}
			if !c.dialect.CategoryView { // which shows other fields
				lists = append(lists, "/products/category/3"+below+"?limit=100")
			}
			for _, path := range lists {
				c.compareList(t, as, path, in)
			}
			var keys []string
			for _, m := range c.node(t, as, lists[0]+"&attrs=entity_id").Members {
				keys = append(keys, m.Key)
			}
			for i := range c.attributes {
				if c.sample.Takes(5) {
					c.compareOrders(t, as, lists[0], in, &c.attributes[i], keys)
				}
			}
		}
	}
}

// node returns the body of a reply of status 200.
func (c *ownCheck) node(t *testing.T, as, path string) codec.Node {
	t.Helper()
	status, body := c.shop.get(t, c.dialect.Name, as, path, asJSON)
	node, err := codec.Decode(contract.JSON, []byte(body))
	if status != 200 || err != nil {
		t.Fatalf("%s as %s: %d %s %v", path, as, status, body, err)
	}
	return node
}

// check compares what a record shows of an attribute.
func (c *ownCheck) check(t *testing.T, what string, a *ownAttribute, record *codec.Node, want shownCell) {
	t.Helper()
	if !want.there && c.dialect.AbsentIsNull {
		want = shownCell{there: true, isNull: true}
	}
	c.checkShown(t, what, a, record, want)
}

// checkShown compares what a record shows of an attribute, in a dialect that shows absent values as they
// are.
func (c *ownCheck) checkShown(t *testing.T, what string, a *ownAttribute, record *codec.Node, want shownCell) {
	t.Helper()
	c.combinations++
	var got shownCell
	if at := slices.IndexFunc(record.Members, func(m codec.Member) bool { return m.Key == a.name }); at >= 0 {
		v := &record.Members[at].Value
		got = shownCell{there: true, isNull: v.Kind == codec.Null, text: v.Text}
	}
	if got != want {
		t.Errorf("%s: %s is %+v, want %+v", what, a.name, got, want)
	}
}

// compare compares a product that is read alone.
func (c *ownCheck) compare(t *testing.T, as, path string, in ownReading, row [4]cell) {
	t.Helper()
	record := c.node(t, as, path)
	for i := range c.attributes {
		want, _ := c.attributes[i].expected(in, row, c.byWebsite)
		c.check(t, path+" as "+as, &c.attributes[i], &record, want)
	}
}

// compareList compares a list.
func (c *ownCheck) compareList(t *testing.T, as, path string, in ownReading) {
	t.Helper()
	list := c.node(t, as, path)
	for i := range list.Members {
		row := rowOf(list.Members[i].Key)
		for j := range c.attributes {
			want, _ := c.attributes[j].expected(in, row, c.byWebsite)
			c.check(t, path+" as "+as+", product "+list.Members[i].Key, &c.attributes[j], &list.Members[i].Value, want)
		}
	}
}

// rowOf returns the cells of a product, which has none if ownRows does not have it.
func rowOf(key string) [4]cell {
	var id adapter.Key
	_, _ = fmt.Sscan(key, &id)
	if row, ok := ownRows()[id]; ok {
		return row
	}
	return [4]cell{none, none, none, none}
}

// compareOrders compares lists of the products with the given keys that are ordered and filtered by an
// attribute.
func (c *ownCheck) compareOrders(t *testing.T, as, path string, in ownReading, a *ownAttribute, keys []string) {
	t.Helper()
	path += "&attrs=entity_id," + a.name + "&"
	in.orders = true
	for _, direction := range []int{1, -1} {
		ordered := slices.Clone(keys)
		if a.sort != contract.SortIgnored {
			slices.SortStableFunc(ordered, func(x, y string) int {
				_, left := a.expected(in, rowOf(x), c.byWebsite)
				_, right := a.expected(in, rowOf(y), c.byWebsite)
				return direction * a.compare(left, right, in.view)
			})
		}
		query := "order=" + a.name + "&dir=" + map[int]string{1: "asc", -1: "dsc"}[direction]
		c.compareKeys(t, as, path+query, in, a, ordered)
	}
	in.orders, in.filters = false, true
	var found []string
	for _, key := range keys {
		if _, compared := a.expected(in, rowOf(key), c.byWebsite); compared == second {
			found = append(found, key)
		}
	}
	if a.sort == contract.SortIgnored { // its second and third value are the same
		return
	}
	c.compareKeys(t, as, path+"filter[1][attribute]="+a.name+"&filter[1][eq]="+url.QueryEscape(a.text(second)), in, a, found)
}

// compareKeys compares the products of a list, their order, and what they show of an attribute.
func (c *ownCheck) compareKeys(t *testing.T, as, path string, in ownReading, a *ownAttribute, want []string) {
	t.Helper()
	list := c.node(t, as, path)
	var got []string
	for i := range list.Members {
		key := list.Members[i].Key
		got = append(got, key)
		shown, _ := a.expected(in, rowOf(key), c.byWebsite)
		c.check(t, path+" as "+as+", product "+key, a, &list.Members[i].Value, shown)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s as %s: the products are %v, want %v", path, as, got, want)
	}
}
