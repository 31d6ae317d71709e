package apptest

import (
	"context"
	"database/sql"
	"os"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// A Living is a legacy store with active users, which answers its REST interface.
type Living struct {
	*magento1test.LiveShop                      // its administrators and buyers
	*Imported                                   // its database, and the flags that name it
	Target                 contracttests.Target // its REST interface
}

// StartLiving runs a legacy store until the end of the test: a program that serves the tables of
// its database, with the credentials in them.
func StartLiving(t testing.TB, content magento1test.Shop, prefix string) *Living {
	t.Helper()
	from, old := magento1test.NewShop(t, content, prefix)
	return StartLivingAt(t, from, old, prefix)
}

// StartLivingAt is StartLiving for a shop that exists.
func StartLivingAt(t testing.TB, from string, old *sql.DB, prefix string) *Living {
	t.Helper()
	s := &Living{Imported: NewImportedAt(t, from, old, prefix, sqltest.SQLite(t))}
	s.Run(t, "--admins", "websites", "customer-groups", "customers", "credentials") // tokens need their customers
	s.LiveShop = magento1test.NewLiveShop(s.DB, prefix)
	s.Target = targetOf(t, s.serve(t, prefix))
	return s
}

// serve starts the program of the legacy store.
func (s *Living) serve(t testing.TB, prefix string) *Process {
	t.Helper()
	p := StartProgram(t, s.Commands.With(
		FastPasswordHashing, dsnVariable+"="+s.From[1], prefixVariable+"="+prefix, "PORTICO_PUBLIC_URL=", "PORTICO_ADAPTER="+ShopsProgram,
		"PORTICO_STORE_THEMES=base/default,default/default,default/iphone,default/modern,rwd/default",
		"PORTICO_CACHE_MEMORY_BYTES=0", // since the tables change without the program
		"PORTICO_UPSTREAM_TIMEOUT=20s", // as statements of a busy machine take long
	), testenv.Self(t, ShopsProgram), "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--config", s.Config)
	p.AwaitAddresses(t, false)
	return p
}

// ShopsProgram is the name of the program that serves a legacy store, and of its adapter.
const ShopsProgram = "oldshop"

// The environment variables that name the legacy store to the program.
const (
	dsnVariable    = "OLDSHOP_DSN"
	prefixVariable = "OLDSHOP_PREFIX"
)

// OpenShops returns the adapter of the program of a legacy store.
func OpenShops(ctx context.Context, schemas *adapter.Schemas) (adapter.Adapter, error) {
	dsn := os.Getenv(dsnVariable)
	db, err := magento1test.Open(dsn)
	if err != nil {
		return nil, err
	}
	return magento1test.NewLiveShop(db, os.Getenv(prefixVariable)).Adapter(ctx, dsn, schemas)
}
