package migration_test

import (
	"encoding/json"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/contracttests"
)

// TestOwnAttributes imports the shop whose attributes are of every kind and scope, and compares
// Portico's replies with the original's, outside nightly runs on one engine, in turn. The writes of a case
// change nothing that another case reads.
func TestOwnAttributes(t *testing.T) {
	t.Parallel()
	var cases []contracttests.Exchange
	if err := json.Unmarshal(magento1test.OwnAttributeCases(t), &cases); err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		cases[i].File = "own attributes"
		for j := range cases[i].Steps {
			cases[i].Steps[j].Response.Body = inOrder(&cases[i].Steps[j])
		}
	}
	for _, e := range sqltest.EnginesInTurn(t) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			shop := apptest.Import(t, magento1test.OwnAttributes, "", e.NewDSN(t))
			shop.Commands.MustRun(t, append([]string{"import", "credentials", "--admins", "--config", shop.Config}, shop.From...)...)
			if got, want := contracttests.Replay(t, shop.Target(t), cases), (contracttests.Summary{Passed: len(cases)}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
