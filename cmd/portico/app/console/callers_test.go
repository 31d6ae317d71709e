package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// manyCallers returns so many callers.
func manyCallers(n int) *CallerReport {
	r := &CallerReport{}
	for i := range n {
		c := Caller{Key: fmt.Sprintf("key%05d", i), Names: []string{fmt.Sprintf("Program %d", i)}}
		if i > 0 {
			c.Usage = Usage{Requests: int64(n - i), Refused: 1, Formats: []string{"json"}, Agents: []string{"curl"}, Last: time.Unix(int64(i), 0)}
			c.Calls = []CallUsage{{Call: "getProduct", Usage: c.Usage}}
		}
		r.Callers = append(r.Callers, c)
	}
	return r
}

// TestCallers: the site shows all callers page by page, one caller with its calls, and the callers
// whose credentials were refused.
func TestCallers(t *testing.T) {
	t.Parallel()
	report := manyCallers(5000)
	report.Missing = "no <counts>"
	s := newSite(t, func(o *Options) {
		o.Callers = Callers{
			Load: func(context.Context) (*CallerReport, error) { return report, nil },
			Refused: func() []RefusedCall {
				return []RefusedCall{
					{Time: time.Unix(0, 0), Consumer: "key00001", Call: "listOrders", Method: "GET", Path: "/api/rest/orders", Agent: "curl", Client: "192.0.2.1", Problem: "signature_invalid"},
					{Consumer: "guest", Call: "other", Method: "GET", Path: "/<b>", Problem: "token_rejected"},
				}
			},
		}
	})
	for _, tt := range []struct {
		name, query string
		want        []string
		without     string
		status      int
	}{
		{"all", "", []string{"1 to 50 of 5000", "key00001", "4\u202f999", "no &lt;counts&gt;", "/&lt;b&gt;", "The signature is not that of the request"}, "key00000", 200},
		{"last page", "?page=100", []string{"4951 to 5000 of 5000", "<td class=\"number\">never</td>"}, "key00001</code></a>", 200},
		{"search for a name", "?search=program+4999", []string{"key04999"}, "key00001</code></a>", 200},
		{"search for nothing", "?search=zzz", []string{"No caller is like that."}, "key00001</code></a>", 200},
		{"one", "?caller=key00001", []string{"Caller Program 1", "getProduct", "signature_invalid", "0.0%"}, "token_rejected", 200},
		{"one that has not called", "?caller=key00000", []string{"<dd>never</dd>", "None since the start"}, "signature_invalid", 200},
		{"an unknown one", "?caller=x", []string{"no caller of that key"}, "key", 422},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.get(callersPath + tt.query)
			for _, want := range tt.want {
				if !strings.Contains(got.text, want) {
					t.Errorf("no %q", want)
				}
			}
			if got.StatusCode != tt.status || strings.Contains(got.text, "<code>"+tt.without) || tt.without == "token_rejected" && strings.Contains(got.text, tt.without) {
				t.Errorf("%d, or it has %q", got.StatusCode, tt.without)
			}
			if t.Failed() {
				t.Log(got.text)
			}
		})
	}
	if s.get(callersPath).StatusCode != http.StatusOK {
		t.Error("the report was changed")
	}
}

// BenchmarkCallers: the pages of 5,000 consumers.
func BenchmarkCallers(b *testing.B) {
	report := manyCallers(5000)
	s := newSite(b, func(o *Options) {
		o.Callers = Callers{Load: func(context.Context) (*CallerReport, error) { return report, nil }, Refused: func() []RefusedCall { return nil }}
	})
	for _, query := range []string{"", "?page=100", "?search=program+4999"} {
		b.Run("callers"+query, func(b *testing.B) { benchmarkPage(b, s.console, callersPath+query) })
	}
}
