//go:build linux

package speed

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// A growth is a way in which stores grow, and the read that it could make slow.
type growth struct {
	name       string
	statements []string // for the store, in the SQL of SQLite
	attributes int      // own attributes of products, of which each product has all
	reading
}

// made is a table of the numbers from 1 to the one that it is formatted with.
const made = "WITH RECURSIVE made(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made WHERE n < %d) "

// growths returns the growths of BenchmarkGrowth, which start with a store that has not grown.
func growths() []growth {
	list := reading{"guest list of 10", get("/api/rest/products")}
	categories := reading{"categories of a product", get("/api/rest/products/147/categories").asAdmin()}
	products := reading{"admin list of 100", get("/api/rest/products?limit=100").asAdmin()}
	return []growth{
		{name: "none", reading: list},
		{name: "50 store views", reading: list, statements: []string{
			fmt.Sprintf("INSERT INTO store (store_id, website_id, code, name) "+made+"SELECT 100 + n, 1, 'view' || n, 'View ' || n FROM made", 50),
			"INSERT INTO product_listing (store_id, product_id) SELECT s.store_id, l.product_id FROM store AS s, product_listing AS l WHERE s.store_id > 100 AND l.store_id = 1",
			"INSERT INTO product_value (product_id, store_id, attribute, value) SELECT p.entity_id, s.store_id, 'name', 'Name ' || s.store_id FROM store AS s, product AS p WHERE s.store_id > 100",
		}},
		{name: "50,000 tax rates", reading: list, statements: []string{
			fmt.Sprintf("INSERT INTO tax_rate (country_id, region, tax_class_id, rate, name) "+made+
				"SELECT CHAR(65 + n %% 26, 65 + n / 26 %% 26), 'R' || n, 2, 1 + n %% 20, 'Rate ' || n FROM made", 50_000),
		}},
		{name: "prices of rules for 20 other groups", reading: list, statements: []string{rulePrices(-1), rulePrices(0), rulePrices(1)}},
		{name: "1,000 categories a product", reading: categories, statements: []string{
			fmt.Sprintf("INSERT INTO category (category_id, parent_id, name, is_active) "+made+"SELECT 1000 + n, 2, 'Category ' || n, 1 FROM made", 1000),
			"INSERT INTO product_category (product_id, category_id, position) SELECT p.entity_id, c.category_id, 1 FROM product AS p, category AS c WHERE p.entity_id < 200 AND c.category_id > 1000",
		}},
		{name: "100 own attributes", reading: products, attributes: 100, statements: []string{
			fmt.Sprintf("INSERT INTO product_default_value (product_id, attribute, value) "+made+"SELECT p.entity_id, 'own_' || (100 + n), 'Value ' || n FROM product AS p, made", 100),
		}},
	}
}

// rulePrices returns the statement that gives each product the prices that rules of the catalog have for 20 customer
// groups at each website, some days from today.
func rulePrices(days int) string {
	day := time.Now().AddDate(0, 0, days).Format(time.DateOnly)
	return fmt.Sprintf("INSERT INTO product_rule_price (product_id, website_id, cust_group, rule_date, price) "+made+
		"SELECT p.entity_id, w.website_id, n, '%s 00:00:00', 1.5 FROM product AS p, website AS w, made", 20, day)
}

// start starts a server and a floor on a store that has grown.
func (g *growth) start(b testing.TB, newStore storeMaker) (portico, least *server) {
	b.Helper()
	s := newStore(b, b.TempDir(), g.statements...)
	if g.attributes > 0 {
		settings := strings.Builder{}
		settings.WriteString("attributes:\n")
		for n := range g.attributes {
			fmt.Fprintf(&settings, "  - {resource: products, name: own_%d, kind: text, roles: [admin]}\n", 101+n)
		}
		file := filepath.Join(b.TempDir(), "portico.yaml")
		apptest.WriteFile(b, file, settings.String())
		s.environ = append(s.environ, "PORTICO_CONFIG="+file)
	}
	return s.start(b)
}

// BenchmarkGrowth compares reads of stores that have grown with floors on the same stores.
func BenchmarkGrowth(b *testing.B) {
	for _, engine := range engines {
		for _, g := range growths() {
			b.Run(engine.name+"/"+g.name, func(b *testing.B) {
				portico, least := g.start(b, engine.newStore)
				compare(b, portico, least, g.request)
			})
		}
	}
}

// TestGrowths checks that the server and the floor give the same replies about stores that have grown.
func TestGrowths(t *testing.T) {
	t.Parallel()
	for _, g := range growths() {
		t.Run(g.name, func(t *testing.T) {
			portico, least := g.start(t, newStore)
			compareReplies(t, portico, least, g.request)
		})
	}
}
