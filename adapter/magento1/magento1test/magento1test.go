package magento1test

import (
	"compress/gzip"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

//go:embed tables.sql keys.sql broken.sql testdata
var files embed.FS

// Password is the password of every customer and administrator of the shop Broken who has
// one.
const Password = "swordfish"

// A Shop is the content of a database.
type Shop string

// The shops.
const (
	Broken Shop = "broken"
	Demo   Shop = "demo"
	Rich   Shop = "rich"
	// OwnAttributes is Rich with attributes of every kind and scope.
	OwnAttributes Shop = "ownattributes"
)

// OwnAttributeCases returns the original's replies on the shop OwnAttributes, as a file of package
// contracttests.
func OwnAttributeCases(tb testing.TB) []byte {
	tb.Helper()
	return []byte(read(tb, "testdata/ownattributes.cases.json"))
}

// New creates the shop Broken: see [NewShop].
func New(tb testing.TB, prefix string) (dsn string, db *sql.DB) {
	tb.Helper()
	return NewShop(tb, Broken, prefix)
}

// NewShop creates a shop whose tables have a prefix. It returns the DSN, and a connection
// pool with which tests can change the shop. Both end with the test.
func NewShop(tb testing.TB, shop Shop, prefix string) (dsn string, db *sql.DB) {
	tb.Helper()
	dsn = sqltest.MariaDB(tb)
	return dsn, Fill(tb, dsn, shop, prefix)
}

// Open opens the database of a shop for statements as they are in the files of this package.
func Open(dsn string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(strings.TrimPrefix(dsn, "mysql:"))
	if err != nil {
		return nil, err
	}
	config.MultiStatements, config.Logger = true, &mysql.NopLogger{} // errors are returned
	config.Params = map[string]string{"sql_mode": "'NO_AUTO_VALUE_ON_ZERO'", "time_zone": "'+00:00'"}
	if err := config.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Fill creates a shop in an empty database, as NewShop does.
func Fill(tb testing.TB, dsn string, shop Shop, prefix string) *sql.DB {
	tb.Helper()
	db, err := Open(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	// A server that checks the keys copies every table: TestKeys does so, and other tests need not.
	const unchecked = "SET foreign_key_checks = 0;\n%s;\nSET foreign_key_checks = 1"
	filled, err := inserts[shop]()
	if err != nil {
		tb.Fatal(err)
	}
	statements := []string{read(tb, "tables.sql"), filled}
	if shop != Broken {
		statements = append(statements, fmt.Sprintf(unchecked, strings.TrimRight(read(tb, "keys.sql"), ";\n")))
	}
	for _, text := range statements {
		if _, err := db.ExecContext(tb.Context(), strings.ReplaceAll(text, "{p}", prefix)); err != nil {
			tb.Fatal(err)
		}
	}
	return db
}

// Break executes statements on a shop without checking foreign keys, as in legacy stores that have
// lost some: there may be rows that refer to nothing afterwards, and rows that refer to a removed
// one stay.
func Break(tb testing.TB, db *sql.DB, statements ...string) {
	tb.Helper()
	conn, err := db.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, s := range slices.Concat([]string{"SET foreign_key_checks = 0"}, statements, []string{"SET foreign_key_checks = 1"}) {
		if _, err := conn.ExecContext(tb.Context(), s); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

// Media returns the files of the images of the shop Rich, and some more, with their paths
// below the folder of the products' images.
func Media(tb testing.TB) fs.FS {
	tb.Helper()
	media, err := fs.Sub(files, "testdata/media/catalog/product")
	if err != nil {
		tb.Fatal(err)
	}
	return media
}

func read(tb testing.TB, name string) string {
	tb.Helper()
	text, err := files.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// inserts returns the statements that insert the rows of each shop, which it reads on first use.
var inserts = map[Shop]func() (string, error){
	Broken:        sync.OnceValues(func() (string, error) { text, err := files.ReadFile("broken.sql"); return string(text), err }),
	Demo:          sync.OnceValues(func() (string, error) { return rows(Demo) }),
	Rich:          sync.OnceValues(func() (string, error) { return rows(Rich) }),
	OwnAttributes: sync.OnceValues(func() (string, error) { return rows(OwnAttributes) }),
}

// rows returns the statements that insert the rows of a shop's file.
func rows(shop Shop) (string, error) {
	var tables map[string]struct {
		Columns []string
		Rows    [][]*string
	}
	file, err := files.Open("testdata/" + string(shop) + ".json.gz")
	if err != nil {
		return "", err
	}
	text, err := gzip.NewReader(file)
	if err != nil {
		return "", err
	}
	if err := json.NewDecoder(text).Decode(&tables); err != nil {
		return "", err
	}
	escape := newEscaper()
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		for i, row := range tables[name].Rows {
			separator := ",\n"
			if i == 0 {
				separator = ";\nINSERT INTO {p}" + name + " (`" + strings.Join(tables[name].Columns, "`, `") + "`) VALUES\n"
			}
			all.WriteString(separator + "(" + literals(escape, row) + ")")
		}
	}
	return strings.TrimPrefix(all.String(), ";\n"), nil
}

// newEscaper returns a replacer for texts in SQL literals.
func newEscaper() *strings.Replacer {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\r", `\r`, "\n", `\n`)
}

// literals returns values as SQL literals, separated by commas.
func literals(escape *strings.Replacer, row []*string) string {
	all := make([]string, len(row))
	for i, v := range row {
		all[i] = "NULL"
		if v != nil {
			all[i] = "'" + escape.Replace(*v) + "'"
		}
	}
	return strings.Join(all, ", ")
}
