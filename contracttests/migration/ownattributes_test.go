package migration_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/contracttests"
)

// TestOwnAttributes imports the shop whose attributes are of every kind and scope, and compares
// Portico's replies with the original's, on each engine.
func TestOwnAttributes(t *testing.T) {
	t.Parallel()
	var cases []contracttests.Exchange
	if err := json.Unmarshal(magento1test.OwnAttributeCases(t), &cases); err != nil {
		t.Fatal(err)
	}
	reads := slices.DeleteFunc(cases, func(c contracttests.Exchange) bool {
		return slices.ContainsFunc(c.Steps, func(s contracttests.Step) bool { return s.Method != http.MethodGet })
	})
	for i := range reads {
		reads[i].File = "own attributes"
		for j := range reads[i].Steps {
			reads[i].Steps[j].Response.Body = inOrder(&reads[i].Steps[j])
		}
	}
	for engine, newDSN := range map[string]func(testing.TB) string{"sqlite": sqltest.SQLite, "postgres": sqltest.Postgres, "mariadb": sqltest.MariaDB} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			shop := apptest.Import(t, magento1test.OwnAttributes, "", newDSN(t))
			shop.Commands.MustRun(t, append([]string{"import", "credentials", "--admins", "--config", shop.Config}, shop.From...)...)
			if got, want := contracttests.Replay(t, shop.Target(t), reads), (contracttests.Summary{Passed: len(reads)}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
