package contracttests

import (
	"strings"
	"testing"
)

// testShapes returns shapes with fields of every type.
func testShapes(t testing.TB) map[string]*shape {
	t.Helper()
	shapes := map[string]*shape{}
	err := parseShapes("f", []byte(`
thing:
  keyed: true
  elements: numbered
  documented:
    json: [entity_id id, price decimal, name text~, flag flag*]
    xml: [entity_id id, price decimal, name text~, flag flag*, login datetime~]
  magento: [entity_id id]
part:
  documented: [n whole, at iso, on bit, ok bool, url url, cost money, note blank, below int, lines texts, subs list sub~, one record sub]
sub:
  documented: [a any, b text~*]
switch:
  documented: [on bool]
`), shapes)
	if err != nil {
		t.Fatal(err)
	}
	return shapes
}

// TestParseShapes checks that invalid files of shapes are refused.
func TestParseShapes(t *testing.T) {
	for name, broken := range map[string]string{
		"a field without a type":        "x: {documented: [entity_id]}",
		"an unknown type":               "x: {documented: [entity_id number]}",
		"a list of nothing":             "x: {documented: [entries list]}",
		"a text of something":           "x: {documented: [entries text x]}",
		"unknown elements":              "x: {elements: bold, documented: [a id]}",
		"an unknown key":                "x: {fields: [a id]}",
		"a duplicate shape":             "thing: {documented: [a id]}",
		"fields that are not a list":    "x: {documented: yes}",
		"a format whose fields are one": "x: {documented: {json: 5}}",
	} {
		t.Run(name, func(t *testing.T) {
			if err := parseShapes("f", []byte(broken), testShapes(t)); err == nil {
				t.Error("accepted")
			}
		})
	}
}

const (
	goodPart = `{"n":5,"at":"2012-01-02T03:04:05+00:00","on":1,"ok":true,"url":"http:\/\/a\/b","cost":9.5,"note":"","below":"-1","lines":["a","b"],"subs":[{"a":null}],"one":{"a":[],"b":"x"}}`
	goodXML  = `<?xml version="1.0"?>
<service_api>
  <n>5</n>
  <at>2012-01-02T03:04:05+00:00</at>
  <on>1</on>
  <ok/>
  <url>http://a/b</url>
  <cost>9.5</cost>
  <note/>
  <below>-1</below>
  <lines>
    <data_item>a</data_item>
  </lines>
  <subs/>
  <one>
    <a/>
    <b>x</b>
  </one>
</service_api>
`
)

// TestCheckRecord checks that a record of a shape passes, and that each deviation is
// found.
func TestCheckRecord(t *testing.T) {
	for _, test := range []struct {
		name, shape, format string
		body                string
		where               string // of the first difference; "" for none
	}{
		{"as the shape has it", "part", "json", goodPart, ""},
		{"as the shape has it, in XML", "part", "xml", goodXML, ""},
		{"fields in another order", "thing", "json", `{"price":"1.0000","entity_id":"1","name":null}`, ""},
		{"an optional field there", "thing", "json", `{"entity_id":"1","price":"1.0000","name":"x","flag":"0"}`, ""},
		{"a number for a text", "thing", "json", `{"entity_id":1,"price":"1.0000","name":"x"}`, "$.entity_id"},
		{"two decimal places", "thing", "json", `{"entity_id":"1","price":"1.00","name":"x"}`, "$.price"},
		{"an empty text for null", "thing", "json", `{"entity_id":"1","price":"1.0000","name":""}`, "$.name"},
		{"a null for a text", "thing", "json", `{"entity_id":null,"price":"1.0000","name":"x"}`, "$.entity_id"},
		{"a field missing", "thing", "json", `{"entity_id":"1","name":"x"}`, "$"},
		{"a field too many", "thing", "json", `{"entity_id":"1","price":"1.0000","name":"x","more":"1"}`, "$"},
		{"a field twice", "thing", "json", `{"entity_id":"1","entity_id":"1","price":"1.0000","name":"x"}`, "$"},
		{"a flag of another kind", "thing", "json", `{"entity_id":"1","price":"1.0000","name":"x","flag":"2"}`, "$.flag"},
		{"a list for a record", "thing", "json", `[]`, "$"},
		{"a text for a whole number", "part", "json", strings.Replace(goodPart, `"n":5`, `"n":"5"`, 1), "$.n"},
		{"a datetime without its offset", "part", "json", strings.Replace(goodPart, "+00:00", "Z", 1), "$.at"},
		{"a plain datetime", "part", "json", strings.Replace(goodPart, "T03:04:05+00:00", " 03:04:05", 1), "$.at"},
		{"a number for true", "part", "json", strings.Replace(goodPart, `"ok":true`, `"ok":1`, 1), "$.ok"},
		{"three decimal places of money", "part", "json", strings.Replace(goodPart, `9.5`, `9.555`, 1), "$.cost"},
		{"a path for a URL", "part", "json", strings.Replace(goodPart, `http:\/\/a`, ``, 1), "$.url"},
		{"a text for a list", "part", "json", strings.Replace(goodPart, `["a","b"]`, `"a"`, 1), "$.lines"},
		{"a number among texts", "part", "json", strings.Replace(goodPart, `["a","b"]`, `["a",1]`, 1), "$.lines"},
		{"a field too many below", "part", "json", strings.Replace(goodPart, `{"a":null}`, `{"a":null,"c":1}`, 1), "$.subs[0]"},
		{"a null for a list of records", "part", "json", strings.Replace(goodPart, `[{"a":null}]`, `null`, 1), ""},
		{"a field missing below", "part", "json", strings.Replace(goodPart, `{"a":[],"b":"x"}`, `{"b":"x"}`, 1), "$.one"},
		{"false written out in XML", "part", "xml", strings.Replace(goodXML, "<ok/>", "<ok>false</ok>", 1), "$.ok"},
		{"an empty element for a number", "part", "xml", strings.Replace(goodXML, "<n>5</n>", "<n/>", 1), "$.n"},
		{"the other root", "part", "xml", strings.ReplaceAll(goodXML, "service_api", "magento_api"), "root element"},
		{"no declaration", "part", "xml", strings.TrimPrefix(goodXML, "<?xml version=\"1.0\"?>\n"), "rendering of the body"},
		{"a slash not escaped", "part", "json", strings.Replace(goodPart, `\/`, `/`, 1), "rendering of the body"},
		{"no JSON", "part", "json", `<html>`, "body"},
		{"nulls vanish from a form", "thing", "text", `entity_id=1&price=1.0000`, ""},
		{"true in a form", "switch", "text", `on=1`, ""},
		{"false in a form", "switch", "text", `on=0`, ""},
		{"an empty text for false in a form", "switch", "text", `on=`, "$.on"},
		{"others do not", "thing", "text", `entity_id=1`, "$"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := checkBody(t, test.format, &Expectation{Record: test.shape}, test.body)
			checkFirstDifference(t, test.where, got)
		})
	}
}

// checkBody returns the differences of a reply that has this body and correct headers.
func checkBody(t *testing.T, format string, e *Expectation, body string) []Difference {
	t.Helper()
	c := checker{shapes: testShapes(t), view: view{Documented, format}}
	got := &reply{status: 200, header: map[string][]string{"Content-Type": {mediaType(format)}}, body: body}
	ds, _ := c.check(e, nil, got)
	return ds
}

// checkFirstDifference checks that the first difference is at where, or that there is
// none if where is "".
func checkFirstDifference(t *testing.T, place string, got []Difference) {
	t.Helper()
	switch {
	case place == "" && len(got) > 0:
		t.Errorf("found %+v", got)
	case place != "" && (len(got) == 0 || got[0].Where != place):
		t.Errorf("found %+v, want a difference at %s", got, place)
	}
}

// TestCheckList checks the form of lists and the expectations of their entries.
func TestCheckList(t *testing.T) {
	one, two := 1, 2
	entry := func(id string) string {
		return `"` + id + `":{"entity_id":"` + id + `","price":"1.0000","name":"n` + id + `"}`
	}
	keyed := "{" + entry("3") + "," + entry("5") + "," + entry("4") + "}"
	values := func(names ...string) []yamlTree {
		var all []yamlTree
		for _, name := range names {
			all = append(all, yamlTree{node{kind: record, members: []member{{"name", node{kind: text, text: name}}}}})
		}
		return all
	}
	entries := func(names ...string) *yamlTree {
		list := node{kind: list}
		for _, value := range values(names...) {
			list.members = append(list.members, member{"", value.node})
		}
		return &yamlTree{list}
	}
	all, wrong := entries("n3", "n5", "n4"), entries("n3", "n4", "n5")
	xml := "<?xml version=\"1.0\"?>\n<service_api>\n  <data_item_1>\n    <entity_id>1</entity_id>\n    <price>1.0000</price>\n    <name/>\n    <login/>\n  </data_item_1>\n</service_api>\n"
	for _, test := range []struct {
		name, format string
		e            Expectation
		body         string
		where        string
	}{
		{"keyed by id", "json", Expectation{}, keyed, ""},
		{"empty", "json", Expectation{}, "[]", ""},
		{"an empty object", "json", Expectation{}, "{}", "$"},
		{"an array", "json", Expectation{}, `[{"entity_id":"3","price":"1.0000","name":null}]`, "$"},
		{"another key", "json", Expectation{}, strings.Replace(keyed, `"5":`, `"6":`, 1), "$[1]"},
		{"a record out of shape", "json", Expectation{}, strings.Replace(keyed, `"name":"n4"`, `"name":5`, 1), "$[2].name"},
		{"these", "json", Expectation{Entries: all}, keyed, ""},
		{"these in another order", "json", Expectation{Entries: wrong}, keyed, "$[1].name"},
		{"one more than these", "json", Expectation{Entries: wrong}, "{" + entry("3") + "}", "$"},
		{"among others", "json", Expectation{Has: values("n3", "n4")}, keyed, ""},
		{"among others in another order", "json", Expectation{Has: values("n4", "n3")}, keyed, "$"},
		{"not among them", "json", Expectation{Has: values("n6")}, keyed, "$"},
		{"none of these", "json", Expectation{Lacks: values("n6")}, keyed, ""},
		{"one that is there", "json", Expectation{Lacks: values("n5")}, keyed, "$[1]"},
		{"as many", "json", Expectation{Count: &one}, "{" + entry("3") + "}", ""},
		{"not as many", "json", Expectation{Count: &two}, keyed, "$"},
		{"too many", "json", Expectation{AtMost: &two}, keyed, "$"},
		{"not ascending", "json", Expectation{Ordered: "entity_id"}, keyed, "$[2].entity_id"},
		{"not descending", "json", Expectation{Ordered: "-entity_id"}, keyed, "$[1].entity_id"},
		{"ascending", "json", Expectation{Ordered: "entity_id"}, "{" + entry("3") + "," + entry("5") + "}", ""},
		{"selected fields", "json", Expectation{Only: []string{"name"}}, `{"1":{"name":"x"}}`, ""},
		{"more than was selected", "json", Expectation{Only: []string{"name"}}, keyed, "$[0]"},
		{"numbered elements", "xml", Expectation{}, xml, ""},
		{"plain elements", "xml", Expectation{}, strings.ReplaceAll(xml, "data_item_1", "data_item"), "$[0]"},
		{"empty in XML", "xml", Expectation{}, "<?xml version=\"1.0\"?>\n<service_api/>\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.e.List = "thing"
			checkFirstDifference(t, test.where, checkBody(t, test.format, &test.e, test.body))
		})
	}
}
