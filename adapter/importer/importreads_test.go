package importer_test

import (
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// readsOf returns the cases that only read.
func readsOf(cases []contracttests.Exchange) (reads []contracttests.Exchange) {
	for _, c := range cases {
		readsOnly := true
		for _, s := range c.Steps {
			readsOnly = readsOnly && s.Method == "GET"
		}
		if readsOnly {
			reads = append(reads, c)
		}
	}
	return reads
}

// TestImportedShops imports whole shops and compares a sample of Portico's replies after the import with the
// originals' replies.
func TestImportedShops(t *testing.T) {
	t.Parallel()
	stores := map[string]func(testing.TB) string{
		"sqlite": sqltest.SQLite,
	}
	if testenv.Nightly() {
		stores["postgres"], stores["mariadb"] = sqltest.Postgres, sqltest.MariaDB
	}
	for _, c := range testenv.Rows(t, []struct {
		shop      magento1test.Shop
		prefix    string
		exchanges func() ([]contracttests.Exchange, error)
		all       int
	}{
		{magento1test.Rich, "", contracttests.RichExchanges, 136},
		{magento1test.Demo, "mage_", contracttests.Exchanges, 172},
	}, 2) {
		for engine, newDSN := range stores {
			t.Run(string(c.shop)+" "+engine, func(t *testing.T) {
				shop := apptest.Import(t, c.shop, c.prefix, newDSN(t))
				cases, err := c.exchanges()
				if err != nil {
					t.Fatal(err)
				}
				reads := readsOf(cases)
				if len(reads) != c.all {
					t.Errorf("%d exchanges, want %d", len(reads), c.all)
				}
				sample := apptest.SampleExchanges(t, reads, 3)
				if got, want := contracttests.Replay(t, shop.Target(t), sample), (contracttests.Summary{Passed: len(sample)}); got != want && !t.Failed() {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
		}
	}
}
