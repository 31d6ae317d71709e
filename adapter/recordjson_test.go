package adapter_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/portico-commerce/portico/adapter"
)

// TestAggregate checks that an aggregate of every kind of value survives a round trip, and
// that attributes that the schemas lack are left out.
func TestAggregate(t *testing.T) {
	schemas := adapter.NewSchemas()
	record := func(r adapter.Resource, values map[string]adapter.Value) adapter.Record {
		made := adapter.NewRecord(schemas.Of(r))
		for name, v := range values {
			made.Set(name, v)
		}
		return made
	}
	price := adapter.NewRecord(schemas.Of(adapter.Products).Attributes[indexOf(t, schemas.Of(adapter.Products), "tier_price")].Nested)
	price.Set("price", adapter.TextValue("1.0000"))
	want := adapter.Aggregate{
		Record: record(adapter.Products, map[string]adapter.Value{
			"entity_id": adapter.IntegerValue(1<<62 + 1), "name": adapter.TextValue("\xff"), "meta_title": adapter.NullValue(), "sku": adapter.TextValue(""),
			"tier_price": adapter.RecordsValue([]adapter.Record{price}),
		}),
		PartsOf: []adapter.Resource{adapter.ProductImages},
		Parts:   []adapter.Record{record(adapter.ProductImages, map[string]adapter.Value{"types": adapter.TextsValue([]string{"image", ""})})},
		Levels:  []adapter.Level{{StoreID: 2, Record: record(adapter.Products, map[string]adapter.Value{"name": adapter.TextValue("ñ")})}},
	}
	encoded, err := json.Marshal(adapter.EncodeJSONAggregate(want))
	if err != nil {
		t.Fatal(err)
	}
	var stored adapter.JSONAggregate
	if err := adapter.UnmarshalJSON(encoded, &stored); err != nil {
		t.Fatal(err)
	}
	got, err := stored.Decode(schemas, adapter.Products)
	if difference := cmp.Diff(text(t, want), text(t, got)); difference != "" || err != nil {
		t.Errorf("%s\n%v, want -, got +:\n%s", encoded, err, difference)
	}
	const unknown = `{"record":{"no_such":1},"parts_of":["no_such"],"parts":[{"resource":"no_such"}],"levels":[{"resource":"no_such"}]}`
	stored = adapter.JSONAggregate{}
	if err := adapter.UnmarshalJSON([]byte(unknown), &stored); err != nil {
		t.Fatal(err)
	}
	if got, err := stored.Decode(schemas, adapter.Products); err != nil || text(t, got) != `{"record":{}}` {
		t.Errorf("what is unknown becomes %s, %v", text(t, got), err)
	}
	for _, faulty := range []string{`{"record":{"name":true}}`, `{"parts":[{"resource":"products","record":{"name":true}}]}`, `{"levels":[{"resource":"products","record":{"name":true}}]}`} {
		stored = adapter.JSONAggregate{}
		if err := adapter.UnmarshalJSON([]byte(faulty), &stored); err != nil {
			t.Fatal(err)
		}
		if got, err := stored.Decode(schemas, adapter.Products); err == nil {
			t.Errorf("%s becomes %s", faulty, text(t, got))
		}
	}
}

func indexOf(t *testing.T, s *adapter.Schema, name string) int {
	t.Helper()
	at, ok := s.Index(name)
	if !ok {
		t.Fatalf("no attribute %s", name)
	}
	return at
}

// text returns an aggregate as JSON, in which equal ones are equal.
func text(t *testing.T, one adapter.Aggregate) string {
	t.Helper()
	encoded, err := json.Marshal(adapter.EncodeJSONAggregate(one))
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
