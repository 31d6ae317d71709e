package migration_test

import (
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// shadowCounts returns the values of a metric by the values of two of its labels.
func shadowCounts(t testing.TB, ops, metric, first, second string) map[string]float64 {
	t.Helper()
	counts := map[string]float64{}
	for series, n := range apptest.ScrapeMetrics(t, ops) {
		if name, labels, _ := strings.Cut(series, "{"); name == metric {
			value := func(label string) string {
				_, rest, _ := strings.Cut(labels, label+`="`)
				text, _, _ := strings.Cut(rest, `"`)
				return text
			}
			counts[value(first)+" "+value(second)] = n
		}
	}
	return counts
}

// shadowDifferences returns the counts of differences by call and field.
func shadowDifferences(t testing.TB, ops string) map[string]float64 {
	t.Helper()
	return shadowCounts(t, ops, "portico_shadow_differences_total", "call", "field")
}

// awaitOutcomes waits until reads were compared, and all reads that are still underway. It returns
// their number by outcome, and the total.
func awaitOutcomes(t testing.TB, ops string, reads float64) (by map[string]float64, all float64) {
	t.Helper()
	testenv.Await(t, "the comparison of all reads", func() bool {
		before := all
		by, all = map[string]float64{}, 0
		for labels, n := range shadowCounts(t, ops, "portico_shadow_reads_total", "call", "outcome") {
			_, outcome, _ := strings.Cut(labels, " ")
			by[outcome] += n
			all += n
		}
		return all >= reads && all == before
	})
	return by, all
}

// otherDemoDatabase returns the DSN of a database with the demo store, of another engine
// than SQLite, unless -short is given.
func otherDemoDatabase(t testing.TB) (dsn string) {
	t.Helper()
	if testing.Short() {
		return demotest.SQLite(t)
	}
	return demotest.Postgres(t)
}

// TestShadow repeats every recorded read at the other of two systems on different engines:
// no answers may differ, and each planted difference must be counted at its field and
// nowhere else, whichever system answers the client.
func TestShadow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, route, auth string
		recorded          bool // asks for all that is recorded, too
	}{
		{"the legacy store answers", "resource: all, to: legacy, shadow: true", "keep", testenv.Nightly()},
		{"Portico answers", "resource: all, to: portico, shadow: true", "keep", testenv.Nightly()},
		{"Portico answers, signed again", "resource: all, to: portico, shadow: true", "caller", false},
		{"the legacy store answers, signed again", "resource: all, to: legacy, shadow: true", "caller", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := apptest.StartDemoOn(t, otherDemoDatabase(t), "magento")
			all := slices.DeleteFunc(plantedDifferences(), func(p plantedDifference) bool { return p.name == "no answer" })
			falsified := httptest.NewServer(falsify(t, apptest.ProxyTo(t, old.Contract), all))
			t.Cleanup(falsified.Close)
			front := apptest.StartDemo(t, "magento", apptest.RoutesFile(t, tt.route), "PORTICO_LEGACY_URL="+falsified.URL, "PORTICO_LEGACY_AUTH="+tt.auth,
				"PORTICO_SHADOW_QUEUE=10000", "PORTICO_SHADOW_CLOCK=1h", "PORTICO_SHADOW_IGNORE=weight", "PORTICO_SHADOW_SAMPLES=5")
			arguments := []string{"compare", "--legacy", old.Contract, "--candidate", front.Contract, "--clock", "1h", "--requests"}

			before := 0.0 // the number of reads that were compared
			if tt.recorded {
				folder := t.TempDir()
				reads := recordedReads(t, folder)
				if out, screen, err := apptest.Run(t, append(arguments, folder)...); err != nil {
					t.Fatalf("%v\n%s\n%s", err, screen, out)
				}
				by, compared := awaitOutcomes(t, front.Ops, 0.9*float64(reads))
				if compared != by["same"] {
					t.Errorf("of %d reads: %v; %v", reads, by, shadowDifferences(t, front.Ops))
				}
				before = compared
			}

			want := map[string]float64{}
			var planted []contracttests.Exchange
			for _, p := range all {
				planted = append(planted, contracttests.Exchange{Name: p.name, Steps: []contracttests.Step{
					{As: p.as, Method: http.MethodGet, Path: p.path, Accept: &p.accept, Headers: map[string]string{plantedHeader: p.name}},
				}})
				for _, difference := range p.want {
					words := strings.Fields(difference)
					field, _, _ := strings.Cut(words[1], "[")
					want[words[0]+" "+field]++
				}
			}
			file := filepath.Join(t.TempDir(), "planted.json")
			writeRequests(t, file, planted)
			if _, screen, err := apptest.Run(t, append(arguments, file)...); err != nil && !isDifference(err) {
				t.Fatalf("%v\n%s", err, screen)
			}
			awaitOutcomes(t, front.Ops, before+float64(len(all)))
			if got := shadowDifferences(t, front.Ops); !maps.Equal(got, want) {
				t.Errorf("differences\n%v, want\n%v", got, want)
			}
			const shown, hidden = "kettle-Steel", "Byron" // the name of customer 1
			if text := apptest.Send(t, http.MethodGet, front.Ops+"/shadow", "").Body; !strings.Contains(text, shown) || strings.Contains(text, hidden) {
				t.Errorf("samples have no %s, or %s:\n%s", shown, hidden, text)
			}
		})
	}
}

// TestShadowBelowBasePath checks that shadow reads find no differences in links and signatures if the
// shop is in a subdirectory, whether or not the legacy store is in one.
func TestShadowBelowBasePath(t *testing.T) {
	t.Parallel()
	inside, root := apptest.StartDemo(t, "magento", belowShop), apptest.StartDemo(t, "magento")
	credentials := apptest.Credentials(t)
	credentials.Signature = contracttests.HMACSHA1
	for _, tt := range []struct{ name, old, auth, to string }{
		{"the legacy store answers", inside.Contract, "keep", "legacy"},
		{"Portico answers", inside.Contract, "keep", "portico"},
		{"the legacy store answers at the root", root.Contract, "caller", "legacy"},
		{"Portico answers, and the legacy store is at the root", root.Contract, "caller", "portico"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			front := apptest.StartDemo(t, "magento", belowShop, apptest.RoutesFile(t, "resource: all, shadow: true, to: "+tt.to), "PORTICO_LEGACY_URL="+tt.old, "PORTICO_LEGACY_AUTH="+tt.auth)
			client, err := contracttests.NewClient(contracttests.Target{BaseURL: front.Contract, Credentials: credentials})
			if err != nil {
				t.Fatal(err)
			}
			steps := []contracttests.Step{
				{As: contracttests.Guest, Path: "/products/1?attrs=sku,url,image_url"},
				{As: contracttests.Admin, Path: "/customers/1?attrs=firstname"},
			}
			for _, s := range steps {
				s.Method, s.Accept = http.MethodGet, new("application/json")
				if got, err := client.Do(t.Context(), &s); err != nil || got.Status != http.StatusOK {
					t.Errorf("%s: %+v, %v", s.Path, got, err)
				}
			}
			if by, all := awaitOutcomes(t, front.Ops, float64(len(steps))); by["same"] != float64(len(steps)) || all != by["same"] {
				t.Errorf("%v; %v", by, shadowDifferences(t, front.Ops))
			}
		})
	}
}

// TestShadowOfShortenedReplies checks that shadow reads of clients that ask for compressed replies, for
// parts, or only for changed replies find no differences.
func TestShadowOfShortenedReplies(t *testing.T) {
	t.Parallel()
	old := apptest.StartDemo(t, "magento")
	shop := apptest.ProxyTo(t, old.Contract)
	compresses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		shop.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		switch {
		case r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusNotModified)
		case strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"):
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(answer.Code)
			packed := gzip.NewWriter(w)
			_, _ = packed.Write(answer.Body.Bytes())
			_ = packed.Close()
		default:
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		}
	}))
	t.Cleanup(compresses.Close)
	for _, to := range []string{"legacy", "portico"} {
		front := apptest.StartDemo(t, "magento", apptest.RoutesFile(t, "resource: all, shadow: true, to: "+to), "PORTICO_LEGACY_URL="+compresses.URL)
		for _, header := range [][2]string{{"Accept-Encoding", "gzip"}, {"If-None-Match", `"x"`}, {"Accept-Encoding", "identity"}} {
			apptest.Send(t, http.MethodGet, front.Contract+"/api/rest/products?limit=3", "", "Accept", "application/json", header[0], header[1])
		}
		by, _ := awaitOutcomes(t, front.Ops, 3)
		want := map[string]float64{"legacy": 2, "portico": 3}[to] // a 304 of the legacy store cannot be compared
		if by["same"] != want || by["different"] > 0 {
			t.Errorf("%s answers: %v; %v", to, by, shadowDifferences(t, front.Ops))
		}
	}
}

// TestShadowOfHostileSystem shadows reads at a system that answers everything that a comparison must
// survive. Clients notice nothing, and the process is bounded in memory.
func TestShadowOfHostileSystem(t *testing.T) {
	t.Parallel()
	other := apptest.NewLegacyStub(t)
	replies := hostileReplies(other.URL)
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		if number, err := strconv.Atoi(r.URL.Query().Get("n")); err == nil {
			replies[number].send(conn)
		}
	}))
	t.Cleanup(hostile.Close)
	front := apptest.StartDemo(t, "magento", apptest.RoutesFile(t, "resource: all, shadow: true, to: portico"), "PORTICO_LEGACY_URL="+hostile.URL,
		"PORTICO_LEGACY_TIMEOUT=3s", "PORTICO_SHADOW_TIMEOUT=3s", "PORTICO_SHADOW_QUEUE=1000", "PORTICO_UPSTREAM_BREAKER_FAILURES=1000", collectEarly)
	before := front.PeakResident(t)
	guest := apptest.NewClient(t, front.Contract, "")
	for n := range replies {
		if got := guest.Get(t, fmt.Sprint("/products/1?n=", n)); got.Status != http.StatusOK {
			t.Errorf("%s: the client gets %d %s", replies[n].name, got.Status, got.Body)
		}
	}
	by, _ := awaitOutcomes(t, front.Ops, float64(len(replies)))
	if by["same"]+by["incomparable"]+by["dropped"] > 0 {
		t.Errorf("%v", by)
	}
	if took := front.PeakResident(t) - before; took > 64<<20 {
		t.Errorf("shadow reads took %d MiB", took>>20)
	}
	if other.Last() != nil {
		t.Error("another host was asked")
	}
	front.Stop(t)
}
