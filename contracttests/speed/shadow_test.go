//go:build linux

package speed

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"testing"
)

// BenchmarkShadow compares a server with shadowed reads to one without, which is the floor. The metric
// compared is the part of the requests that were repeated at the other system.
func BenchmarkShadow(b *testing.B) {
	stockItem, product := get("/api/rest/stockitems/1").asAdmin(), get("/api/rest/products/1")
	for _, bb := range []struct {
		name string
		request
		to string
	}{
		{"cached reply", product, "portico"},
		{"Portico", stockItem, "portico"},
		{"legacy store", stockItem, "legacy"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			old := startPortico(b, nil, "--demo", "--dialect", "magento")
			serve := func(shadow string) *server {
				routes := apptest.RoutesFile(b, "resource: all, to: "+bb.to+", shadow: "+shadow)
				return startPortico(b, []string{routes, "PORTICO_LEGACY_URL=http://" + old.address}, "--demo", "--dialect", "magento")
			}
			shadowed, without := serve("true"), serve("false")
			compare(b, shadowed, without, bb.request)
			scrape := apptest.ScrapeMetrics(b, shadowed.ops)
			if different := scrape.Sum("portico_shadow_reads_total", `outcome="different"`); different > 0 {
				b.Errorf("%v replies differ", different)
			}
			b.ReportMetric(scrape.Sum("portico_shadow_reads_total", `!outcome="dropped"`)/scrape.Sum("portico_requests_total"), "compared")
		})
	}
}

// BenchmarkConsole compares a server with the operators' console to one without.
func BenchmarkConsole(b *testing.B) {
	with := startPortico(b, nil, "--demo")
	without := startPortico(b, []string{"PORTICO_OPS_CONSOLE=false"}, "--demo")
	compare(b, with, without, get("/api/rest/products/1"))
}
