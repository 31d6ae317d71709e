package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestConsumerLimit checks that a consumer beyond its rate gets 429.
func TestConsumerLimit(t *testing.T) {
	l := apptest.Start(t, []string{"PORTICO_LIMITS_CONSUMER_RATE=0.0001", "PORTICO_LIMITS_CONSUMER_BURST=2"}, "--demo")
	address := l.Contract + "/api/rest/stockitems/1"
	for call, want := range []int{200, 200, 429, 429} {
		got := apptest.Send(t, "GET", address, "", "Authorization", apptest.DemoAdmin(), "Accept", "application/json")
		if got.Status != want {
			t.Errorf("call %d: %d %s", call+1, got.Status, got.Body)
		}
		wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
		if limited := want == http.StatusTooManyRequests; limited != (err == nil && wait > 9000 && wait <= 10_000) {
			t.Errorf("call %d: Retry-After %q with %d", call+1, got.Header.Get("Retry-After"), got.Status)
		}
	}
	for range 3 {
		if got := apptest.Send(t, "GET", l.Contract+"/api/rest/products/1", ""); got.Status != http.StatusOK || got.Header.Get("Retry-After") != "" {
			t.Errorf("a guest: %d %s", got.Status, got.Body)
		}
	}
	if metrics := apptest.Send(t, "GET", l.Ops+"/metrics", "").Body; !strings.Contains(metrics, "\nportico_rate_limited_total 2\n") {
		t.Error("/metrics does not show 2 limited requests")
	}
}
