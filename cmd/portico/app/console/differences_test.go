package console

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// manyDifferences returns a report with so many samples.
func manyDifferences(n int) *DifferenceReport {
	r := &DifferenceReport{ShadowSince: time.Unix(0, 0), Swept: time.Unix(60, 0)}
	for i := range n {
		d := Difference{
			Source: []string{"shadow", "sweep"}[i%2], Time: time.Unix(int64(i), 0), Call: fmt.Sprintf("get%02d", i%20), Field: fmt.Sprintf("field_%d", i/20%50), Consumer: fmt.Sprintf("key%d", i%7),
			Target: fmt.Sprintf("/api/rest/products/%d", i), Record: fmt.Sprint(i), Legacy: new(fmt.Sprintf("%q", fmt.Sprint(i))),
		}
		r.Samples = append(r.Samples, d)
		if i < 20*50 {
			r.Fields = append(r.Fields, FieldDifference{Call: d.Call, Field: d.Field, Shadow: int64(i), Sweep: int64(i % 3)})
		}
	}
	return r
}

// TestDifferences: the page shows fields and samples, page by page, as the filters select.
func TestDifferences(t *testing.T) {
	t.Parallel()
	report := manyDifferences(10_000)
	s := newSite(t, func(o *Options) {
		o.Differences = Differences{
			Load:    func(context.Context) (*DifferenceReport, error) { return report, nil },
			Ignored: func() []string { return []string{"updated_at"} },
		}
	})
	for _, tt := range []struct {
		name, query string
		want        []string
		rows        int
	}{
		{"fields", "", []string{"1 to 50 of 1000", "<code>field_49</code>", "?page=2"}, 50},
		{"fields of a call", "?call=get03", []string{"<code>field_0</code>"}, 50},
		{"a field of a call", "?call=get03&field=field_7", []string{">143<"}, 1},
		{"found by nothing", "?field=nothing", []string{"Nothing differs."}, 0},
		{"samples", "?view=samples", []string{"1 to 50 of 10000", "&#34;0&#34;", "nothing"}, 50},
		{"last page of samples", "?view=samples&page=200", []string{"9951 to 10000 of 10000", `rel="prev"`}, 50},
		{"page that is not there", "?view=samples&page=9999", []string{"9951 to 10000 of 10000"}, 50},
		{"no page", "?view=samples&page=x", []string{"1 to 50 of 10000"}, 50},
		{"samples of a field", "?view=samples&call=get03&field=field_7&source=sweep", []string{"/api/rest/products/143", "sweep"}, 10},
		{"samples of a consumer", "?view=samples&consumer=key3&call=get03", []string{"50 of 72", `consumer=key3`}, 50},
		{"ignore", "?ignore=field_7", []string{"  ignore: [updated_at, field_7]", "--ignore updated_at,field_7"}, 50},
		{"ignore what does not differ", "?ignore=%0Alisten", []string{"1 to 50"}, 50},
		{"hostile filter", "?field=%22%3E%3Cscript%3E", []string{"&#34;&gt;&lt;script&gt;"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.get(differencesPath + tt.query)
			for _, want := range tt.want {
				if !strings.Contains(got.text, want) {
					t.Errorf("no %q", want)
				}
			}
			if rows := strings.Count(got.text, "<tr><th scope=\"row\">"); rows != tt.rows || got.StatusCode != http.StatusOK {
				t.Errorf("%d with %d rows, want %d", got.StatusCode, rows, tt.rows)
			}
			if strings.Contains(tt.query, "listen") && strings.Contains(got.text, `id="ignore"`) {
				t.Error("anything can be ignored")
			}
			if t.Failed() {
				t.Log(got.text)
			}
		})
	}
}

// benchmarkPage measures the time of a page on the server.
func benchmarkPage(b *testing.B, c *Console, path string) {
	b.Helper()
	for b.Loop() {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body.String())
		}
	}
}

// BenchmarkDifferences: the pages of 10,000 differences.
func BenchmarkDifferences(b *testing.B) {
	report := manyDifferences(10_000)
	s := newSite(b, func(o *Options) {
		o.Differences = Differences{
			Load:    func(context.Context) (*DifferenceReport, error) { return report, nil },
			Ignored: func() []string { return nil },
		}
	})
	for _, query := range []string{"", "?view=samples", "?view=samples&page=200", "?view=samples&call=get03"} {
		b.Run("fields"+query, func(b *testing.B) { benchmarkPage(b, s.console, differencesPath+query) })
	}
}

// TestIgnoreLines: no line to copy contains a name that a shell or a file would not read as a plain
// name.
func TestIgnoreLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, field, ignored string
		want                 string // the line of the sweep; "" for none
	}{
		{"plain", "stock_data.qty", "updated_at", "portico compare --sweep --note --ignore updated_at,stock_data.qty"},
		{"ignored with blanks", "qty", "a b", "portico compare --sweep --note --ignore 'a b,qty'"},
		{"command", "qty; touch pwned #", "updated_at", ""},
		{"substitution", "$(touch pwned)", "updated_at", ""},
		{"line", "qty\ntouch pwned", "updated_at", ""},
		{"list of settings", "qty]\nauth: {bearer: true}\n#", "updated_at", ""},
		{"other direction", "qty\u202e", "updated_at", ""},
		{"flag", "--config=/tmp/x", "updated_at", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(o *Options) {
				o.Differences = Differences{
					Load: func(context.Context) (*DifferenceReport, error) {
						return &DifferenceReport{Fields: []FieldDifference{{Call: "c", Field: tt.field, Sweep: 1}}}, nil
					},
					Ignored: func() []string { return []string{tt.ignored} },
				}
			})
			got := s.get("/console/differences?ignore=" + url.QueryEscape(tt.field))
			if tt.want == "" {
				if got.StatusCode != http.StatusUnprocessableEntity || strings.Contains(got.text, "--ignore") {
					t.Errorf("%d %s", got.StatusCode, got.text)
				}
				return
			}
			if !strings.Contains(html.UnescapeString(got.text), tt.want+"\n") {
				t.Errorf("no %q in\n%s", tt.want, got.text)
			}
		})
	}
}
