package migration_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// loadText loads a configuration file with this text.
func loadText(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	return config.Load(config.Sources{Sections: program.New().Sections(), File: apptest.NewFile(t, "portico.yaml", text), Attribute: program.CheckAttribute, Fields: program.CheckFieldList})
}

// TestImportConfig prints the configuration of a shop, loads it, serves with it, and checks its
// contents.
func TestImportConfig(t *testing.T) {
	t.Parallel()
	dsn, shop := magento1test.NewShop(t, magento1test.Rich, "")
	printed := apptest.MustRun(t, "import", "config", "--from", dsn)
	cfg, err := loadText(t, printed)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if cfg.Dialect != "magento" || cfg.PublicURL != "http://shop.example" || !strings.Contains(strings.Join(cfg.Store.AttributeSets, ","), "4") || len(cfg.Attributes) < 4 {
		t.Errorf("it has not what the shop has:\n%s", printed)
	}
	if settings, comments := strings.Count(printed, "\n  "), strings.Count(printed, "# from "); comments < 8 || comments > settings {
		t.Errorf("%d comments at %d settings:\n%s", comments, settings, printed)
	}
	file := apptest.NewFile(t, "portico.yaml", printed)
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	apptest.Start(t, commands, "--config", file).Stop(t)

	// The part attributes says the same.
	if got := commands.MustRun(t, "import", "--from", dsn, "attributes"); !strings.Contains(got, "Add to portico.yaml") || !strings.Contains(got, "  - {resource: products, name: ") {
		t.Errorf("without the file it prints %s", got)
	}
	if got := commands.MustRun(t, "import", "--from", dsn, "--config", file, "attributes"); !strings.Contains(got, "the configuration has all") {
		t.Errorf("with the file it prints %s", got)
	}

	// In OpenMage, all attributes without a list of them leave out computed fields.
	magento1test.Break(t, shop, "CREATE TABLE core_resource (code VARCHAR(50) PRIMARY KEY, version VARCHAR(50))", "INSERT INTO core_resource VALUES ('core_setup', '1.6.0.12')")
	printed = apptest.MustRun(t, "import", "config", "--from", dsn)
	if cfg, err = loadText(t, printed); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if diff := cmp.Diff([]config.FieldList{{Resource: "products", Role: "customer", WithoutComputed: true}, {Resource: "products", Role: "guest", WithoutComputed: true}}, cfg.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{printed: "the configuration has all", "dialect: openmage\n": "{resource: products, role: guest, without_computed: true}"} {
		if got := commands.MustRun(t, "import", "--from", dsn, "--config", apptest.NewFile(t, "portico.yaml", text), "attributes"); !strings.Contains(got, want) {
			t.Errorf("it does not print %q: %s", want, got)
		}
	}
}

// tickEveryBox replaces the field lists of the shop Rich by the lists that the old admin panel
// stores after a user has ticked every field one by one. They contain names that no record of the
// service has, names for parts of orders, and the shop's own attributes.
func tickEveryBox(t *testing.T, shop *sql.DB) {
	t.Helper()
	lists := []struct{ kind, resource, operation, names string }{
		{"guest", "product", "read", "buy_now_url,created_at,image_url,description,eco,final_price_with_tax,final_price_without_tax,has_custom_options,material,meta_description,meta_keyword,meta_title,name,entity_id,type_id,url,regular_price_with_tax,regular_price_without_tax,sku,is_saleable,short_description,size,is_in_stock,tier_price,total_reviews_count,updated_at,price_view"},
		{"guest", "product_category", "read", "category_id,created_at,updated_at"},
		{"guest", "product_image", "read", "id,label,position,types,url"},
		{"customer", "customer", "read", "created_at,email,firstname,lastname,middlename,updated_at,entity_id"},
		{"customer", "customer", "write", "email,firstname,lastname,middlename"},
		{"customer", "customer_address", "read", "city,region_id,street"},
		{"customer", "order", "read", "entity_id,_gift_message,_order_comments,_payment_method,_tax_name,_tax_rate,customer_balance_amount"},
		{"customer", "order_item", "read", "item_id,sku,name"},
		{"admin", "product", "read", "sku,name,cost,care,stock_data,use_config_gift_wrapping_available"},
		{"admin", "product", "write", "sku,name,cost,care,stock_data,url_key_create_redirect"},
		{"admin", "customer", "read", "entity_id,email,customer_balance_amount"},
		{"admin", "stock_item", "read", "item_id,qty"},
		{"admin", "stock_item", "write", "qty,stock_status_changed_auto"},
		{"admin", "order", "read", "entity_id,base_customer_balance_amount"},
	}
	statements := []string{"DELETE FROM api2_acl_attribute"}
	for _, l := range lists {
		statements = append(statements, fmt.Sprintf("INSERT INTO api2_acl_attribute (user_type, resource_id, operation, allowed_attributes) VALUES ('%s', '%s', '%s', '%s')", l.kind, l.resource, l.operation, l.names))
	}
	magento1test.Break(t, shop, statements...)
}

// TestImportConfigFieldLists prints the configuration of a shop with lists of fields, some of which
// no record has. Portico accepts the file unchanged.
func TestImportConfigFieldLists(t *testing.T) {
	t.Parallel()
	dsn, shop := magento1test.NewShop(t, magento1test.Rich, "")
	tickEveryBox(t, shop)
	printed := apptest.MustRun(t, "import", "config", "--from", dsn)
	cfg, err := loadText(t, printed)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if _, err := program.Fields(cfg); err != nil {
		t.Fatal(err)
	}
	got := map[string]config.FieldList{}
	for _, f := range cfg.Fields {
		got[f.Role+" "+f.Resource] = f
	}
	for _, want := range []config.FieldList{
		{Role: "admin", Resource: "products", Read: []string{"sku", "name", "cost", "stock_data", "use_config_gift_wrapping_available"}, Write: []string{"sku", "name", "cost", "stock_data", "url_key_create_redirect"}},
		{Role: "admin", Resource: "customers", Read: []string{"entity_id", "email", "customer_balance_amount"}, Write: []string{}},
		{Role: "admin", Resource: "stock_items", Read: []string{"item_id", "qty"}, Write: []string{"qty", "stock_status_changed_auto", "item_id"}},
		{Role: "admin", Resource: "product_images", Read: []string{}, Write: []string{}},
		{Role: "customer", Resource: "customers", Read: []string{"created_at", "email", "firstname", "lastname", "middlename", "updated_at", "entity_id"}, Write: []string{"email", "firstname", "lastname", "middlename"}},
		{Role: "customer", Resource: "orders", Read: []string{"entity_id", "gift_message_from", "gift_message_to", "gift_message_body", "order_comments", "payment_method", "tax_name", "tax_rate", "customer_balance_amount", "addresses", "order_items"}},
		{Role: "customer", Resource: "order_addresses", Read: []string{}},
	} {
		if difference := cmp.Diff(want, got[want.Role+" "+want.Resource]); difference != "" {
			t.Errorf("want -, got +:\n%s", difference)
		}
	}
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	apptest.Start(t, commands, "--config", apptest.NewFile(t, "portico.yaml", printed)).Stop(t)
	if got := commands.MustRun(t, "import", "--from", dsn, "attributes"); !strings.Contains(got, "{resource: products, role: admin, read: [sku, name, cost, care, stock_data") {
		t.Errorf("without the file, the import does not name the lists that the configuration lacks:\n%s", got)
	}
}
