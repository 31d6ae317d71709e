//go:build linux

package speed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// labeledAttributes configures the attributes of benchmarkLabels.
const labeledAttributes = `attributes:
  - {resource: products, name: finish, kind: select, scope: store, roles: [admin, customer, guest]}
  - {resource: products, name: shade, kind: select, scope: store, roles: [admin, customer, guest]}
`

// labelOptions is the number of options of each attribute. The labels are not in the order of the ids.
const labelOptions = 40

// addLabels adds options, and their values of all generated products, to a database without any. In
// the default scope nine of ten products have a finish, and all have a shade. At store view 2 one
// product in twenty has another finish, and another shade.
func addLabels(b *testing.B, dsn string) {
	b.Helper()
	db := sqltest.Raw(b, dsn)
	var options int
	if err := db.QueryRowContext(b.Context(), "SELECT COUNT(*) FROM attribute_option WHERE attribute = 'shade'").Scan(&options); err != nil {
		b.Fatal(err)
	}
	if options > 0 {
		return
	}
	var statements []string
	for _, attribute := range []string{"finish", "shade"} {
		for i := range labelOptions {
			id, label := 1000+i, fmt.Sprintf("Label %03d", i*7%labelOptions)
			if attribute == "shade" {
				id += labelOptions
			}
			statements = append(statements, fmt.Sprintf("INSERT INTO attribute_option (option_id, resource, attribute, label) VALUES (%d, 'products', '%s', '%s')", id, attribute, label))
		}
	}
	generated := fmt.Sprintf("FROM product WHERE entity_id >= %d", demotest.FirstGeneratedID)
	value := func(first, offset int) string {
		return fmt.Sprintf("CAST(%d + (entity_id * 7919 + %d) %% %d AS CHAR(4))", first, offset, labelOptions)
	}
	statements = append(statements,
		"INSERT INTO product_default_value (product_id, attribute, value) SELECT entity_id, 'finish', "+value(1000, 0)+" "+generated+" AND entity_id % 10 <> 3",
		"INSERT INTO product_default_value (product_id, attribute, value) SELECT entity_id, 'shade', "+value(1000+labelOptions, 3)+" FROM product",
		"INSERT INTO product_value (product_id, store_id, attribute, value) SELECT entity_id, 2, 'finish', "+value(1000, 5)+" "+generated+" AND entity_id % 20 = 1",
		"INSERT INTO product_value (product_id, store_id, attribute, value) SELECT entity_id, 2, 'shade', "+value(1000+labelOptions, 8)+" "+generated+" AND entity_id % 20 = 1",
	)
	if strings.HasPrefix(dsn, "postgres") {
		statements = append(statements, "VACUUM (ANALYZE) product_default_value", "VACUUM (ANALYZE) product_value")
	}
	sqltest.Exec(b, dsn, statements...)
}

// benchmarkLabels compares pages in the order of labels with the same pages in the order of SKUs, of ten
// products for a Guest and of a hundred for an Admin, in the default scope and at a store view:
//
//	page-N-sku-ms    a page in the order of SKUs, read again: median
//	page-N/sku       the page in the order of labels, read again, as a multiple of that
//	page-N-first-ms  the page in the order of labels, read for the first time and out of turn
//	page-N-first/sku this as a multiple of the page in the order of SKUs, read so, too
//
// A tenth of the products has no finish, and all have a shade.
func benchmarkLabels(b *testing.B, dsn string) {
	demotest.Open(b, sqlstore.Options{DSN: dsn, Migrate: true})
	addLabels(b, dsn)
	p := serveCatalog(b, dsn, "PORTICO_CONFIG="+apptest.NewFile(b, "portico.yaml", labeledAttributes))
	all, lists := clients(b, p), 0
	for _, c := range []struct{ role, view string }{{"guest", ""}, {"guest", "german"}, {"admin", ""}, {"admin", "german"}} {
		limit := map[string]int{"guest": 10, "admin": 100}[c.role]
		for _, attribute := range []string{"finish", "shade"} {
			for _, direction := range []string{"asc", "desc"} {
				b.Run(fmt.Sprintf("%s%s/%s/%s", c.role, c.view, attribute, direction), func(b *testing.B) {
					read := func(order string, page int) func(int) {
						path := fmt.Sprintf("/products?limit=%d&page=%d&order=%s&dir=%s&store=%s", limit, page, order, direction, c.view)
						return func(int) { mustGet(b, all[c.role], strings.TrimSuffix(path, "&store=")) }
					}
					for _, page := range []int{1, min(1000, *products/limit/4)} {
						name := page
						if lists += 2; page > 1 {
							page += lists // no list has read it, or the page before
						}
						bySKU, byLabel := read("sku", page), read(attribute, page)
						first := takeTurns(1, bySKU, byLabel)
						again := takeTurns(31, bySKU, byLabel)
						b.ReportMetric(again[0].median(), fmt.Sprintf("page-%d-sku-ms", name))
						b.ReportMetric(again[1].median()/again[0].median(), fmt.Sprintf("page-%d/sku", name))
						b.ReportMetric(first[1].median(), fmt.Sprintf("page-%d-first-ms", name))
						b.ReportMetric(first[1].median()/first[0].median(), fmt.Sprintf("page-%d-first/sku", name))
					}
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}
