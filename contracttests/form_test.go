package contracttests

import (
	"net/http"
	"strings"
	"testing"
)

// TestFormOf checks which demands on the form of replies apply, and which are not met, marked with
// an exclamation mark.
func TestFormOf(t *testing.T) {
	const json, xml, envelope = "application/json; charset=utf-8", "application/xml; charset=utf-8", `{"messages":{"error":[{"code":404,"message":"a"}]}}`
	for _, tt := range []struct {
		name, request, accept string
		status                int
		media, body, want     string
	}{
		{"record", "GET /api/rest/products/1", "application/json", 200, json, `{"a":"b"}`, "format JSON charset of JSON body rendering of JSON"},
		{"no charset", "GET /api/rest/products/1", "", 200, "application/json", `{"a":"b"}`, "charset of JSON! body rendering of JSON"},
		{"blanks", "GET /api/rest/products/1", "application/json;q=1", 200, json, `{"a": "b"}`, "charset of JSON body rendering of JSON!"},
		{"another format", "GET /api/rest/products/1", "text/xml", 200, json, `{}`, "format XML! charset of JSON body rendering of JSON"},
		{"not what it is called", "GET /api/rest/products/1", "", 200, json, `<a/>`, "charset of JSON body!"},
		{"root", "GET /api/rest/products/1", "text/xml", 200, xml, "<?xml version=\"1.0\"?>\n<store>\n  <a>b</a>\n</store>\n", "format XML charset of XML body rendering of XML root element!"},
		{"page", "GET /api/rest/products/1", "text/xml", 404, "text/html", `<html>`, "format XML!"},
		{"envelope", "GET /shop/api/rest/products/1?a=/x", "", 404, json, envelope, "charset of JSON body rendering of JSON error envelope"},
		{"another envelope", "GET /api/rest/products/1", "", 404, json, `{"error":"a"}`, "charset of JSON body rendering of JSON error envelope!"},
		{"change", "PUT /api/rest/products/1", "", 200, json, "", "status of an accepted PUT body of an accepted PUT"},
		{"deletion", "DELETE /api/rest/products/1", "", 204, "", "", "status of an accepted DELETE! body of an accepted DELETE"},
		{"create", "POST /api/rest/products", "", 201, json, `{"a":"b"}`, "status of an accepted POST! body of an accepted POST! charset of JSON body rendering of JSON"},
		{"assignment", "POST /api/rest/products/1/websites", "", 200, json, `{"a":"b"}`, "status of an accepted POST charset of JSON body rendering of JSON"},
		{"batch", "PUT /api/rest/stockitems", "", 207, json, `{"a":"b"}`, "charset of JSON body rendering of JSON"},
		{"server fails", "GET /api/rest/products/1", "", 500, json, `{"a": "b"}`, ""},
		{"elsewhere", "GET /oauth/token", "", 200, json, `{"a": "b"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			method, target, _ := strings.Cut(tt.request, " ")
			r := &request{method: method, target: target, headers: []header{{"accept", tt.accept}}}
			var got []string
			for _, d := range formOf(r, &reply{tt.status, http.Header{"Content-Type": {tt.media}}, tt.body}, Documented) {
				if d.Want != "" {
					d.Where += "!"
				}
				got = append(got, d.Where)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestClip checks that the part of a body that is shown contains the byte that differs.
func TestClip(t *testing.T) {
	body := strings.Repeat("ä", 200) + "X" + strings.Repeat("b", 200)
	for at, want := range map[int]string{0: strings.Repeat("ä", 24) + "…", 400: "…" + strings.Repeat("ä", 12) + "X" + strings.Repeat("b", 23) + "…"} {
		if got := clip(body, at); got != want {
			t.Errorf("%d: got %q, want %q", at, got, want)
		}
	}
}
