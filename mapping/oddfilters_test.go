package mapping_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// The tests of odd requests check one property: while the backend works, no client gets
// an internal error, whatever it sends. A run for a commit sends another sample each
// time, to SQLite. The nightly run sends forty times as many, which is all of most kinds,
// to every engine.

// onAllEngines runs a test in each dialect on a shop of its own, and in the nightly run
// also on each engine.
func onAllEngines(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	inBothDialectsOnSQLite(t, test)
	if !testenv.Nightly() {
		return
	}
	for _, d := range contract.Dialects() {
		t.Run(d.Name+" on postgres", func(t *testing.T) { test(t, openShopOn(t, d, sqltest.Postgres(t))) })
		t.Run(d.Name+" on mariadb", func(t *testing.T) { test(t, openShopOn(t, d, sqltest.MariaDB(t))) })
	}
}

// openShopOn is like openShop, with the empty database of a DSN.
func openShopOn(t testing.TB, d *contract.Dialect, dsn string) *shop {
	t.Helper()
	db := openFile(t, sqlstore.Options{DSN: dsn, MediaDir: t.TempDir(), Migrate: true})
	data := loadDemo(t)
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	save := func(testing.TB) func(testing.TB) bool {
		return func(t testing.TB) bool {
			t.Helper()
			if err := db.Reset(t.Context(), data); err != nil {
				t.Fatal(err)
			}
			return true
		}
	}
	store := &store{Adapter: db.Adapter(), credentials: db.Credentials(), save: save}
	return serveShop(t, d, settings(), data, store, store)
}

// oddOperands returns operands, URL-encoded, to compare any attribute with: numbers
// around the bounds of columns, invalid times and texts.
func oddOperands() []string {
	operands := []string{"1", "0", "-1", "+1", "1.5", "1.00005", "-0.00001", "1e15", "1e-300", "1e400", "-1e400", "INF", "0x10", "1,5", " 1 ", "1abc",
		"32768", "2147483647", "2147483648", "-2147483649", "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"99999999.9999", "100000000", "450359962737049.6", "450359962737049.7", "99999999999999999999.99999",
		"2012-02-29", "2012-02-30", "2013-02-29 00:00:00", "2012-1-1 1:1:1", "2012-01-01T25:00", "0000-00-00 00:00:00", "0000-01-01", "0001-01-01", "9999-12-31 23:59:59.999999", "10000-01-01", "-0001-01-01",
		"20120101", "00000000", "99991231", "02/30/2012", "1/1/0000", "12/31/9999", "infinity", "now", "epoch", "today",
		"true", "null", "\\", "a\\", "{a,b}", "%s", "\xff", "a\xffb", "\xed\xa0\x80", "\x00", "a\x00b", "\x01", "\u2028", "\uffff", "\ufffe", "\U0010ffff", "é\u0301", "ß", "%", "_", "[a-z]", "?", "$1", ":name", "@x", strings.Repeat("x", 70_000), strings.Repeat("9", 400)}
	for i, operand := range operands {
		operands[i] = url.QueryEscape(operand)
	}
	return operands
}

// TestOddFilters compares every attribute of every list with every odd operand, by every
// operator, and sorts by it. No list may fail, for any kind of attribute.
func TestOddFilters(t *testing.T) {
	t.Parallel()
	operators := []string{"eq", "neq", "like", "nlike", "in", "nin", "gt", "lt", "gteq", "lteq", "from", "to", "from][]=0&filter[1][to", "datetime]=1&filter[1][to", "finset", "regexp", "seq", "sneq", "null", "notnull", "moreq", ""}
	const oneIn = 1500
	onAllEngines(t, func(t *testing.T, s *shop) {
		sample := testenv.NewSample(t)
		routes := contract.Routes(contract.StandardFields())
		for _, l := range modifiedLists() {
			if l.modifiers != applied {
				continue
			}
			route := routes[slices.IndexFunc(routes, func(r *contract.Route) bool { return r.Path == l.path })]
			roles := []contract.Role{contract.Admin}
			if strings.HasPrefix(l.path, "/products") {
				roles = append(roles, contract.Guest)
			}
			for _, role := range roles {
				for i := range route.Fields.Fields {
					field := &route.Fields.Fields[i]
					if !field.Queryable(s.dialect, role) {
						continue
					}
					for _, operand := range oddOperands() {
						for _, operator := range operators {
							if !sample.Takes(oneIn) {
								continue
							}
							target := fmt.Sprintf("%s?filter[1][attribute]=%s&filter[1][%s]=%s&order=%[2]s&dir=desc", l.target, field.Name, operator, operand)
							if field.Sort >= contract.Unsortable {
								target, _, _ = strings.Cut(target, "&order=")
							}
							s.checkContractReply(t, target, s.serve(role, "GET", target, "", "Accept", "application/json"))
							if t.Failed() {
								t.FailNow() // thousands of others would fail the same way
							}
						}
					}
				}
			}
		}
		s.checkNothingLogged(t)
	})
}
