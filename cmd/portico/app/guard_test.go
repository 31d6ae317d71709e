package app

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// metric returns the value of a series on the operators' port, or "" if it is missing.
func (l *localServer) metric(t *testing.T, series string) string {
	t.Helper()
	for line := range strings.Lines(apptest.Send(t, "GET", l.ops+"/metrics", "").Body) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// TestUpstreamGone checks that a program without its database answers every call with 503,
// never with 401, and soon stops asking the database.
func TestUpstreamGone(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			l := serveLocal(t, false, "PORTICO_DIALECT="+dialect, "PORTICO_UPSTREAM_BREAKER_FAILURES=3", "PORTICO_UPSTREAM_BREAKER_OPEN=10m")
			if got := l.metric(t, `portico_breaker_state{breaker="sql"}`); got != "0" {
				t.Errorf("the breaker begins at %q", got)
			}
			if err := l.app.db.Close(); err != nil {
				t.Fatal(err)
			}
			item := l.contract + "/api/rest/stockitems/1"
			calls := []struct {
				name, address string
				headers       []string
				body          string // "" for any
			}{
				{"administrator", item, []string{"Authorization", apptest.DemoAdmin()}, `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}`},
				{"administrator with a signature", item, []string{"Authorization", apptest.SignedHeader("GET", item, "once")}, ""},
				{"unknown consumer", item, []string{"Authorization", apptest.PlaintextHeader(strings.Repeat("x", 32), "x", strings.Repeat("y", 32), "y")}, ""},
				{"guest", l.contract + "/api/rest/products/1", nil, ""},
				{"image", l.contract + "/media/catalog/product/i/m/image.png", nil, "The image cannot be read now\n"},
			}
			for range 2 { // the breaker opens meanwhile
				for _, c := range calls {
					got := apptest.Send(t, "GET", c.address, "", append(c.headers, "Accept", "application/json")...)
					if got.Status != http.StatusServiceUnavailable || c.body != "" && got.Body != c.body {
						t.Errorf("%s is answered %d %s", c.name, got.Status, got.Body)
					}
					if after, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || after < 1 || after > 600 {
						t.Errorf("%s gets Retry-After %q", c.name, got.Header.Get("Retry-After"))
					}
				}
			}
			if got := apptest.Send(t, "GET", l.ops+"/readyz", ""); got.Status != http.StatusServiceUnavailable {
				t.Errorf("/readyz answers %d", got.Status)
			}
			for series, want := range map[string]string{
				`portico_breaker_state{breaker="sql"}`:                                                   "2",
				`portico_breaker_transitions_total{breaker="sql",to="open"}`:                             "1",
				`portico_breaker_transitions_total{breaker="sql",to="closed"}`:                           "0",
				`portico_upstream_calls_total{kind="refused_open",operation="ping",resource="upstream"}`: "1",
				`portico_upstream_calls_total{kind="refused_open",operation="open",resource="media"}`:    "2",
				`portico_upstream_calls_total{kind="unavailable",operation="get",resource="consumers"}`:  "3",
				`portico_upstream_call_duration_seconds_count{operation="get",resource="consumers"}`:     "3",
				`portico_upstream_in_flight{upstream="sql"}`:                                             "0",
			} {
				if got := l.metric(t, series); got != want {
					t.Errorf("%s is %q, want %q", series, got, want)
				}
			}
		})
	}
}
