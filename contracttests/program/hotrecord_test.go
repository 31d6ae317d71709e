package program

import (
	"fmt"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// TestHotRecord has 32 clients write one record 600 times at two nodes. Nearly all writes must
// succeed, and failed ones must not open a breaker.
func TestHotRecord(t *testing.T) {
	testenv.OnlyNightly(t, "galera")
	const writers, writes, most = 32, 600, 6
	dsns, environ := newDatabase(t, sqltest.StartGalera(t), "shop"), shared(t)
	var replicas []*apptest.Process
	var admins []*apptest.Client
	for _, dsn := range dsns[:2] {
		p := apptest.Start(t, append([]string{"PORTICO_SQL_DSN=" + dsn}, environ...))
		replicas, admins = append(replicas, p), append(admins, apptest.NewClient(t, p.Contract, apptest.DemoAdmin()))
	}
	for _, path := range []string{"/stockitems/1", "/products/3"} {
		t.Run(path, func(t *testing.T) {
			var next, unavailable atomic.Int64
			var all sync.WaitGroup
			for writer := range writers {
				all.Go(func() {
					for n := next.Add(1); n <= writes; n = next.Add(1) {
						body := fmt.Sprintf(`{"qty":%d}`, n)
						if path != "/stockitems/1" {
							body = fmt.Sprintf(`{"price":%d}`, n)
						}
						switch got, err := admins[writer%2].Call(t.Context(), http.MethodPut, path, body); {
						case err == nil && got.Status == http.StatusServiceUnavailable:
							unavailable.Add(1)
						case err != nil || got.Status != http.StatusOK:
							t.Errorf("%d %s (%v)", got.Status, got.Body, err)
						}
					}
				})
			}
			all.Wait()
			t.Logf("%d of %d writes were answered 503", unavailable.Load(), writes)
			if unavailable.Load() > most {
				t.Errorf("that is more than %d", most)
			}
			for _, p := range replicas {
				for _, breaker := range []string{"sql", "sql_writes"} {
					if changes := apptest.ScrapeMetrics(t, p.Ops).Sum("portico_breaker_transitions_total", `breaker="`+breaker+`"`); changes != 0 {
						t.Errorf("the breaker %s has changed its state %v times", breaker, changes)
					}
				}
			}
		})
	}
}
