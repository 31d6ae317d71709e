//go:build linux

package app

import (
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/mapping/legacy/passthrough"
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
				a, server := startDemo(b, "magento", apptest.RoutesFile(b, "resource: all, to: "+to+", shadow: "+shadow), "PORTICO_LEGACY_URL="+old.URL)
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
				apptest.Await(b, "the last questions", shadowed.rules.current().watchers.shadowReads.Idle)
				f, _ := floor.run(b, slice)
				o, _ := ours.run(b, slice)
				ratios, requests = append(ratios, o/f), requests+o*slice.Seconds()
			}
			b.StopTimer()
			slices.Sort(ratios)
			by := outcomes(b, shadowed)
			b.ReportMetric(ratios[pairs/2], "ratio")
			b.ReportMetric((by["same"]+by["failed"]+by["different"])/requests, "compared")
			b.ReportMetric(0, "ns/op")
			if by["different"] > 0 {
				b.Errorf("%v", by)
			}
		})
	}
}

// outcomes returns the number of reads by the outcome of their comparison.
func outcomes(t testing.TB, a *app) map[string]float64 {
	t.Helper()
	families, err := a.ops.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			if family.GetName() == "portico_shadow_reads_total" {
				by[m.Label[1].GetValue()] += m.Counter.GetValue()
			}
		}
	}
	return by
}
