package program

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// filterAttacks returns list requests of Guests with filters that take as long as they are
// allowed to: no text matches, and each takes every step of the pattern.
func filterAttacks() []string {
	filtered := func(operator, pattern string) string {
		return "/api/rest/products?filter[0][attribute]=description&filter[0][" + operator + "]=" + url.QueryEscape(pattern)
	}
	expression, like := strings.Repeat(".*", 80)+"z", "%"+strings.Repeat("_%", 150)+"z"
	return []string{filtered("regexp", expression), filtered("regexp", expression) + "&limit=0", filtered("like", like), filtered("like", like) + "&page=900"}
}

// TestFiltersUnderAttack checks that other calls are answered, and the breaker stays
// closed, while many Guests send the most expensive filters.
func TestFiltersUnderAttack(t *testing.T) {
	dir := t.TempDir()
	products := attackedProducts / 4
	if testenv.Nightly() {
		products = attackedProducts
	}
	db, _ := demotest.NewCatalog(t, dir, products)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	lengthenDescriptions(t, filepath.Join(dir, "demo.db"))
	p := apptest.Start(t, []string{"PORTICO_SQL_DSN=sqlite:" + filepath.Join(dir, "demo.db"), "PORTICO_LOG_LEVEL=warn"})

	ctx, cancel := context.WithCancel(t.Context())
	var attackers sync.WaitGroup
	defer attackers.Wait()
	defer cancel()
	attacks := filterAttacks()
	for i := range 4 * len(attacks) {
		attackers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				// Another list each time, so that none is answered from the cache.
				request, err := http.NewRequestWithContext(ctx, "GET", p.Contract+attacks[i%len(attacks)]+"&store="+strconv.Itoa(1+n%2)+"&x="+strconv.Itoa(n), nil)
				if err != nil {
					t.Error(err)
					return
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					continue // the test ends, or the calls below fail
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") == "" {
					t.Error("503 without Retry-After")
				}
			}
		})
	}
	testenv.Await(t, "the attack", func() bool {
		return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_budget_used", `budget="filters_of_guests"`) > 0
	})

	var took []time.Duration
	refusals := 2.0 // of attacking calls, each after seconds
	if testenv.Nightly() {
		refusals = 12
	}
	for n := 0; n < 50 || apptest.ScrapeMetrics(t, p.Ops).Sum("portico_budget_refused_total", `budget="filters_of_guests"`) < refusals; n++ {
		for _, call := range []struct{ path, authorization string }{
			{"/products/1?x=" + strconv.Itoa(n), ""},
			{"/products?limit=10&page=" + strconv.Itoa(1+n), ""},
			{"/products?filter[0][attribute]=sku&filter[0][eq]=made-" + strconv.Itoa(demotest.FirstGeneratedID+n), ""},
			{"/stockitems/" + strconv.Itoa(1+n), apptest.DemoAdmin()},
			{"/products?limit=10&filter[0][attribute]=sku&filter[0][like]=made-10" + strconv.Itoa(n) + "%25", apptest.DemoAdmin()},
			{"/customers/1", apptest.SignedHeader("GET", p.Contract+"/api/rest/customers/1", "attacked-"+strconv.Itoa(n))},
		} {
			began := time.Now()
			got := apptest.Send(t, "GET", p.Contract+"/api/rest"+call.path, "", "Accept", "application/json", "Authorization", call.authorization)
			took = append(took, time.Since(began))
			if got.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", call.path, got.Status, got.Body)
			}
		}
	}
	slices.Sort(took)
	t.Logf("%d calls: median %s, 99 %% within %s, longest %s", len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	metrics := apptest.ScrapeMetrics(t, p.Ops)
	if n := metrics.Sum("portico_breaker_transitions_total", `breaker="sql"`); n != 0 {
		t.Errorf("the breaker changed %v times", n)
	}
	if logged := p.Stderr.Text(); strings.Contains(logged, "ERROR") {
		t.Errorf("logged: %s", logged)
	}
}
