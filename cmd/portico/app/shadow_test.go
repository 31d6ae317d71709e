package app

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// shadowCounts returns the values of a metric by the values of its labels, in the order of
// the labels' names.
func shadowCounts(t testing.TB, a *app, metric string) map[string]float64 {
	t.Helper()
	families, err := a.ops.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, m := range family.Metric {
			var values []string
			for _, l := range m.Label {
				values = append(values, l.GetValue())
			}
			counts[strings.Join(values, " ")] = m.Counter.GetValue()
		}
	}
	return counts
}

// outcomes returns the number of reads by outcome, and their total.
func outcomes(t testing.TB, a *app) (by map[string]float64, all float64) {
	t.Helper()
	by = map[string]float64{}
	for labels, n := range shadowCounts(t, a, "portico_shadow_reads_total") {
		_, outcome, _ := strings.Cut(labels, " ")
		by[outcome] += n
		all += n
	}
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

// startDemoInMagento is startDemo in the dialect magento.
func startDemoInMagento(t testing.TB, environ ...string) (*app, *httptest.Server) {
	t.Helper()
	return startDemo(t, "magento", environ...)
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
		{"the legacy system answers", "resource: all, to: legacy, shadow: true", "keep", nightly.Whole()},
		{"Portico answers", "resource: all, to: portico, shadow: true", "keep", nightly.Whole()},
		{"Portico answers, signed again", "resource: all, to: portico, shadow: true", "caller", false},
		{"the legacy system answers, signed again", "resource: all, to: legacy, shadow: true", "caller", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old, honest := startDemoOn(t, otherDemoDatabase(t), "magento")
			all := slices.DeleteFunc(plantedDifferences(), func(p plantedDifference) bool { return p.name == "no answer" })
			falsified := httptest.NewServer(falsify(t, old.contract, all))
			t.Cleanup(falsified.Close)
			front, frontServer := startDemoInMagento(t, routesFile(t, tt.route), "PORTICO_LEGACY_URL="+falsified.URL, "PORTICO_LEGACY_AUTH="+tt.auth,
				"PORTICO_SHADOW_QUEUE=10000", "PORTICO_SHADOW_CLOCK=1h", "PORTICO_SHADOW_IGNORE=weight", "PORTICO_SHADOW_SAMPLES=5")
			arguments := []string{"compare", "--legacy", honest.URL, "--candidate", frontServer.URL, "--clock", "1h", "--requests"}

			compared := func() float64 { _, n := outcomes(t, front); return n }
			settled := front.rules.current().watchers.shadowReads.Idle
			if tt.recorded {
				folder := t.TempDir()
				reads := recordedReads(t, folder)
				if out, screen, err := run(t, append(arguments, folder)...); err != nil {
					t.Fatalf("%v\n%s\n%s", err, screen, out)
				}
				pollUntil(t, "all questions", settled)
				if by, _ := outcomes(t, front); by["same"] < 0.9*float64(reads) || compared() != by["same"] {
					t.Errorf("of %d reads: %v; %v", reads, by, shadowCounts(t, front, "portico_shadow_differences_total"))
				}
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
			before := compared()
			file := filepath.Join(t.TempDir(), "planted.json")
			writeRequests(t, file, planted)
			if _, screen, err := run(t, append(arguments, file)...); err != nil && !errors.Is(err, errDiffer) {
				t.Fatalf("%v\n%s", err, screen)
			}
			pollUntil(t, "the planted questions", settled)
			if n := compared() - before; n < float64(len(all)) {
				t.Errorf("%v of %d are compared", n, len(all))
			}
			if got := shadowCounts(t, front, "portico_shadow_differences_total"); !maps.Equal(got, want) {
				t.Errorf("differences\n%v, want\n%v", got, want)
			}
			samples := httptest.NewRecorder()
			front.ops.handler().ServeHTTP(samples, httptest.NewRequest(http.MethodGet, "http://localhost/shadow", nil))
			const shown, hidden = "kettle-Steel", "Byron" // the name of customer 1
			if text := samples.Body.String(); !strings.Contains(text, shown) || strings.Contains(text, hidden) {
				t.Errorf("samples have no %s, or %s:\n%s", shown, hidden, text)
			}
		})
	}
}
