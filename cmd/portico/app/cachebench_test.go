//go:build linux

package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A discardWriter is a http.ResponseWriter that only counts.
type discardWriter struct {
	header http.Header
	status int
	bytes  int
}

// Header returns the header.
func (d *discardWriter) Header() http.Header { return d.header }

// WriteHeader stores the status.
func (d *discardWriter) WriteHeader(status int) { d.status = status }

// Write counts the bytes.
func (d *discardWriter) Write(b []byte) (int, error) {
	d.bytes += len(b)
	return len(b), nil
}

// WriteString counts the bytes.
func (d *discardWriter) WriteString(s string) (int, error) {
	d.bytes += len(s)
	return len(s), nil
}

// BenchmarkMemoryHitLoop serves cache hits without HTTP in a loop, for profiles.
func BenchmarkMemoryHitLoop(b *testing.B) {
	db, data := demotest.NewCatalog(b, b.TempDir(), 1000)
	a, _ := serveApp(b, db, data, "documented", "PORTICO_CACHE_TTL=1h")
	request := httptest.NewRequest(http.MethodGet, "/api/rest/products", nil)
	request.Host = "shop.example"
	request.Header.Set("Accept", "application/json")
	response := &discardWriter{header: http.Header{}}
	serve := func() {
		clear(response.header)
		a.contract.ServeHTTP(response, request)
	}
	testenv.Await(b, "a cached reply", func() bool { serve(); return response.header.Get("X-Cache") == "HIT" })
	b.ReportAllocs()
	for b.Loop() {
		serve()
	}
	if response.header.Get("X-Cache") != "HIT" {
		b.Fatal("not a cache hit")
	}
}
