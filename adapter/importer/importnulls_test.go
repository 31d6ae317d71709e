package importer_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/binlog"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A nullable is a column of a legacy store that may be null: of any row, or of the rows that hold
// the values of one attribute.
type nullable struct{ table, column, rows string }

// nullables returns the columns that may be null of all tables that are imported, by table.
func nullables(t *testing.T, shop *sql.DB) map[string][]nullable {
	t.Helper()
	all := map[string][]nullable{}
	for _, name := range apptest.SelectTexts(t, shop, "SELECT CONCAT(table_name, ' ', column_name) FROM information_schema.columns WHERE table_schema = DATABASE() AND is_nullable = 'YES' ORDER BY table_name, ordinal_position") {
		table, column, _ := strings.Cut(name, " ")
		if !slices.Contains(binlog.TableNames(), table) {
			continue
		}
		if _, values := magento1.ValueTables()[table]; !values {
			all[table] = append(all[table], nullable{table, column, "1 = 1"})
			continue
		}
		for _, attribute := range apptest.SelectTexts(t, shop, "SELECT DISTINCT attribute_id FROM "+table+" ORDER BY 1") {
			all[table] = append(all[table], nullable{table, column, "attribute_id = " + attribute})
		}
	}
	return all
}

// primaryKey returns the column or columns of the primary key of a table as an expression.
func primaryKey(t *testing.T, shop *sql.DB, table string) string {
	t.Helper()
	return "CONCAT_WS('/', " + strings.Join(apptest.SelectTexts(t, shop, "SELECT column_name FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND constraint_name = 'PRIMARY' AND table_name = '"+table+"' ORDER BY ordinal_position"), ", ") + ")"
}

// A nulling sets a column of one row to null.
type nulling struct {
	nullable
	key, row string
}

// nullingRounds divides the columns into rounds, in each of which no row of a table loses more than
// one of them, unless they are values of attributes. Columns that are null everywhere are left out.
func nullingRounds(t *testing.T, shop *sql.DB, random *rand.Rand) (rounds [][]nulling) {
	t.Helper()
	all := nullables(t, shop)
	for _, table := range slices.Sorted(maps.Keys(all)) {
		key := primaryKey(t, shop, table)
		columns := all[table]
		random.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
		used := []map[string]bool{} // rows, by round
		for _, c := range columns {
			rows := apptest.SelectTexts(t, shop, fmt.Sprintf("SELECT %s FROM %s WHERE %s AND %s IS NOT NULL", key, table, c.rows, c.column))
			random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			for round := 0; len(rows) > 0; round++ {
				if round == len(used) {
					used = append(used, map[string]bool{})
				}
				at := slices.IndexFunc(rows, func(row string) bool { return !used[round][row] })
				if at < 0 {
					continue
				}
				used[round][rows[at]] = true
				if round == len(rounds) {
					rounds = append(rounds, nil)
				}
				rounds[round] = append(rounds[round], nulling{c, key, rows[at]})
				break
			}
		}
	}
	return rounds
}

// recordsOf returns the records of a store, parts included, by the resource and the key, with the
// record that each belongs to.
func recordsOf(t *testing.T, dsn string) map[string]string {
	t.Helper()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: dsn})
	defer func() { _ = db.Close() }()
	all := map[string]string{}
	for _, r := range adapter.Resources() {
		store, err := db.Adapter().Store(r)
		if err != nil {
			t.Fatal(r, err)
		}
		found, err := store.List(t.Context(), &adapter.ListParams{})
		if err != nil {
			t.Fatal(r, err)
		}
		for _, one := range found.Records {
			root := ""
			if s := one.Schema; s.Root != "" {
				root = fmt.Sprintf("%s %s", s.Root, one.Get(s.RootAttribute).Text())
			}
			key := fmt.Sprint(one.Key())
			switch r { // whose keys are the store's own
			case adapter.ProductWebsites:
				key = root + " " + one.Get("website_id").Text()
			case adapter.ProductCategories:
				key = root + " " + one.Get("category_id").Text()
			}
			all[string(r)+" "+key] = root
		}
	}
	return all
}

// digits matches ids in the texts of a report.
var digits = regexp.MustCompile("[0-9]+")

// namesOf returns the records that a report names: the skipped records, and in each part the
// records whose ids are in the entries left out.
func namesOf(r apptest.Report) map[string]bool {
	named := map[string]bool{}
	name := func(p string, id string) {
		resources := map[magento1.Part][]adapter.Resource{magento1.Images: {adapter.Products, adapter.ProductImages},
			magento1.Orders: {adapter.Orders, adapter.OrderItems, adapter.OrderAddresses, adapter.OrderComments}}[magento1.Part(p)]
		for _, resource := range append(resources, magento1.Part(p).Resources()...) {
			named[string(resource)+" "+id] = true
		}
	}
	for _, part := range r.Resources {
		for _, s := range part.Skipped {
			for _, id := range s.IDs {
				name(part.Resource, fmt.Sprint(id))
			}
		}
		for _, s := range part.LeftOut {
			for _, key := range s.Keys {
				for _, id := range digits.FindAllString(key, -1) {
					name(part.Resource, id)
				}
			}
		}
	}
	for _, n := range r.Credentials.Notes {
		for _, id := range digits.FindAllString(n.Name, -1) {
			named["admins "+id] = true
		}
	}
	return named
}

// costsRecord reports whether a reason may cost a whole record: it lacks a required value, or its
// owner is not here.
func costsRecord(reason string) bool {
	return slices.Contains([]string{
		"no sku that can be stored", "no email that can be stored", "no customer_id that can be stored", "its product is not here", "its customer is not here",
	}, reason)
}

// nullRows sets the columns of a round to null, and returns a function that restores them.
func nullRows(t *testing.T, shop *sql.DB, round []nulling) (restore func()) {
	t.Helper()
	var statements, undo []string
	for _, n := range round {
		where := fmt.Sprintf("%s = '%s'", n.key, n.row)
		old := apptest.SelectTexts(t, shop, fmt.Sprintf("SELECT QUOTE(%s) FROM %s WHERE %s", n.column, n.table, where))
		statements = append(statements, fmt.Sprintf("UPDATE %s SET %s = NULL WHERE %s", n.table, n.column, where))
		undo = append(undo, fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", n.table, n.column, old[0], where))
	}
	magento1test.Break(t, shop, statements...)
	return func() {
		t.Helper()
		if t.Failed() {
			t.Log(strings.Join(statements, "\n"))
		}
		magento1test.Break(t, shop, undo...)
	}
}

// TestImportNulls imports a shop in which each nullable column is null in some row. A run takes a
// sample of the rounds of columns. No import stops, no record is lost without being named, and a
// record is lost only if a value that it requires is null.
func TestImportNulls(t *testing.T) {
	t.Parallel()
	sample := testenv.NewSample(t)
	shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	imported := func() (map[string]string, apptest.Report) {
		t.Helper()
		fresh, path := shop.WithStore(t)
		report := fresh.Run(t, "all")
		return recordsOf(t, "sqlite:"+path), report
	}
	whole, _ := imported()
	rounds := nullingRounds(t, shop.DB, sample.Rand)
	sample.Shuffle(len(rounds), func(i, j int) { rounds[i], rounds[j] = rounds[j], rounds[i] })
	columns, imports := 0, 0
	for _, round := range rounds {
		columns += len(round)
		if imports > 0 && !sample.Takes(8) {
			continue
		}
		imports++
		restore := nullRows(t, shop.DB, round)
		here, report := imported()
		named := namesOf(report)
		for record, root := range whole {
			if _, ok := here[record]; !ok && !named[record] && !named[root] {
				t.Errorf("%s is not here, and the report does not name it", record)
			}
		}
		for _, part := range report.Resources {
			for _, s := range part.Skipped {
				if !costsRecord(s.Reason) {
					t.Errorf("%s %v are not here: %s", part.Resource, s.IDs, s.Reason)
				}
			}
		}
		restore()
	}
	if columns < 300 {
		t.Errorf("only %d columns may be null", columns)
	}
	t.Logf("%d columns in %d rounds, of which %d were imported", columns, len(rounds), imports)
}
