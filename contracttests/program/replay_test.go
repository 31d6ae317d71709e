package program

import (
	"os"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// TestDemoCredentials checks that the contract suite has the credentials of the demo
// store.
func TestDemoCredentials(t *testing.T) {
	data := demotest.Data(t)
	want := contracttests.Credentials{Consumer: contracttests.Consumer{Key: data.Consumer.Key, Secret: data.Consumer.Secret}}
	for _, token := range data.Tokens {
		caller := contracttests.Token{Token: token.Token, Secret: token.Secret}
		switch {
		case token.AdminID != 0:
			want.Admin = caller
		case token.CustomerID == 1:
			want.Customer1 = caller
		case token.CustomerID == 2:
			want.Customer2 = caller
		}
	}
	got := apptest.Credentials(t)
	if !got.Equal(want) {
		t.Error("contracttests/fixtures/demo-credentials.yaml holds others than the demo store's")
	}
}

// TestRecordedExchanges replays the recorded exchanges of the original, outside nightly runs a tenth of
// them, since resetting the store takes time. The test also checks their number, so that none can be lost
// unnoticed.
func TestRecordedExchanges(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[string]contracttests.Summary{
		"documented": {Passed: 370, LeftOut: 219},
		"magento":    {Passed: 589},
		"openmage":   {Passed: 588, LeftOut: 1},
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			cases := apptest.Exchanges(t)
			if dialect == "openmage" {
				var err error
				if cases, err = contracttests.ExchangesIn(contracttests.OpenMage); err != nil {
					t.Fatal(err)
				}
			}
			if all := want.Passed + want.LeftOut; len(cases) != all {
				t.Errorf("%d recorded exchanges, want %d", len(cases), all)
			}
			for engine, newDSN := range apptest.DemoDatabases(t) {
				t.Run(engine, func(t *testing.T) {
					t.Parallel() // these tests mostly wait for the servers
					demo := apptest.StartDemoOn(t, newDSN(t), dialect)
					chosen := apptest.SampleExchanges(t, cases, 10)
					got := contracttests.Replay(t, demo.Target(t), chosen)
					expected := want
					if len(chosen) < len(cases) {
						expected = contracttests.Summary{Passed: len(chosen) - got.LeftOut, LeftOut: got.LeftOut}
					}
					if got != expected && !t.Failed() {
						t.Errorf("got %+v, want %+v", got, expected)
					}
				})
			}
		})
	}
}

// TestNumericIntegers replays the recordings of a shop whose integers are numbers, and then, with the
// option for such servers, some of the other recordings and of the suite's cases, which all run at night
// (configurations 10).
func TestNumericIntegers(t *testing.T) {
	t.Parallel()
	cases, err := contracttests.Load(os.DirFS("../exchanges/integers"))
	if err != nil {
		t.Fatal(err)
	}
	// The server of the sixth recording rewrites addresses, as only openmage does.
	rewritten := slices.IndexFunc(cases, func(e contracttests.Exchange) bool { return e.Name == "integers: a product with a rewritten address" })
	openmage := apptest.StartDemo(t, "openmage", "PORTICO_STORE_INTEGERS=number").Target(t)
	if got, want := contracttests.Replay(t, openmage, cases[rewritten:rewritten+1]), (contracttests.Summary{Passed: 1}); got != want && !t.Failed() {
		t.Errorf("openmage: got %+v, want %+v", got, want)
	}
	target := apptest.StartDemo(t, "magento", "PORTICO_STORE_INTEGERS=number").Target(t)
	if got, want := contracttests.Replay(t, target, slices.Delete(cases, rewritten, rewritten+1)), (contracttests.Summary{Passed: 5}); got != want && !t.Failed() {
		t.Errorf("got %+v, want %+v", got, want)
	}
	target.NumericIntegers = true
	contracttests.Replay(t, target, apptest.SampleExchanges(t, apptest.Exchanges(t), 20))
	target.Fixtures = apptest.WritableFixtures(t)
	const notChosen = "another run takes it"
	chosen := map[string]bool{}
	for _, one := range testenv.Rows(t, apptest.Suite(t).Cases(contracttests.Magento), 10) {
		chosen[one.ID()] = true
	}
	report := runSuite(t, t.Context(), target, contracttests.Options{Parallel: 4, Skip: func(id string) string {
		if chosen[id] {
			return ""
		}
		return notChosen
	}})
	for _, r := range report.Results {
		if r.Status == contracttests.Skipped && r.Reason != notChosen {
			t.Errorf("%s is skipped: %s", r.ID(), r.Reason)
		}
	}
}

// TestAllAttributes replays the recordings of a shop whose Guests and Customers have all attributes alone
// (openmage 2).
func TestAllAttributes(t *testing.T) {
	t.Parallel()
	cases, err := contracttests.Load(os.DirFS("../openmage/attributes"))
	if err != nil {
		t.Fatal(err)
	}
	file := apptest.NewFile(t, "portico.yaml", "fields: [{resource: products, role: guest, without_computed: true}, {resource: products, role: customer, without_computed: true}]")
	target := apptest.StartDemo(t, "openmage", "PORTICO_CONFIG="+file).Target(t)
	if got, want := contracttests.Replay(t, target, cases), (contracttests.Summary{Passed: 2}); got != want && !t.Failed() {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestDocumentedClauses replays the cases of the contract document, outside nightly runs one in four.
func TestDocumentedClauses(t *testing.T) {
	t.Parallel()
	cases, err := contracttests.DocumentedExchanges()
	if err != nil {
		t.Fatal(err)
	}
	if want := 304; len(cases) != want {
		t.Errorf("%d cases, want %d", len(cases), want)
	}
	cases = apptest.SampleExchanges(t, cases, 4)
	want := contracttests.Summary{Passed: len(cases)}
	if got := contracttests.Replay(t, apptest.StartDemo(t, "documented").Target(t), cases); got != want && !t.Failed() {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
