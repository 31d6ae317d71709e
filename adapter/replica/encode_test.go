package replica

import (
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// newProductPlan returns a plan of products and their stock items that has no replica.
func newProductPlan() *resourcePlan {
	schemas := adapter.NewSchemas()
	root := &resourcePlan{BackendResource: BackendResource{Resource: adapter.Products, Root: adapter.Products}, schema: schemas.Of(adapter.Products)}
	root.root = root
	part := &resourcePlan{BackendResource: BackendResource{Resource: adapter.StockItems, Root: adapter.Products}, schema: schemas.Of(adapter.StockItems), root: root}
	root.parts = []*resourcePlan{part}
	return root
}

func sameBase(a, b base) bool {
	if !sameRecords(a.Item, b.Item) || len(a.Parts) != len(b.Parts) {
		return false
	}
	for r, items := range a.Parts {
		if other, ok := b.Parts[r]; !ok || !slices.EqualFunc(items, other, sameItem) {
			return false
		}
	}
	return true
}

func TestEncodeBase(t *testing.T) {
	root := newProductPlan()
	prices := root.schema.Attributes[slices.IndexFunc(root.schema.Attributes, func(a adapter.Attribute) bool { return a.Name == "tier_price" })].Nested
	price := adapter.NewRecord(prices)
	price.Set("price", adapter.TextValue("1.0000"))
	price.Set("cust_group", adapter.IntegerValue(-1))
	with := func(name string, v adapter.Value) base {
		b := base{Item: adapter.NewRecord(root.schema), Parts: map[adapter.Resource][]Item{}}
		b.Item.Set(name, v)
		return b
	}
	stock := adapter.NewRecord(root.parts[0].schema)
	stock.Set("qty", adapter.TextValue("2.0000"))
	for name, b := range map[string]base{
		"nothing":             {Item: adapter.NewRecord(root.schema), Parts: map[adapter.Resource][]Item{}},
		"null":                with("name", adapter.NullValue()),
		"empty text":          with("name", adapter.TextValue("")),
		"text":                with("name", adapter.TextValue("a\"\\\x00\n<é中>\u2028")),
		"no UTF-8":            with("name", adapter.TextValue("a\xff\xfe")),
		"integer":             with("status", adapter.IntegerValue(-1<<63)),
		"an integer text":     with("name", adapter.TextValue("17")),
		"no records":          with("tier_price", adapter.RecordsValue(nil)),
		"records":             with("tier_price", adapter.RecordsValue([]adapter.Record{price, price})),
		"parts":               {Item: adapter.NewRecord(root.schema), Parts: map[adapter.Resource][]Item{adapter.StockItems: {{ID: "x\"", Record: stock}, {Record: stock}}}},
		"empty list of parts": {Item: adapter.NewRecord(root.schema), Parts: map[adapter.Resource][]Item{adapter.StockItems: {}}},
	} {
		mapping, err := withBase(idmap.Mapping{}, b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if decoded, err := baseOf(root, mapping); err != nil || !sameBase(b, decoded) || string(mapping.Base) == idmap.EmptyBase {
			t.Errorf("%s: %s is %+v, %v", name, mapping.Base, decoded, err)
		}
	}
	unset, err := withBase(idmap.Mapping{}, with("name", adapter.UnsetValue()))
	if err != nil || string(unset.Base) != `{"item":{}}` {
		t.Errorf("an unset value is encoded as %s, %v", unset.Base, err)
	}
	streets := adapter.NewSchemas().Of(adapter.CustomerAddresses)
	r := adapter.NewRecord(streets)
	r.Set("street", adapter.TextsValue([]string{"a", "", "\xff"}))
	mapping, err := withBase(idmap.Mapping{}, base{Item: r})
	if err != nil {
		t.Fatal(err)
	}
	if decoded, err := baseOf(&resourcePlan{schema: streets}, mapping); err != nil || !sameRecords(r, decoded.Item) {
		t.Errorf("%s is %+v, %v", mapping.Base, decoded, err)
	}
}

// TestUnresolvedIn checks that the unresolved references of a base are found, and that bases
// without any are not decoded.
func TestUnresolvedIn(t *testing.T) {
	root := newProductPlan()
	b := base{Item: adapter.NewRecord(root.schema), Unresolved: map[adapter.Resource][]string{adapter.Categories: {"a", "b"}}}
	mapping, err := withBase(idmap.Mapping{}, b)
	if err != nil {
		t.Fatal(err)
	}
	if got := unresolvedIn(mapping.Base); !slices.Equal(got[adapter.Categories], []string{"a", "b"}) {
		t.Errorf("%s: %v", mapping.Base, got)
	}
	for _, none := range []string{"", idmap.EmptyBase, `{"item":{"name":"{\"unresolved\":"}}`, `{"unresolved":7}`} {
		if got := unresolvedIn([]byte(none)); got != nil {
			t.Errorf("%s: %v", none, got)
		}
	}
}

// FuzzDecodeBase checks that any stored base is decoded or refused, and that a decoded one
// survives another round trip.
func FuzzDecodeBase(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", "[]", `{"item":{"name":"x","price":null,"status":1}}`,
		`{"item":{"tier_price":[{"price":"1.0000"},null]},"parts":{"stock_items":[{"id":"a","item":{"qty":"1.0000"}}],"none":[]}}`,
		`{"item":{"name":{"bytes":"/w=="},"name":7,"no_such":[[[]]],"description":["a",{"bytes":"x"}]}}`,
		`{"item":{"name":1e3}}`, `{"item":{"status":99999999999999999999}}`, `{"parts":{"stock_items":null}}`,
	} {
		f.Add([]byte(seed))
	}
	root := newProductPlan()
	f.Fuzz(func(t *testing.T, encoded []byte) {
		b, err := baseOf(root, idmap.Mapping{Base: encoded})
		if err != nil {
			return
		}
		again, err := withBase(idmap.Mapping{}, b)
		if err != nil {
			t.Fatalf("%s is decoded, but not encoded again: %v", encoded, err)
		}
		if c, err := baseOf(root, again); err != nil || !sameBase(b, c) {
			t.Fatalf("%s becomes %s, %v", encoded, again.Base, err)
		}
	})
}

func FuzzDecodeIntent(f *testing.F) {
	for _, seed := range []string{`{"by":"x","op":"update","resource":"products","key":1,"level":2,"named":["name"],"old":{"name":null}}`, `{"before":{"1":{},"x":2}}`, `{"before":{"-1":null}}`, `{"aggregates":[{"record":{"sku":"x"},"parts_of":["x"],"parts":[{"resource":"product_images"},{}],"levels":[{"level":-1}]}]}`, "[", "null"} {
		f.Add([]byte(seed))
	}
	root, schemas := newProductPlan(), adapter.NewSchemas()
	f.Fuzz(func(t *testing.T, encoded []byte) {
		intent, err := decodeIntent(idmap.Mapping{Intent: encoded})
		if err != nil {
			return
		}
		_, _ = intent.Old.Decode(root.schema)
		for _, old := range intent.Siblings {
			_, _ = old.Decode(root.schema)
		}
		for _, old := range intent.Aggregates {
			_, _ = old.Decode(schemas, adapter.Products)
		}
	})
}
