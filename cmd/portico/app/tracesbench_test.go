package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// BenchmarkTraces measures the cost of traces for a cache hit in memory and for a read from the
// store, without HTTP: with tracing off, for a request that is not sampled, and for one that is.
func BenchmarkTraces(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(collector.Close)
	for _, mode := range []struct {
		name    string
		traced  bool
		environ []string
	}{
		{"off", false, nil},
		{"not sampled", true, []string{"PORTICO_TRACING_ENDPOINT=" + collector.URL, "PORTICO_TRACING_SAMPLE=0"}},
		{"sampled", true, []string{"PORTICO_TRACING_ENDPOINT=" + collector.URL, "PORTICO_TRACING_SAMPLE=1"}},
	} {
		db := apptest.OpenRecords(b, sqlstore.Options{DSN: demotest.SQLite(b), Trace: mode.traced})
		a, server := serveApp(b, db, demotest.Data(b), "documented", append(mode.environ, "PORTICO_CACHE_TTL=1h")...)
		authorization := targetOf(b, a, server, "documented").Credentials.Authorization("admin")
		for name, target := range map[string]string{"hit": "/api/rest/products/1", "read": "/api/rest/stockitems/1"} {
			request := httptest.NewRequest(http.MethodGet, target, nil)
			request.Header.Set("Accept", "application/json")
			if name == "read" {
				request.Header.Set("Authorization", authorization)
			}
			b.Run(name+"/"+mode.name, func(b *testing.B) {
				response := &discardWriter{header: http.Header{}}
				serve := func() {
					clear(response.header)
					a.contract.ServeHTTP(response, request)
				}
				serve()
				b.ReportAllocs()
				for b.Loop() {
					serve()
				}
				if response.status != http.StatusOK {
					b.Fatal("status", response.status)
				}
			})
		}
	}
}
