package app

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestConsumerLimit checks that a consumer beyond its rate gets 429.
func TestConsumerLimit(t *testing.T) {
	l := serveLocal(t, false, "PORTICO_LIMITS_CONSUMER_RATE=0.0001", "PORTICO_LIMITS_CONSUMER_BURST=2")
	address := l.contract + "/api/rest/stockitems/1"
	for call, want := range []int{200, 200, 429, 429} {
		got := send(t, "GET", address, "", "Authorization", demoAdmin(), "Accept", "application/json")
		if got.status != want {
			t.Errorf("call %d: %d %s", call+1, got.status, got.body)
		}
		wait, err := strconv.Atoi(got.header.Get("Retry-After"))
		if limited := want == http.StatusTooManyRequests; limited != (err == nil && wait > 9000 && wait <= 10_000) {
			t.Errorf("call %d: Retry-After %q with %d", call+1, got.header.Get("Retry-After"), got.status)
		}
	}
	for range 3 {
		if got := send(t, "GET", l.contract+"/api/rest/products/1", ""); got.status != http.StatusOK || got.header.Get("Retry-After") != "" {
			t.Errorf("a guest: %d %s", got.status, got.body)
		}
	}
	if metrics := send(t, "GET", l.ops+"/metrics", "").body; !strings.Contains(metrics, "\nportico_rate_limited_total 2\n") {
		t.Error("/metrics does not show 2 limited requests")
	}
}
