package contracttests

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeShop returns a handler whose replies contain varying and constant values in every
// format. It counts its resets in resets.
func fakeShop(resets *int) http.Handler {
	created := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now().UTC()
		base := "http://" + r.Host
		switch {
		case strings.HasPrefix(r.URL.Path, "/reset"):
			created = 0
			*resets++
		case r.Method == http.MethodPost:
			created++
			w.Header().Set("Location", fmt.Sprintf("%s/api/rest/things/%d", base, created))
		case r.Header.Get("Accept") == "text/plain":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			io.WriteString(w, "at="+escapeForm(now.Format(time.DateTime))+"&url="+escapeForm(base+"/x"))
		case r.Header.Get("Accept") == "text/xml":
			w.Header().Set("Content-Type", xmlType)
			fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<service_api>\n  <at>%s</at>\n  <url>%s/x</url>\n</service_api>\n", now.Format("2006-01-02T15:04:05+00:00"), base)
		default:
			w.Header().Set("Content-Type", jsonType)
			fmt.Fprintf(w, `{"at":%q,"was":"2012-01-02 03:04:05","made":%d,"as":%t,"url":"%s\/x"}`,
				now.Format(time.DateTime), created, isAdmin(r), strings.ReplaceAll(base, "/", `\/`))
		}
	})
}

// TestRecordAndReplay checks that recordings replay on the recorded server, and that only
// varying values become placeholders.
func TestRecordAndReplay(t *testing.T) {
	resets := 0
	srv := httptest.NewServer(fakeShop(&resets))
	defer srv.Close()
	target := Target{BaseURL: srv.URL, Dialect: Documented, Credentials: testCredentials, Reset: func(context.Context) error {
		_, err := http.Post(srv.URL+"/reset", "", nil)
		return err
	}}
	const requests = `[
{"name":"life","clause":"a","differs":"in other ways","steps":[
 {"as":"admin","method":"POST","path":"/things"},{"as":"admin","method":"GET","path":"/things"},{"method":"GET","path":"/things/1","accept":""}]},
{"name":"formats","clause":"b","reset":false,"steps":[
 {"method":"GET","path":"/x","accept":"text/xml"},{"method":"GET","path":"!/api/rest/x","accept":"text/plain","headers":{"A":"b"}}]}]`
	exchanges, err := LoadRequests(fstest.MapFS{"in.json": {Data: []byte(requests)}}, "in.json")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := Record(t.Context(), target, exchanges)
	if err != nil {
		t.Fatal(err)
	}
	if exchanges[0].Steps[0].Response.Status != 0 || exchanges[0].Differs == "" {
		t.Error("Record has changed its argument")
	}

	var file bytes.Buffer
	if err := WriteExchanges(&file, recorded); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(fstest.MapFS{"in.json": {Data: file.Bytes()}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recorded, loaded); diff != "" {
		t.Errorf("the file differs when it is loaded (-want +got):\n%s", diff)
	}
	var bodies []string
	for _, c := range loaded {
		for _, s := range c.Steps {
			bodies = append(bodies, s.Response.Body)
		}
	}
	want := []string{
		"",
		`{"at":"{{datetime}}","was":"2012-01-02 03:04:05","made":1,"as":true,"url":"{{base_url}}\/x"}`,
		`{"at":"{{datetime}}","was":"2012-01-02 03:04:05","made":1,"as":false,"url":"{{base_url}}\/x"}`,
		"<?xml version=\"1.0\"?>\n<service_api>\n  <at>{{datetime}}</at>\n  <url>{{base_url}}/x</url>\n</service_api>\n",
		"at={{datetime}}&url={{base_url}}%2Fx",
	}
	if diff := cmp.Diff(want, bodies); diff != "" {
		t.Errorf("recorded bodies (-want +got):\n%s", diff)
	}
	if got := loaded[0].Steps[0].Response; got.Status != 200 || got.Location == nil || *got.Location != "{{base_url}}/api/rest/things/1" {
		t.Errorf("recorded %+v", got)
	}
	if strings.Contains(file.String(), "secret") {
		t.Errorf("secrets are recorded:\n%s", file.String())
	}

	if got := Replay(t, target, loaded); got != (Summary{Passed: 2}) {
		t.Errorf("summary %+v, want 2 passed", got)
	}
	if resets != 2 {
		t.Errorf("%d resets, want one before recording and one before the replay", resets)
	}
}

// TestRecordFails checks the errors for replies that cannot be recorded.
func TestRecordFails(t *testing.T) {
	answer := func(reply string) func(*testing.T) string {
		return func(t *testing.T) string { return serve(t, func(string) string { return reply }) }
	}
	exchanges := []Exchange{{File: "f.json", Name: "n", Steps: []Step{{As: Customer2, Method: "GET", Path: "/x"}}}}
	for _, tt := range []struct {
		name   string
		serve  func(*testing.T) string
		change func(*Target)
		want   string
	}{
		{"no reply", answer("nonsense\r\n\r\n"), nil, "f.json/n: step 1: reading the reply"},
		{"two Locations", answer(httpReply(200, "", "Location: /a", "Location: /b")), nil, "f.json/n: step 1: the reply has 2 headers Location"},
		{"no UTF-8", answer(httpReply(200, "\xff")), nil, "not valid UTF-8"},
		{"no status", answer(httpReply(999, "")), nil, "status 999 of the response is not between 200 and 599"},
		{"no reset", answer(""), func(t *Target) { t.Reset = func(context.Context) error { return io.ErrClosedPipe } }, "f.json/n: resetting the data set: "},
		{"no credentials", answer(""), func(t *Target) { t.Credentials.Customer2 = Token{} }, "step 1: there are no credentials for customer_2"},
		{"no dialect", answer(""), func(t *Target) { t.Dialect = "" }, "unknown dialect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target := Target{BaseURL: tt.serve(t), Dialect: Magento, Credentials: testCredentials}
			if tt.change != nil {
				tt.change(&target)
			}
			got, err := Record(t.Context(), target, exchanges)
			if err == nil || !strings.Contains(err.Error(), tt.want) || got != nil {
				t.Errorf("got %v and error %v, want none and one with %q", got, err, tt.want)
			}
		})
	}
}

// TestInsertPlaceholders checks which texts are replaced by placeholders.
func TestInsertPlaceholders(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 10, 0, 0, time.UTC)
	p := session{server: mustServer(t, "http://store.example:80")}
	for name, tt := range map[string]struct{ in, want string }{
		"now":                    {"2026-03-01 00:10:00", "{{datetime}}"},
		"yesterday, minutes ago": {"2026-02-28 23:10:00", "{{datetime}}"},
		"over an hour ago":       {"2026-02-28 23:09:59", "2026-02-28 23:09:59"},
		"a clock ahead":          {"2026-03-01 00:11:00", "{{datetime}}"},
		"in the future":          {"2026-03-01 00:11:01", "2026-03-01 00:11:01"},
		"with its zone":          {"2026-03-01T00:10:00+00:00", "{{datetime}}"},
		"in another zone":        {"2026-03-01T01:10:00+01:00 2026-02-28T19:10:00-05:00", "{{datetime}} {{datetime}}"},
		"an hour ahead":          {"2026-03-01T01:12:00+01:00 2026-03-01T00:10:00-01:00", "2026-03-01T01:12:00+01:00 2026-03-01T00:10:00-01:00"},
		"in a form":              {"a=2026-03-01+00%3A10%3A00&b=2026-03-01T00%3A10%3A00%2B00%3A00", "a={{datetime}}&b={{datetime}}"},
		"no form":                {"2026-03-01+00:10:00", "2026-03-01+00:10:00"},
		"a day alone":            {"2026-03-01", "2026-03-01"},
		"no time":                {"2026-03-01 00:61:00", "2026-03-01 00:61:00"},
		"base URL":               {"http://store.example:80/a http://store.example:80", "{{base_url}}/a {{base_url}}"},
		"longer port":            {"http://store.example:8080/a", "http://store.example:8080/a"},
		"another host":           {"http://store.example/a", "http://store.example/a"},
	} {
		if got := p.insertPlaceholders(tt.in, now); got != tt.want {
			t.Errorf("%s: %q becomes %q, want %q", name, tt.in, got, tt.want)
		}
	}
}

// TestLoadRequests checks that requests load without responses.
func TestLoadRequests(t *testing.T) {
	files := fstest.MapFS{
		"good.json": {Data: []byte(`[{"name":"n","steps":[{"method":"GET","path":"/x"}]}]`)},
		"bad.json":  {Data: []byte(`[{"name":"n","steps":[{"method":"G T","path":"/x"}]}]`)},
	}
	got, err := LoadRequests(files, "good.json")
	if err != nil || len(got) != 1 || got[0].File != "good.json" {
		t.Errorf("got %v and error %v", got, err)
	}
	for name, want := range map[string]string{"bad.json": `bad.json: exchange "n", step 1: method "G T"`, "none.json": "none.json: "} {
		if _, err := LoadRequests(files, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := Load(fstest.MapFS{"good.json": files["good.json"]}); err == nil {
		t.Error("exchanges without responses load as recordings")
	}
}
