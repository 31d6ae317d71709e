//go:build linux

package app

import (
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/mapping/passthrough"
)

// BenchmarkShadow compares, at full load, a server with shadowed reads to one without.
//
//	ratio      requests a second, as a part of those without shadowed reads
//	compared   part of the requests that were repeated at the other system
func BenchmarkShadow(b *testing.B) {
	const stockItem, product = "/api/rest/stockitems/1", "/api/rest/products/1"
	for _, bb := range []struct {
		name, path, role string
		to               passthrough.Target
	}{
		{"cached reply", product, "guest", passthrough.Portico},
		{"Portico", stockItem, "admin", passthrough.Portico},
		{"legacy system", stockItem, "admin", passthrough.Legacy},
		{"dead shadow", stockItem, "admin", passthrough.Portico},
	} {
		b.Run(bb.name, func(b *testing.B) {
			_, old := startDemo(b, "magento")
			if bb.name == "dead shadow" {
				old.Close()
			}
			serve := func(shadow string) (*app, string) {
				to := map[passthrough.Target]string{passthrough.Portico: "portico", passthrough.Legacy: "legacy"}[bb.to]
				a, server := startDemoInMagento(b, routesFile(b, "resource: all, to: "+to+", shadow: "+shadow), "PORTICO_LEGACY_URL="+old.URL)
				return a, server.URL
			}
			header := ""
			if authorization := demoTarget(b, "magento").Credentials.Authorization(bb.role); authorization != "" {
				header = "Authorization: " + authorization + "\r\n"
			}
			shadowed, url := serve("true")
			_, without := serve("false")
			ours, floor := newLoad(b, url, bb.path, header), newLoad(b, without, bb.path, header)
			const slice, pairs = 150 * time.Millisecond, 15
			ours.run(b, slice)
			floor.run(b, slice)
			b.ResetTimer()
			var ratios []float64
			requests := 0.0
			for range pairs {
				// Queued shadow reads would run while the other server is measured.
				await(b, "the last questions", shadowed.rules.current().watchers.shadowReads.Idle)
				f, _ := floor.run(b, slice)
				o, _ := ours.run(b, slice)
				ratios, requests = append(ratios, o/f), requests+o*slice.Seconds()
			}
			b.StopTimer()
			slices.Sort(ratios)
			by, _ := outcomes(b, shadowed)
			b.ReportMetric(ratios[pairs/2], "ratio")
			b.ReportMetric((by["same"]+by["failed"]+by["different"])/requests, "compared")
			b.ReportMetric(0, "ns/op")
			if by["different"] > 0 {
				b.Errorf("%v", by)
			}
		})
	}
}
