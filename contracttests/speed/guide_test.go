//go:build linux

package speed

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// section returns the section of the operators' guide about large catalogs.
func section(t *testing.T) string {
	t.Helper()
	guide := apptest.ReadFile(t, filepath.Join(testenv.Root(t), "cmd", "portico", "OPERATIONS.md"))
	_, rest, _ := strings.Cut(guide, "\n## Large catalogs\n")
	text, _, found := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatal("the guide has no such section")
	}
	return text
}

// unindexed returns the fields without an index that the section lists, by their kind: short texts,
// long texts, or numbers and times.
func unindexed(text string) map[string][]string {
	found := map[string][]string{}
	name := regexp.MustCompile("`([a-z_]+)`")
	for _, item := range regexp.MustCompile(`(?m)^- ([a-z ]+): ((?:.|\n  )+)`).FindAllStringSubmatch(text, -1) {
		for _, match := range name.FindAllStringSubmatch(item[2], -1) {
			found[item[1]] = append(found[item[1]], match[1])
		}
	}
	return found
}

// indexed are the fields that have an index in every new store.
func indexed() []string {
	return []string{"entity_id", "sku", "name", "created_at", "updated_at", "price", "status"}
}

// TestGuideFields compares the fields that the section lists with the filter fields of the
// contract.
func TestGuideFields(t *testing.T) {
	t.Parallel()
	var documented, filterable []string
	for _, names := range unindexed(section(t)) {
		documented = append(documented, names...)
	}
	for _, field := range contract.StandardFields().AdminProducts.Fields {
		if field.Filter == contract.FilterByValue && field.Attribute != "" && !slices.Contains(indexed(), field.Name) {
			filterable = append(filterable, field.Name)
		}
	}
	slices.Sort(documented)
	slices.Sort(filterable)
	if !slices.Equal(documented, filterable) {
		t.Errorf("the guide lists %v, but these have no index: %v", documented, filterable)
	}
	var guests []string
	for _, field := range contract.StandardFields().PublicProducts.Fields {
		if field.Queryable(contract.Documented(), contract.Guest) && field.Filter == contract.FilterByValue && field.Attribute != "" && !slices.Contains(indexed(), field.Name) {
			guests = append(guests, "`"+field.Name+"`")
		}
	}
	last := len(guests) - 1
	want := "Guests may filter by " + strings.Join(guests[:last], ", ") + " and " + guests[last] + "."
	if words := strings.Join(strings.Fields(section(t)), " "); !strings.Contains(words, want) {
		t.Errorf("the guide does not say %q", want)
	}
}

// statementsFor returns the statements of the section for an engine.
func statementsFor(text, engine string) (all []string) {
	for _, block := range regexp.MustCompile("(?s)```sql\n-- "+engine+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			all = append(all, strings.TrimSuffix(strings.TrimSpace(line), ";"))
		}
	}
	return all
}

// examples are the fields of the statements, by the kind of field that they stand for.
func examples() map[string]string {
	return map[string]string{"short texts": "url_key", "long texts": "description", "numbers and times": "weight"}
}

// TestGuideIndexes creates the indexes of the section for all fields, and checks that each engine uses
// each of them for a list that is filtered by the field.
func TestGuideIndexes(t *testing.T) {
	t.Parallel()
	for _, e := range []struct{ engine, named string }{{"sqlite", "SQLite"}, {"postgres", "PostgreSQL"}, {"mariadb", "MariaDB"}} {
		t.Run(e.engine, func(t *testing.T) {
			t.Parallel()
			dsn := demotest.Database(t, e.engine)
			if err := demotest.AddProducts(t.Context(), dsn, 5000); err != nil {
				t.Fatal(err)
			}
			text := section(t)
			statements := statementsFor(text, e.named)
			for kind, names := range unindexed(text) {
				at := slices.IndexFunc(statements, func(s string) bool {
					return strings.Contains(s, "INDEX CONCURRENTLY product_"+examples()[kind]) || strings.Contains(s, "INDEX product_"+examples()[kind])
				})
				if at < 0 {
					t.Fatalf("no statement for %s", kind)
				}
				for _, name := range names {
					sqltest.Exec(t, dsn, strings.ReplaceAll(statements[at], examples()[kind], name))
				}
			}
			if e.engine == "postgres" {
				sqltest.Exec(t, dsn, statements[len(statements)-2:]...)
			}
			if e.engine != "sqlite" {
				sqltest.Exec(t, dsn, "ANALYZE"+map[string]string{"mariadb": " TABLE product"}[e.engine])
			}
			checkIndexes(t, e.engine, dsn, unindexed(text))
		})
	}
}

// checkIndexes checks that lists that are filtered by the fields use an index of the field.
func checkIndexes(t *testing.T, engine, dsn string, fields map[string][]string) {
	t.Helper()
	var watched sqltest.Statements
	db := demotest.Open(t, sqlstore.Options{DSN: dsn, Wrap: watched.Wrap})
	store := adaptertest.StoreOf(t, db.Adapter(), adapter.Products)
	raw := sqltest.Raw(t, dsn)
	check := func(test adapter.Test, index string, argument any) {
		watched.Take()
		adaptertest.MustList(t, store, adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{test}}}, Limit: 10}})
		executed, _ := watched.Take()
		if steps := explain(t, raw, engine, executed[0], argument); !strings.Contains(steps, index) {
			t.Errorf("%s by %v: no %s in the plan\n%s", engine, test, index, steps)
		}
	}
	for kind, names := range fields {
		for _, name := range names {
			operand, index := "7", "product_"+name
			if kind != "numbers and times" {
				operand, index = "NO PRODUCT HAS IT", index+"_folded"
			} else if at, _ := adapter.NewSchemas().Of(adapter.Products).Index(name); adapter.NewSchemas().Of(adapter.Products).Attributes[at].Kind == adapter.KindTime {
				operand = "2012-01-01 00:00:00"
			}
			check(adapter.Test{Attribute: name, Op: adapter.Eq, Operands: []string{operand}}, index, operand)
		}
	}
	if engine == "postgres" {
		check(adapter.Test{Attribute: "name", Op: adapter.Like, Operands: []string{"%no product has it%"}}, "product_name_trigrams", "%NO PRODUCT HAS IT%")
	}
}

// explain returns the plan of a statement of a list with one operand, and a limit as the last parameter.
func explain(t *testing.T, db *sql.DB, engine, statement string, operand any) string {
	t.Helper()
	prefix := map[string]string{"sqlite": "EXPLAIN QUERY PLAN ", "postgres": "EXPLAIN ", "mariadb": "EXPLAIN "}[engine]
	rows, err := db.QueryContext(t.Context(), prefix+statement, operand, 10)
	if err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, name := range columns {
			if name != "possible_keys" { // of MariaDB: the indexes that it does not use
				fmt.Fprintf(&plan, "%s ", cells[i].String)
			}
		}
		plan.WriteString("\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
