package migration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// TestChangedScopes imports a shop that has changed the scope of every own attribute, and of one of the
// contract, after values were stored at store views. The import takes over all values or names them, and
// replies show them by the new scope (own_attributes 1 to 6).
func TestChangedScopes(t *testing.T) {
	t.Parallel()
	from, old := magento1test.NewShop(t, magento1test.OwnAttributes, "")
	apptest.Execute(t, old,
		"UPDATE catalog_eav_attribute f JOIN eav_attribute a ON a.attribute_id = f.attribute_id SET f.is_global = (f.is_global + 1) % 3 WHERE a.attribute_code LIKE 'x\\_%'",
		"UPDATE catalog_eav_attribute f JOIN eav_attribute a ON a.attribute_id = f.attribute_id SET f.is_global = 1 WHERE a.attribute_code = 'description' AND a.entity_type_id = 4")
	dsn := sqltest.SQLite(t)
	shop := apptest.NewImportedAt(t, from, old, "", dsn)
	config := apptest.ReadFile(t, shop.Config)
	for _, want := range []string{"name: x_tx_g, kind: text, scope: website", "name: x_tx_w, kind: text, scope: store", "name: x_tx_s, kind: text, scope: global",
		"the scope of description, an attribute of products, is global in the legacy store and store in Portico"} {
		if !strings.Contains(config, want) {
			t.Errorf("the configuration lacks %q", want)
		}
	}
	if n := strings.Count(config, "the scope of "); n != 1 {
		t.Errorf("%d attributes of the contract have another scope", n)
	}

	leftOut := map[string]int64{}
	for _, part := range shop.Run(t, "--media", shop.Media, "all").Resources {
		for _, s := range slices.Concat(part.Skipped, part.LeftOut) {
			leftOut[part.Resource+": "+s.Reason] += s.Count
		}
	}
	for what, n := range leftOut {
		t.Errorf("%d left out: %s", n, what)
	}
	compareStoredValues(t, shop, dsn)

	shop.Commands.MustRun(t, append([]string{"import", "credentials", "--admins", "--config", shop.Config}, shop.From...)...)
	base := shop.Target(t).BaseURL
	for _, c := range []struct{ name, as, path, want string }{
		{"now global, list of the Admin", "admin", "/products/store/3?attrs=x_tx_s" + oneProduct(25), `{"25":{"x_tx_s":"T8"}}`},
		{"now global, ordered", "admin", "/products/store/3?attrs=x_tx_s&order=x_tx_s&dir=asc" + oneProduct(25), `{"25":{"x_tx_s":"T5 <b>&"}}`},
		{"now global, ordered without a value in the default scope", "admin", "/products/store/3?attrs=x_tx_s&order=x_tx_s&dir=asc" + oneProduct(22), `{"22":{"x_tx_s":null}}`},
		{"now global, ordered by labels", "admin", "/products/store/2?attrs=x_se_s&order=x_se_s&dir=asc" + oneProduct(22), `{"22":{"x_se_s":"Fr0"}}`},
		{"now of websites, ordered", "admin", "/products/store/3?attrs=x_tx_g&order=x_tx_g&dir=asc" + oneProduct(25), `{"25":{"x_tx_g":"T8"}}`},
		{"now of websites, list of a Guest", "guest", "/products/store/3?attrs=x_tx_g" + oneProduct(25), `{"25":{"x_tx_g":"T5 <b>&"}}`},
		{"now of websites, alone", "guest", "/products/25/store/3?attrs=x_tx_g", `{"x_tx_g":"T8"}`},
		{"now of store views, ordered", "admin", "/products/store/3?attrs=x_tx_w&order=x_tx_w&dir=asc" + oneProduct(22), `{"22":{"x_tx_w":"T22"}}`},
	} {
		authorization := ""
		if c.as == "admin" {
			authorization = apptest.DemoAdmin()
		}
		if got := apptest.NewClient(t, base, authorization).Get(t, c.path); got.Status != 200 || got.Body != c.want {
			t.Errorf("%s: %d %s, want %s", c.name, got.Status, got.Body, c.want)
		}
	}
}

// oneProduct returns the part of a query that selects a product.
func oneProduct(id int) string {
	return fmt.Sprintf("&filter[9][attribute]=entity_id&filter[9][eq]=%d", id)
}

// compareStoredValues compares every value of an own attribute of a product, and every description, with
// the imported one.
func compareStoredValues(t *testing.T, shop *apptest.Imported, dsn string) {
	t.Helper()
	cfg, err := loadText(t, apptest.ReadFile(t, shop.Config))
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := apptest.OpenRecords(t, sqlstore.Options{DSN: dsn, Schemas: schemas}).Adapter().Export(t.Context(), adapter.Products, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	add := func(store int64, r adapter.Record) {
		for i, a := range r.Schema.Attributes {
			if v := r.Values[i]; v.Kind() == adapter.Null {
				values[fmt.Sprint(r.Key(), store, a.Name)] = "NULL"
			} else if v.Kind() != adapter.Absent {
				values[fmt.Sprint(r.Key(), store, a.Name)] = v.Text()
			}
		}
	}
	for _, one := range stored {
		add(0, one.Record)
		for _, l := range one.Levels {
			if l.Record.Schema.Resource == adapter.Products {
				add(l.StoreID, l.Record)
			}
		}
	}
	compared := 0
	for _, table := range []string{"int", "varchar", "text", "decimal", "datetime"} {
		rows, err := shop.DB.QueryContext(t.Context(), "SELECT v.entity_id, v.store_id, a.attribute_code, COALESCE(v.value, 'NULL') FROM catalog_product_entity_"+table+
			" v JOIN eav_attribute a ON a.attribute_id = v.attribute_id WHERE a.attribute_code LIKE 'x\\_%' OR a.attribute_code = 'description'")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var product adapter.Key
			var store int64
			var code, want string
			if err := rows.Scan(&product, &store, &code, &want); err != nil {
				t.Fatal(err)
			}
			compared++
			if got, ok := values[fmt.Sprint(product, store, code)]; !ok || got != want {
				t.Errorf("%s of product %d at store view %d is %q (%t), want %q", code, product, store, got, ok, want)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if compared < 900 {
		t.Errorf("only %d values", compared)
	}
}
