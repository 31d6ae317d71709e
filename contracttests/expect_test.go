package contracttests

import (
	"net/http"
	"testing"
)

// TestCheckReplies checks status, headers and bodies that are not records.
func TestCheckReplies(t *testing.T) {
	const json = "application/json; charset=utf-8"
	unavailable := "Service temporary unavailable"
	entries := []errorEntry{{400, "One."}, {404, "Two."}}
	const envelopeJSON = `{"messages":{"error":[{"code":400,"message":"One."},{"code":404,"message":"Two."}]}}`
	parsed := yamlTree{node{kind: record, members: []member{{"a", node{kind: number, text: "1"}}, {"b", node{kind: list, members: []member{{"", node{kind: text, text: "x"}}}}}}}}
	for _, test := range []struct {
		name  string
		e     Expectation
		got   reply
		where string
	}{
		{"no body", Expectation{}, reply{status: 200}, ""},
		{"a body where none belongs", Expectation{}, reply{status: 200, body: "[]"}, "body"},
		{"another status", Expectation{}, reply{status: 201}, "status"},
		{"a Location that was not asked for", Expectation{}, reply{status: 200, header: http.Header{"Location": {"/x"}}}, "Location"},
		{"an Allow", Expectation{}, reply{status: 200, header: http.Header{"Allow": {"GET"}}}, "Allow"},
		{"a WWW-Authenticate", Expectation{}, reply{status: 200, header: http.Header{"Www-Authenticate": {"OAuth"}}}, "WWW-Authenticate"},
		{"a Location", Expectation{Location: "/api/rest/customers/{{=id}}"}, reply{status: 200, header: http.Header{"Location": {"/api/rest/customers/17"}}}, ""},
		{"an absolute Location", Expectation{Location: "/api/rest/customers/{{=id}}"}, reply{status: 200, header: http.Header{"Location": {"http://a/api/rest/customers/17"}}}, "Location"},
		{"a Location without an id", Expectation{Location: "/api/rest/customers/{{=id}}"}, reply{status: 200, header: http.Header{"Location": {"/api/rest/customers/"}}}, "Location"},
		{"no Location", Expectation{Location: "/api/rest/customers/{{=id}}"}, reply{status: 200}, "Location"},
		{"an envelope", Expectation{Errors: entries}, reply{404, http.Header{"Content-Type": {json}}, envelopeJSON}, ""},
		{"its status is that of the last", Expectation{Errors: entries}, reply{400, http.Header{"Content-Type": {json}}, envelopeJSON}, "status"},
		{"another media type", Expectation{Errors: entries}, reply{404, http.Header{"Content-Type": {"application/json"}}, envelopeJSON}, "Content-Type"},
		{"an entry less", Expectation{Errors: entries[1:]}, reply{404, http.Header{"Content-Type": {json}}, envelopeJSON}, "$.messages.error"},
		{"another message", Expectation{Errors: []errorEntry{{400, "One."}, {404, "Two"}}}, reply{404, http.Header{"Content-Type": {json}}, envelopeJSON}, "$.messages.error[1].message"},
		{"a text", Expectation{Status: 500, Text: &unavailable}, reply{500, http.Header{"Content-Type": {json}}, unavailable}, ""},
		{"a text of another media type", Expectation{Status: 500, Text: &unavailable}, reply{500, http.Header{"Content-Type": {"text/html"}}, unavailable}, "Content-Type"},
		{"another text", Expectation{Status: 500, Text: &unavailable}, reply{500, http.Header{"Content-Type": {json}}, unavailable + "."}, "body"},
		{"a crash", Expectation{Crash: true}, reply{status: 500}, ""},
		{"a crash behind a web server", Expectation{Crash: true}, reply{503, http.Header{"Content-Type": {"text/html"}}, "<h1>There has been an error"}, ""},
		{"a crash with an envelope", Expectation{Crash: true}, reply{500, http.Header{"Content-Type": {json}}, envelopeJSON}, ""},
		{"a refusal in place of a crash", Expectation{Crash: true}, reply{400, http.Header{"Content-Type": {json}}, envelopeJSON}, "status"},
		{"an answer in place of a crash", Expectation{Crash: true}, reply{200, http.Header{"Content-Type": {json}}, "[]"}, "status"},
		{"a crash that names a record", Expectation{Crash: true}, reply{status: 500, header: http.Header{"Location": {"/x"}}}, "Location"},
		{"a tree", Expectation{Tree: &parsed}, reply{200, http.Header{"Content-Type": {json}}, `{"a":1,"b":["x"]}`}, ""},
		{"a tree with a text for a number", Expectation{Tree: &parsed}, reply{200, http.Header{"Content-Type": {json}}, `{"a":"1","b":["x"]}`}, "$.a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := checker{view: view{Documented, "json"}}
			ds, _ := c.check(&test.e, nil, &test.got)
			checkFirstDifference(t, test.where, ds)
		})
	}
}

// TestCheckUnchanged checks that a record may differ from a saved record only in the
// stated fields.
func TestCheckUnchanged(t *testing.T) {
	const before = `{"entity_id":"1","price":"1.0000","name":"x"}`
	for _, test := range []struct {
		name, body string
		except     []string
		where      string
	}{
		{"as before", before, nil, ""},
		{"another value", `{"entity_id":"1","price":"2.0000","name":"x"}`, nil, "$.price"},
		{"another value that may differ", `{"entity_id":"1","price":"2.0000","name":"x"}`, []string{"price"}, ""},
		{"a null for a text", `{"entity_id":"1","price":"1.0000","name":null}`, nil, "$.name"},
		{"a field more", `{"entity_id":"1","price":"1.0000","name":"x","flag":"0"}`, nil, "$.flag"},
	} {
		t.Run(test.name, func(t *testing.T) {
			saved, err := parseJSON(before)
			if err != nil {
				t.Fatal(err)
			}
			c := checker{shapes: testShapes(t), view: view{Documented, "json"}}
			got := &reply{status: 200, header: http.Header{"Content-Type": {mediaType("json")}}, body: test.body}
			ds, _ := c.check(&Expectation{Record: "thing", Like: "saved", Except: test.except}, &saved, got)
			checkFirstDifference(t, test.where, ds)
		})
	}
}

// TestConvertToFormat checks the conversion of one tree to all formats.
func TestConvertToFormat(t *testing.T) {
	sent, err := parseJSON(`{"@id":5,"on":true,"off":false,"none":null,"blank":"","lines":["a",{"b":1}],"empty":[]}`)
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"json": `{"id":5,"on":true,"off":false,"none":null,"blank":"","lines":["a",{"b":1}],"empty":[]}`,
		"xml":  "<?xml version=\"1.0\"?>\n<service_api id=\"5\">\n  <on>1</on>\n  <off/>\n  <none/>\n  <blank/>\n  <lines>\n    <data_item>a</data_item>\n    <data_item>\n      <b>1</b>\n    </data_item>\n  </lines>\n  <empty/>\n</service_api>\n",
		"text": `id=5&on=1&off=0&blank=&lines%5B0%5D=a&lines%5B1%5D%5Bb%5D=1`,
	} {
		p := caseRun{run: &run{target: Target{Dialect: Documented}}}
		if got := p.render(&sent, format); got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
	}
}
