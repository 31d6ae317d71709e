package program

import (
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// manyProducts is the number of products that the store of these tests has in addition to the
// demo's, all with a text of textSize bytes, the first with one of longText.
const (
	manyProducts = 1500
	textSize     = 1 << 10
	longText     = 64<<10 - 1
)

// startLarge serves the demo store with manyProducts more products on the empty database
// of a DSN.
func startLarge(t *testing.T, dsn string) (base string) {
	t.Helper()
	data, err := dataset.Load() // a copy that is changed below
	if err != nil {
		t.Fatal(err)
	}
	const sentence = "the quick brown fox jumps over a lazy dog, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa. "
	add := func(resource adapter.Resource, set map[string]adapter.Value) {
		rec := data.Records[resource][0].Clone()
		for name, value := range set {
			rec.Set(name, value)
		}
		data.Records[resource] = append(data.Records[resource], rec)
	}
	for i := range int64(manyProducts) {
		id := adapter.IntegerValue(1000 + i)
		text := strings.Repeat(sentence, textSize/len(sentence))
		if i == 0 {
			text = strings.Repeat("a", longText)
		}
		add(adapter.Products, map[string]adapter.Value{"entity_id": id, "sku": adapter.TextValue("many-" + strconv.FormatInt(i, 10)), "description": adapter.TextValue(text)})
		add(adapter.StockItems, map[string]adapter.Value{"item_id": id, "product_id": id})
		add(adapter.ProductWebsites, map[string]adapter.Value{"assignment_id": {}, "product_id": id})
	}
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: dsn, Migrate: true})
	if err := errors.Join(db.Load(t.Context(), data, nil), db.Close()); err != nil {
		t.Fatal(err)
	}
	return apptest.StartDemoOn(t, dsn, "documented").Contract
}

// TestHostilePatterns checks that the most expensive patterns of filters end in time.
func TestHostilePatterns(t *testing.T) {
	testenv.OnlyNightly(t, "attacks")
	if !testenv.Nightly() { // the race detector slows matching tenfold
		return
	}
	const guard = time.Minute
	likes := map[string]string{
		"alternating wildcards":         strings.Repeat("%a", 499) + "%b",
		"wildcards of both kinds":       strings.Repeat("%_", 166),
		"one character, then any":       "%a" + strings.Repeat("_", 199) + "!%",
		"wildcards alone":               strings.Repeat("%", 1000),
		"single wildcards alone":        strings.Repeat("_", 200),
		"a long piece found nearly":     "%" + strings.Repeat("a", 997) + "b%",
		"two long pieces found nearly":  "%" + strings.Repeat("a", 498) + "%" + strings.Repeat("a", 498) + "b%",
		"pieces and single wildcards":   "%" + strings.Repeat("a_", 166) + "!%",
		"escapes alone":                 strings.Repeat(`\`, 1000),
		"escapes of wildcards":          "%" + strings.Repeat(`\%`, 499),
		"a lone escape behind wildcard": "%" + strings.Repeat("a%", 499) + `\`,
	}
	expressions := map[string]string{
		"nested repetitions":      "(((a+)+)+)+$!",
		"alternatives alike":      "^(a|a|aa)+$!",
		"any, repeated":           strings.Repeat("(.*)", 30) + "!",
		"any, counted":            ".{90}!",
		"optional, then demanded": strings.Repeat("a?", 40) + strings.Repeat("a", 40) + "!",
		"classes, counted":        `[\x00-\x{10FFFF}]{90}!`,
		"letters, counted":        `(\pL|\pN| ){40}!`,
	}
	engines := map[string]func(testing.TB) string{
		"sqlite":   func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "large.db") },
		"postgres": sqltest.Postgres, "mariadb": sqltest.MariaDB,
	}
	for engine, newDSN := range engines {
		t.Run(engine, func(t *testing.T) {
			base := startLarge(t, newDSN(t))
			run := func(operator string, patterns map[string]string) {
				for name, pattern := range patterns {
					t.Run(operator+" "+name, func(t *testing.T) {
						guest := apptest.NewClient(t, base, "")
						guest.HTTP.Timeout = guard
						query := url.Values{"limit": {"1"}, "attrs": {"sku"}, "filter[1][attribute]": {"description"}, "filter[1][" + operator + "]": {pattern}}
						if got := guest.Get(t, "/products?"+query.Encode()); got.Status != http.StatusOK {
							t.Errorf("%d %.300s", got.Status, got.Body)
						}
					})
				}
			}
			run("like", likes)
			if engine == "sqlite" { // matched here, whatever the engine
				run("regexp", expressions)
			}
		})
	}
}
