package mirror_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/legacy/mirror"
)

// FuzzUpdate translates records with any stored values, whether or not a client could have
// written them: nothing panics, and each body is a JSON object.
func FuzzUpdate(f *testing.F) {
	for i := range adapter.Resources() {
		f.Add(uint8(i), int64(i%3), int64(1), "text", []byte("\x00\x01\x02\x03\x04\x05\x06"))
	}
	f.Add(uint8(10), int64(2), int64(-1), "\xff\x00\"\u2028", []byte("\x03\x03\x06\x01"))
	schemas, _ := tables(f)
	requests := newRequests(f)
	f.Fuzz(func(t *testing.T, resource uint8, storeID, number int64, text string, kinds []byte) {
		r := adapter.Resources()[int(resource)%len(adapter.Resources())]
		v := &anyValues{number: number, text: text, kinds: kinds}
		one := adapter.Aggregate{Record: v.record(schemas.Of(r), 1)}
		for _, part := range adapter.Resources() {
			for _, root := range []adapter.Resource{r, schemas.Of(r).Root} {
				if root != "" && (schemas.Of(part).Root == root || part == root) {
					one.Parts = append(one.Parts, v.record(schemas.Of(part), 1))
					one.Levels = append(one.Levels, adapter.Level{StoreID: storeID, Record: v.record(schemas.Of(part), 1)}, adapter.Level{Record: v.record(schemas.Of(part), 1)})
				}
			}
		}
		for _, of := range append(one.Parts, one.Record) {
			var attributes []string
			for _, a := range of.Schema.Attributes {
				if a.Name != "stock_item" {
					attributes = append(attributes, a.Name)
				}
			}
			request, ok, err := requests.Update(one, of.Schema.Resource, of.Key(), storeID, attributes)
			if ok && err == nil {
				checkRequest(t, request)
			}
			if request, err := requests.Create(of, storeID); err == nil {
				checkRequest(t, request)
			}
			if request, err := requests.Delete(of, storeID); err == nil {
				checkRequest(t, request)
			}
		}
	})
}

func checkRequest(t *testing.T, r mirror.Request) {
	t.Helper()
	if !strings.HasPrefix(r.Path, "/") || strings.Contains(r.Path, ":") || r.Method != "PUT" && r.Method != "POST" && r.Method != "DELETE" {
		t.Errorf("%s %s", r.Method, r.Path)
	}
	var members map[string]any
	if err := json.Unmarshal(r.Body, &members); r.Method != "DELETE" && string(r.Body) != "[]" && err != nil {
		t.Errorf("%s %s %q: %v", r.Method, r.Path, r.Body, err)
	}
}

// anyValues makes up values of any kind.
type anyValues struct {
	number int64
	text   string
	kinds  []byte
	used   int
	depth  int
}

// record returns a record with a key and any other values.
func (v *anyValues) record(schema *adapter.Schema, key int64) adapter.Record {
	r := adapter.NewRecord(schema)
	for i := range schema.Attributes {
		r.Values[i] = v.value(schema.Attributes[i].Nested)
	}
	r.Set(schema.Key, adapter.IntegerValue(key))
	return r
}

func (v *anyValues) value(nested *adapter.Schema) adapter.Value {
	if len(v.kinds) == 0 {
		return adapter.Value{}
	}
	v.used++
	switch v.kinds[v.used%len(v.kinds)] % 7 {
	case 1:
		return adapter.NullValue()
	case 2:
		return adapter.UnsetValue()
	case 3:
		return adapter.TextValue(v.text)
	case 4:
		return adapter.IntegerValue(v.number)
	case 5:
		return adapter.TextsValue([]string{v.text, "", v.text})
	case 6:
		if nested == nil || v.depth > 1 {
			return adapter.RecordsValue(nil)
		}
		v.depth++
		defer func() { v.depth-- }()
		return adapter.RecordsValue([]adapter.Record{v.record(nested, v.number)})
	default:
		return adapter.Value{}
	}
}
