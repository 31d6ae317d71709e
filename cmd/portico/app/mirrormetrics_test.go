package app

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
)

// TestMirrorMetricsStartAtZero checks that the gauges of the outbox exist wherever writes can be
// mirrored, and are zero if another process delivers.
func TestMirrorMetricsStartAtZero(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := newMirrorMetrics(registry)
	gauges := func() map[string]float64 {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]float64{}
		for _, family := range families {
			for _, one := range family.Metric {
				if one.Gauge == nil {
					continue
				}
				name := family.GetName()
				for _, label := range one.Label {
					name += " " + label.GetValue()
				}
				values[name] = one.Gauge.GetValue()
			}
		}
		return values
	}
	m.start([]adapter.Resource{adapter.Products, adapter.Customers})
	atZero := gauges()
	for _, name := range []string{
		"portico_mirror_entries products parked", "portico_mirror_entries customers unknown", "portico_mirror_conflicts dropped", "portico_mirror_oldest_seconds",
	} {
		if value, ok := atZero[name]; value != 0 || !ok {
			t.Errorf("%s is %v, %t", name, value, ok)
		}
	}
	m.set(map[adapter.Resource]coordination.OutboxCount{adapter.Products: {Parked: 3}, adapter.Orders: {Waiting: 1}},
		map[outbox.ConflictOutcome]int64{outbox.Dropped: 2}, time.Now().Add(-time.Hour))
	delivering := gauges()
	for name, want := range map[string]float64{
		"portico_mirror_entries products parked": 3, "portico_mirror_entries products waiting": 0, "portico_mirror_entries orders waiting": 1, "portico_mirror_conflicts dropped": 2,
	} {
		if got := delivering[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if oldest := delivering["portico_mirror_oldest_seconds"]; oldest < 3600 || oldest > 3700 {
		t.Errorf("the oldest change is %v s old", oldest)
	}
	m.set(nil, nil, time.Time{})
	if got := gauges(); !maps.Equal(got, atZero) {
		t.Errorf("after the delivery by this process: %v, want %v", got, atZero)
	}
}
