package handlers

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// newTestWrites returns product writes without a store, for a shop with the given added
// attributes.
func newTestWrites(t testing.TB, d *contract.Dialect, own ...adapter.AddedAttribute) *ProductWrites {
	t.Helper()
	schemas, err := adapter.NewSchemas().With(own...)
	if err != nil {
		t.Fatal(err)
	}
	var options contract.FieldOptions
	for _, a := range own {
		options.Added = append(options.Added, contract.AddedField{Resource: "products", Name: a.Name})
	}
	fields, err := contract.NewFields(options)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Unix(1359864306, 0) }
	backend := resource.NewBackend(fixedBackend{stores: map[adapter.Resource]fixedStore{
		adapter.CustomerGroups: recordsOf(schemas.Of(adapter.CustomerGroups), adapter.IntegerValue(0), adapter.IntegerValue(1), adapter.IntegerValue(2), adapter.IntegerValue(3)),
		adapter.Countries:      recordsOf(schemas.Of(adapter.Countries), adapter.TextValue("FR"), adapter.TextValue("DE"), adapter.TextValue("US")),
	}}, schemas, nil, resource.NewFilterLimiter(resource.FilterSettings{}), resource.RegionalSettings{})
	items, err := resource.NewResource(d, fields.StockItems, backend, adapter.StockItems)
	if err != nil {
		t.Fatal(err)
	}
	rules := newStockRules(&items, StockSettings{NotifyQty: 1, ManageStock: true}, now)
	settings := ProductSettings{AttributeSets: []string{"4"}, TaxClasses: []string{"0", "2", "4"}, Themes: []string{"default/default"}}
	w, err := NewProductWrites(d, fields, backend, nil, &rules, settings, resource.PriceSettings{}, now)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A fixedBackend offers only stores that list the same records for every query.
type fixedBackend struct {
	adapter.Adapter
	stores map[adapter.Resource]fixedStore
}

func (b fixedBackend) Store(r adapter.Resource) (adapter.Store, error) {
	if store, ok := b.stores[r]; ok {
		return store, nil
	}
	return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "open"}
}

// A fixedStore lists the same records for every query.
type fixedStore struct {
	adapter.Store
	records []adapter.Record
}

func (s fixedStore) List(context.Context, *adapter.ListParams) (*adapter.ListResult, error) {
	return &adapter.ListResult{Records: s.records}, nil
}

// recordsOf returns a store of records with the given keys.
func recordsOf(schema *adapter.Schema, keys ...adapter.Value) fixedStore {
	var s fixedStore
	for _, key := range keys {
		r := adapter.NewRecord(schema)
		r.Set(schema.Key, key)
		s.records = append(s.records, r)
	}
	return s
}

// existingProduct returns a product for an update.
func (p *ProductWrites) existingProduct() *adapter.Record {
	r := adapter.NewRecord(p.Schema)
	r.Set("entity_id", adapter.IntegerValue(1))
	r.Set("type_id", adapter.TextValue("simple"))
	r.Set("name", adapter.TextValue("Standing"))
	r.Set("special_price", adapter.TextValue("9.0000"))
	item := p.stock.defaultItem()
	item.Set("item_id", adapter.IntegerValue(1))
	r.Set("stock_item", adapter.RecordsValue([]adapter.Record{item}))
	return &r
}

var decimalForm = regexp.MustCompile(`^-?[0-9]{1,8}\.[0-9]{4}$`)

// checkStorable checks that a store can hold the values of a record.
func checkStorable(t *testing.T, r adapter.Record) {
	t.Helper()
	for i, a := range r.Schema.Attributes {
		v := r.Values[i]
		switch {
		case v.Kind() == adapter.Absent, v.Kind() == adapter.Null, v.Kind() == adapter.Unset:
			continue
		case a.ReadOnly:
			t.Errorf("%s is set to %q", a.Name, v.Text())
		}
		good := false
		switch a.Kind {
		case adapter.KindText:
			good = v.Kind() == adapter.Text && utf8.ValidString(v.Text()) && !strings.Contains(v.Text(), "\x00") && v.Text() != "" && len(v.Text()) <= 65535
		case adapter.KindDecimal:
			good = v.Kind() == adapter.Text && decimalForm.MatchString(v.Text())
		case adapter.KindInteger:
			good = v.Kind() == adapter.Integer
		case adapter.KindTime:
			moment, err := time.Parse(time.DateTime, v.Text())
			good = v.Kind() == adapter.Text && err == nil && moment.Year() > 0
		case adapter.KindRecords:
			good = v.Kind() == adapter.Records
			for _, nested := range v.Records() {
				checkStorable(t, nested)
			}
		}
		if !good {
			t.Errorf("%s would hold %q", a.Name, v.Text())
		}
	}
}

// FuzzProductWrite checks that a body is refused with messages of the contract or results
// in values that a store can hold, and that the same write has the same result twice.
func FuzzProductWrite(f *testing.F) {
	for _, seed := range []string{
		`{"type_id":"simple","attribute_set_id":4,"sku":"x","name":"n","price":1,"weight":1,"status":1,"visibility":1,"tax_class_id":0,"description":"d","short_description":"s","stock_data":{"manage_stock":1,"qty":"5","notify_stock_qty":7}}`,
		`{"stock_data":{"qty":"1,5","backorders":9e99,"is_in_stock":-1,"min_qty":"x","is_qty_decimal":1e400},"news_to_date":"15/03/2012 10:11 AM"}`,
		`{"price":1e400,"weight":-0.0,"name":"😀\u0000","custom_layout_update":"<a b='&lt;'/>","special_price":true,"url_key":"中"}`,
		`{"group_price":{"a":[1,{"cust_group":{}}],"b":{"website_id":"0","cust_group":"1e0","price":"1e-5"}},"tier_price":[{"website_id":0,"cust_group":1,"price":1e300,"price_qty":"0.00001"}]}`,
		`{"country_of_manufacture":"DE","msrp_enabled":"01","special_from_date":null,"use_config_gift_message_available":0,"meta_title":false}`,
	} {
		f.Add([]byte(seed))
	}
	var all []*ProductWrites
	for _, d := range contract.Dialects() {
		all = append(all, newTestWrites(f, d))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range all {
			body, err := codec.Decode(contract.JSON, data)
			if err != nil || body.Kind != codec.Struct {
				return
			}
			for _, current := range []*adapter.Record{nil, p.existingProduct()} {
				w := p.newWrite(&body, current)
				if err := w.check(t.Context()); err != nil {
					if faults, ok := err.(contract.Faults); ok && len(faults) < 2 {
						t.Errorf("refused with %v but without a summary", faults)
					}
					continue
				}
				if current == nil {
					checkStorable(t, w.newRecord())
					continue
				}
				for _, level := range []int64{defaultScope, 2} {
					first, second := w.changes(*current, level), w.changes(*current, level)
					checkStorable(t, first)
					for i := range first.Values {
						if first.Values[i].Kind() != second.Values[i].Kind() || first.Values[i].Text() != second.Values[i].Text() {
							t.Errorf("%s changes to %q the first time and to %q the second", first.Schema.Attributes[i].Name, first.Values[i].Text(), second.Values[i].Text())
						}
					}
				}
			}
		}
	})
}
