package input

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// addedParser returns a parser for a resource with a field x that the store added, whose attribute is of
// a kind that settings name and has the options 1, 12, 47, 48 and 49.
func addedParser(t testing.TB, d *contract.Dialect, r adapter.Resource, kind string) *Parser {
	t.Helper()
	attribute := adapter.AddedKinds()[kind]
	attribute.Resource, attribute.Name = r, "x"
	schemas, err := adapter.NewSchemas().With(attribute)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := contract.NewFields(contract.FieldOptions{Added: []contract.AddedField{{Resource: string(r), Name: "x"}}})
	if err != nil {
		t.Fatal(err)
	}
	table := map[adapter.Resource]*contract.FieldTable{
		adapter.Products: fields.AdminProducts, adapter.Customers: fields.Customers, adapter.CustomerAddresses: fields.CustomerAddresses,
	}[r]
	return NewParser(d, table, schemas.Of(r), func(context.Context, *contract.Rule, *codec.Node) ([]string, error) {
		return []string{"1", "12", "47", "48", "49"}, nil
	}, contract.Locale{})
}

// outcomeOf returns what an update stores for x in a body: "stored" with the text, "null", "removed" or
// "unchanged"; or the first message of its refusal, "crash" if it has none.
func outcomeOf(t testing.TB, p *Parser, body *codec.Node) string {
	t.Helper()
	b := Body{Parser: p, Node: body}
	if err := b.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	switch err := b.Err().(type) {
	case nil:
	case contract.Faults:
		return err[0].Error()
	default:
		return cmp.Or(err.Error(), "crash")
	}
	switch v := b.Change().Get("x"); v.Kind() {
	case adapter.Absent:
		return "unchanged"
	case adapter.Null:
		return "null"
	case adapter.Unset:
		return "removed"
	default:
		return "stored " + v.Text()
	}
}

// TestAddedFields checks how values of fields that the store added are taken or refused, by resource,
// kind and dialect (own_attributes 10 to 14), and that a stored value is accepted as it is shown.
func TestAddedFields(t *testing.T) {
	unknown := func(value string) string { return `Invalid value "` + value + `" for attribute "x".` }
	unlisted := func(value string) string { return `Invalid value "` + value + `" for x` }
	products, people := []adapter.Resource{adapter.Products}, []adapter.Resource{adapter.Customers, adapter.CustomerAddresses}
	const otherKind, otherType, invalid, noDate = `Invalid value for "x" in request.`, "Invalid value type for x", "The request data is invalid.", `Invalid date in the "x" field.`
	for _, c := range []struct {
		resources           []adapter.Resource
		kind, json          string
		magento, documented string // documented is "" where both are the same
	}{
		{products, "select", `"12"`, "stored 12", ""}, {products, "select", `"012"`, "stored 12", ""}, {products, "select", `12.0`, "stored 12", ""},
		{products, "select", `""`, "null", ""}, {products, "select", `null`, "null", ""},
		{products, "select", `"99999"`, unknown("99999"), ""}, {products, "select", `0`, unknown("0"), ""}, {products, "select", `"One"`, unknown("One"), ""},
		{products, "select", `true`, unknown("1"), ""}, {products, "select", `false`, unknown(""), ""},
		{products, "select", `["12"]`, "unchanged", otherKind}, {products, "select", `[]`, "unchanged", otherKind},
		{products, "select", `["12","9"]`, unknown("9"), ""}, {products, "select", `["12",["12"]]`, unknown("Array"), ""},

		{products, "multiselect", `["47","49"]`, "stored 47,49", ""}, {products, "multiselect", `[48,"47"]`, "stored 48,47", ""},
		{products, "multiselect", `["47","","47"]`, "stored 47,47", ""}, {products, "multiselect", `{"a":"047"}`, "stored 47", ""},
		{products, "multiselect", `[]`, "null", ""}, {products, "multiselect", `[""]`, "null", ""}, {products, "multiselect", `""`, "null", ""}, {products, "multiselect", `null`, "null", ""},
		{products, "multiselect", `"48"`, "stored 48", ""}, {products, "multiselect", `"47,49"`, unknown("47,49"), "stored 47,49"},
		{products, "multiselect", `"48,9"`, unknown("48,9"), unknown("9")}, {products, "multiselect", `["47","9"]`, unknown("9"), ""},
		{products, "multiselect", `"One"`, unknown("One"), ""}, {products, "multiselect", `0`, unknown("0"), ""}, {products, "multiselect", `true`, unknown("1"), ""},
		{products, "multiselect", `false`, unknown(""), ""}, {products, "multiselect", `[["47"]]`, unknown("Array"), ""},
		{products, "multiselect", "[1" + strings.Repeat(",1", MaxOptionValues) + "]", invalid, ""},
		{products, "multiselect", `"1` + strings.Repeat(",1", MaxOptionValues) + `"`, unknown("1" + strings.Repeat(",1", MaxOptionValues)), invalid},

		{products, "boolean", `0`, "stored 0", ""}, {products, "boolean", `"1"`, "stored 1", ""}, {products, "boolean", `"01"`, "stored 1", ""},
		{products, "boolean", `true`, unknown("1"), "stored 1"}, {products, "boolean", `false`, unknown(""), ""}, {products, "boolean", `""`, unknown(""), "unchanged"},
		{products, "boolean", `2`, unknown("2"), ""}, {products, "boolean", `"yes"`, unknown("yes"), ""}, {products, "boolean", `null`, "null", ""},
		{products, "boolean", `[1]`, "unchanged", otherKind},

		{products, "price", `"x"`, "stored 0.0000", unknown("x")}, {products, "price", `"1,5"`, "stored 1.5000", unknown("1,5")}, {products, "price", `true`, "stored 1.0000", unknown("1")},
		{products, "price", `"-1"`, "stored -1.0000", ""}, {products, "price", `" 5 "`, "stored 5.0000", ""}, {products, "price", `1e3`, "stored 1000.0000", ""},
		{products, "price", `"1.234,5x"`, "stored 1234.5000", unknown("1.234,5x")}, {products, "price", `"1,234.5"`, "stored 1234.5000", unknown("1,234.5")},
		{products, "price", `"1 0'00"`, "stored 1000.0000", unknown("1 0'00")}, {products, "price", `"1e999"`, "stored 99999999.9999", ""},
		{products, "price", `""`, "null", ""}, {products, "price", `false`, "removed", ""}, {products, "price", `["5"]`, "unchanged", unknown("5")}, {products, "price", `[]`, "unchanged", otherKind},

		{products, "text", `"` + strings.Repeat("é", 300) + `"`, "stored " + strings.Repeat("é", 255), ""}, {products, "text", `true`, "stored 1", ""},
		{products, "text", `""`, "null", ""}, {products, "text", `false`, "removed", ""}, {products, "text", `["x"]`, "unchanged", otherKind},
		{products, "textarea", `"` + strings.Repeat("é", 40000) + `"`, "stored " + strings.Repeat("é", 32767), ""},
		{products, "image", `"/a.png"`, "stored /a.png", ""},
		{products, "integer", `"7.0"`, "stored 7", ""}, {products, "integer", `9007199254740993`, "stored 9007199254740993", ""}, {products, "integer", `9223372036854775807`, "stored 9223372036854775807", ""},
		{products, "integer", `7.5`, unknown("7.5"), ""}, {products, "integer", `1e30`, unknown("1.0E+30"), ""}, {products, "integer", `9223372036854775808`, unknown("9.2233720368548E+18"), ""},
		{products, "decimal", `"-1.55555"`, "stored -1.5555", ""}, {products, "decimal", `[]`, "unchanged", otherKind}, {products, "decimal", `true`, unknown("1"), ""},
		{products, "time", `"03/15/2012"`, "stored 2012-03-15 00:00:00", ""}, {products, "time", `"x"`, noDate, ""}, {products, "time", `"-1"`, "crash", noDate},
		{products, "time", `"0000-00-00"`, "stored 2000-01-12 06:00:00", noDate}, {products, "time", `"0000-00-00 10:11:12"`, "stored 2000-01-12 06:10:11", noDate},

		{people, "select", `"12"`, "stored 12", ""}, {people, "select", `true`, "stored 1", ""}, {people, "select", `"99999"`, unlisted("99999"), ""}, {people, "select", `"One"`, unlisted("One"), ""},
		{people, "select", `""`, unlisted(""), "unchanged"}, {people, "select", `null`, unlisted(""), "unchanged"}, {people, "select", `false`, unlisted(""), ""},
		{people, "select", `[]`, otherType, ""}, {people, "select", `["12"]`, otherType, ""},
		{people, "multiselect", `["47","49"]`, "stored 47,49", ""}, {people, "multiselect", `"47,49"`, unlisted("47,49"), "stored 47,49"}, {people, "multiselect", `[]`, "null", ""},
		{people, "multiselect", `["9"]`, unlisted("9"), ""}, {people, "multiselect", `[["47"]]`, otherType, ""}, {people, "multiselect", `""`, unlisted(""), "unchanged"}, {people, "multiselect", `[""]`, unlisted(""), ""},
		{people, "boolean", `"01"`, "stored 1", ""}, {people, "boolean", `true`, "stored 1", ""}, {people, "boolean", `2`, unlisted("2"), ""}, {people, "boolean", `""`, unlisted(""), "unchanged"},
		{people, "text", `"` + strings.Repeat("é", 300) + `"`, "stored " + strings.Repeat("é", 255), ""}, {people, "text", `[]`, "unchanged", invalid}, {people, "text", `["x"]`, "crash", invalid},
		{people, "textarea", `"` + strings.Repeat("é", 300) + `"`, "stored " + strings.Repeat("é", 300), ""},
		{people, "integer", `"x"`, unknown("x"), ""},
		{people, "time", `"2014-01-02"`, "stored 2014-01-02 00:00:00", ""}, {people, "time", `"01/02/2014"`, "stored 2014-01-02 00:00:00", ""}, {people, "time", `""`, "removed", ""},
		{people, "time", `"x"`, "Resource internal error.", noDate}, {people, "time", `["x"]`, "crash", invalid},
		{people[:1], "time", `"x","firstname":""`, `"First Name" is a required value.`, ""},
	} {
		for _, r := range c.resources {
			for _, d := range contract.Dialects() {
				want := c.magento
				if d.Name == contract.Documented().Name {
					want = cmp.Or(c.documented, c.magento)
				}
				if d.ListsStoreNothing && c.kind == "text" && want == "crash" { // openmage 8
					want = "unchanged"
				}
				p := addedParser(t, d, r, c.kind)
				got := outcomeOf(t, p, node(t, `{"x":`+c.json+`}`))
				if got != want {
					t.Errorf("%s of %s, %s: %.40s: %.100s, want %.100s", c.kind, r, d.Name, c.json, got, want)
				}
				// The original refuses the text of several options.
				if text, ok := strings.CutPrefix(got, "stored "); ok && (d.RejectsNonScalars || !strings.Contains(text, ",")) {
					body := codec.RecordNode(codec.Member{Key: "x", Value: codec.TextNode(text)})
					if again := outcomeOf(t, p, &body); again != got {
						t.Errorf("%s of %s, %s: %.100s is stored, and then %.100s", c.kind, r, d.Name, text, again)
					}
				}
			}
		}
	}
}

// FuzzMultiselect sends any value for several options: only known ones are stored, and the documented
// dialect reads the stored text again.
func FuzzMultiselect(f *testing.F) {
	for _, seed := range []string{`["47","49"]`, `"47,49"`, `[[],{"a":[47]},null,""]`, `"48,,48"`, `[4.8e1,"0x2f"," 47"]`, `{"0":"9"}`, `true`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		body, err := codec.Decode(contract.JSON, []byte(`{"x":`+value+`}`))
		if err != nil {
			return
		}
		for _, r := range []adapter.Resource{adapter.Products, adapter.Customers} {
			for _, d := range contract.Dialects() {
				p := addedParser(t, d, r, "multiselect")
				text, ok := strings.CutPrefix(outcomeOf(t, p, &body), "stored ")
				if !ok {
					continue
				}
				for _, id := range strings.Split(text, ",") {
					if !slices.Contains([]string{"1", "12", "47", "48", "49"}, id) {
						t.Errorf("%s of %s: %q is stored", value, r, text)
					}
				}
				again := codec.RecordNode(codec.Member{Key: "x", Value: codec.TextNode(text)})
				if got := outcomeOf(t, p, &again); d.RejectsNonScalars && got != "stored "+text {
					t.Errorf("%s of %s: %q is stored, and then %s", value, r, text, got)
				}
			}
		}
	})
}
