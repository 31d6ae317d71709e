//go:build linux

package apptest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// The routes of processes in front of a legacy store. The processes answer reads. The legacy store
// answers writes, or the processes answer them and repeat them there.
const (
	WritesToLegacy = "{resource: all, calls: reads, to: portico}, {resource: all, calls: writes, to: legacy}, {resource: outside, to: legacy}"
	MirroredWrites = "{resource: all, calls: reads, to: portico}, {resource: all, calls: writes, to: portico, mirror: true}, {resource: outside, to: legacy}"
)

// A Front is a legacy store that gets all writes, with processes of "portico serve" in front of it,
// which follow it and answer the reads.
type Front struct {
	*Living
	Line    *SlowProxy // between the processes and the legacy store's database
	Environ []string
}

// NewFront fills a store from a legacy store. routes are the routes of the processes in front.
func NewFront(t testing.TB, routes string) *Front {
	t.Helper()
	return FrontOf(t, StartLiving(t, magento1test.Demo, ""), routes)
}

// FrontOf is NewFront for a running legacy store.
func FrontOf(t testing.TB, shop *Living, routes string) *Front {
	t.Helper()
	f := &Front{Living: shop}
	dsn, err := mysql.ParseDSN(strings.TrimPrefix(f.From[1], "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	f.Line = NewSlowProxy(t, dsn.Addr)
	dsn.Addr = f.Line.Listen
	f.Commands = f.Commands.With("PORTICO_SQL_DSN=" + sqltest.SQLite(t))
	f.Run(t, "--media", f.Media, "all")
	file, err := os.OpenFile(f.Config, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString("\nroutes: [" + routes + "]\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	f.Environ = f.Commands.With(
		"PORTICO_LEGACY_URL="+strings.TrimSuffix(f.Target.BaseURL, "/"), "PORTICO_PUBLIC_URL=", "PORTICO_FOLLOW_DSN=mysql:"+dsn.FormatDSN(), "PORTICO_FOLLOW_INTERVAL=100ms", "PORTICO_FOLLOW_COMPARE_PERIOD=1h", "PORTICO_LOG_LEVEL=warn",
	)
	return f
}

// Serve starts a process that follows the shop.
func (f *Front) Serve(t testing.TB, environ ...string) (*Process, *Client) {
	t.Helper()
	p := Start(t, append(f.Environ, environ...), "--config", f.Config)
	return p, NewClient(t, p.Contract, DemoAdmin())
}

// AddressBody returns a new address, which becomes the default.
func AddressBody(street string) string {
	return fmt.Sprintf(`{"firstname":"A","lastname":"B","street":[%q],"city":"Lyon","postcode":"69000","country_id":"GB","telephone":"1","is_default_billing":1,"is_default_shipping":1}`, street)
}
