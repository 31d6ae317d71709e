package memstore_test

import (
	"errors"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/memstore"
)

// TestLoadDefaults loads records without the values that the adapter sets itself.
func TestLoadDefaults(t *testing.T) {
	schemas, err := adapter.NewSchemas().With(adapter.AddedAttribute{Resource: adapter.Products, Name: "brand"})
	if err != nil {
		t.Fatal(err)
	}
	base := adapter.NewSchemas() // schemas of a data set without the added attribute
	product := attrs{"attribute_set_id": 4, "type_id": "simple", "sku": "a", "price": "1.5", "tier_price": []attrs{{"website_id": 0, "cust_group": 1, "price": "9", "price_qty": "2"}}}
	group := func(v attrs) adapter.Record {
		return attrs{"name": "N", "tax_class_id": 3}.With(v).Record(base.Of(adapter.CustomerGroups))
	}
	a := memstore.New(memstore.Options{Schemas: schemas})
	err = a.Load(t.Context(), &adapter.Dataset{Records: map[adapter.Resource][]adapter.Record{
		adapter.CustomerGroups: {group(attrs{"group_id": 7}), group(attrs{"group_id": 3}), group(nil)},
		adapter.Products:       {product.Record(base.Of(adapter.Products))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := adaptertest.StoreOf(t, a, adapter.CustomerGroups).Get(t.Context(), &adapter.GetParams{Key: 8})
	if err != nil || found.Get("name").Text() != "N" {
		t.Errorf("the group without a key: %v, %v", found, err)
	}
	got := adaptertest.MustGet(t, adaptertest.StoreOf(t, a, adapter.Products), adapter.GetParams{Key: 1, With: []string{"tier_price"}})
	prices := got.Get("tier_price").Records()
	if len(prices) != 1 || prices[0].Get("value_id").Int() != 1 || prices[0].Get("price").Text() != "9.0000" || prices[0].Schema.Key != "value_id" {
		t.Errorf("tier prices: %v", prices)
	}
	if got.Schema != schemas.Of(adapter.Products) || got.Get("price").Text() != "1.5000" || got.Get("name").Kind() != adapter.Absent || got.Get("brand").Kind() != adapter.Absent {
		t.Errorf("the product: %v", got.Values)
	}
	if got.Get("created_at").Empty() || !got.Get("updated_at").Equal(got.Get("created_at")) {
		t.Errorf("created at %q, updated at %q", got.Get("created_at").Text(), got.Get("updated_at").Text())
	}
}

// TestPasswords checks that customers of the demo store can log in.
func TestPasswords(t *testing.T) {
	customers := adaptertest.MustList(t, adaptertest.StoreOf(t, shop(t, memstore.Options{}), adapter.Customers), adapter.ListParams{})
	passwords := demoData(t).Passwords
	if len(passwords) == 0 {
		t.Fatal("no passwords to test")
	}
	for _, r := range customers.Records {
		password, ok := passwords[adapter.Key(r.Get("entity_id").Int())]
		if hash := r.Get("password_hash").Text(); ok != (hash != "") || ok && !adapter.PasswordMatches(hash, password) {
			t.Errorf("customer %d: hash %q of the password %q", r.Get("entity_id").Int(), hash, password)
		}
	}
}

// TestLoadErrors loads data sets that cannot be stored, and checks that they leave
// nothing behind.
func TestLoadErrors(t *testing.T) {
	schemas := adapter.NewSchemas()
	customer := attrs{"entity_id": 1, "website_id": 1, "email": "a@b.example", "group_id": 1, "disable_auto_group_change": 0}
	with := func(name string, v any) attrs { return customer.With(attrs{name: v}) }
	for name, c := range map[string]struct {
		r       adapter.Resource
		records []attrs
		kind    adapter.ErrorKind
		field   string
	}{
		"key twice":        {adapter.Customers, []attrs{customer, with("email", "c@d.example")}, adapter.Conflict, "entity_id"},
		"e-mail twice":     {adapter.Customers, []attrs{customer, with("entity_id", 2)}, adapter.Conflict, "email"},
		"no e-mail":        {adapter.Customers, []attrs{with("email", adapter.Value{})}, adapter.Invalid, "email"},
		"text as a number": {adapter.Customers, []attrs{with("group_id", "1")}, adapter.Invalid, "group_id"},
		"owner missing":    {adapter.CustomerAddresses, []attrs{{"customer_id": 9, "is_default_billing": 0, "is_default_shipping": 0}}, adapter.Invalid, "customer_id"},
		"images":           {adapter.ProductImages, []attrs{{"product_id": 1}}, adapter.Unsupported, ""},
	} {
		a := memstore.New(memstore.Options{Schemas: schemas})
		data := adapter.Dataset{Records: map[adapter.Resource][]adapter.Record{}}
		for _, v := range c.records {
			data.Records[c.r] = append(data.Records[c.r], v.Record(schemas.Of(c.r)))
		}
		var fault *adapter.Error
		if err := a.Load(t.Context(), &data); !errors.As(err, &fault) || fault.Kind != c.kind || fault.Field != c.field {
			t.Errorf("%s: %v, want %s of %q", name, err, c.kind, c.field)
		}
		if left := count(t, a, c.r); left != 0 {
			t.Errorf("%s: %d records are left", name, left)
		}
	}
	if err := shop(t, memstore.Options{}).Load(t.Context(), demoData(t)); adapter.KindOf(err) != adapter.Conflict || err == nil {
		t.Errorf("loaded twice: %v, want a conflict", err)
	}
}

// TestLoadedStock checks the values that loading derives from the quantity of a stock
// item.
func TestLoadedStock(t *testing.T) {
	stock := adaptertest.StoreOf(t, shop(t, memstore.Options{}), adapter.StockItems)
	for key, isLow := range map[adapter.Key]bool{1: false, 3: true} {
		r, err := stock.Get(t.Context(), &adapter.GetParams{Key: key})
		if err != nil || (r.Get("is_in_stock").Int() == 0) != isLow || r.Get("low_stock_date").Empty() == isLow {
			t.Errorf("item %d: %v, %v", key, r.Values, err)
		}
	}
}
