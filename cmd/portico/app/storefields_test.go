package app

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"maps"
	"strings"
	"testing"
)

// storeFieldsFile is a configuration with added attributes, and with fields that are
// hidden from roles.
const storeFieldsFile = `
attributes:
  - {resource: customers, name: loyalty_number, kind: text, roles: [admin]}
  - {resource: customer_addresses, name: floor, kind: integer, roles: [admin, customer], writers: [admin, customer]}
  - {resource: products, name: lead_days, kind: integer, scope: website, roles: [admin, guest], views: single}
  - {resource: products, name: deposit, kind: decimal, roles: admin}
fields:
  - {resource: products, role: guest, read: [sku, name]}
  - {resource: orders, role: admin, read: [increment_id]}
`

// TestStoreFieldsFromFileToWire seeds and serves a store with storeFieldsFile, and checks
// which fields each role can read and write.
func TestStoreFieldsFromFileToWire(t *testing.T) {
	t.Parallel()
	file := apptest.NewFile(t, "portico.yaml", storeFieldsFile)
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--config", file, "--dataset", withAddedValues(t))
	token := commands.AddToken(t, apptest.DatasetKey, "--customer", "1")
	customer := apptest.PlaintextHeader(apptest.DatasetKey, apptest.DatasetSecret, token.Token, token.Secret)
	for dialect, absent := range map[string]string{"documented": `{"sku":"lamp-desk","deposit":null}`, "magento": `{"sku":"lamp-desk"}`} {
		t.Run(dialect, func(t *testing.T) {
			p := apptest.Start(t, commands, "--config", file, "--dialect", dialect)
			admin := apptest.PlaintextHeader(apptest.DatasetKey, apptest.DatasetSecret, apptest.DatasetToken, apptest.DatasetTokenSecret)
			for _, c := range []struct{ name, authorization, path, want string }{
				{"a customer", admin, "/customers/1?attrs=email,loyalty_number", `{"email":"ada@example.com","loyalty_number":"L 1"}`},
				{"a list by an added attribute", admin, "/products?order=lead_days&dir=asc&filter[0][attribute]=lead_days&filter[0][gt]=1&attrs=lead_days", `{"1":{"lead_days":"3"},"2":{"lead_days":"14"}}`},
				{"never stored", admin, "/products/3?attrs=deposit,sku", absent},
				{"a product for a Guest", "", "/products/1", `{"sku":"kettle-steel","name":"Steel Kettle","lead_days":"3"}`},
				{"an order", admin, "/orders/1", `{"increment_id":"100000001"}`},
			} {
				t.Run(c.name, func(t *testing.T) {
					if got := apptest.Send(t, "GET", p.Contract+"/api/rest"+c.path, "", "Accept", "application/json", "Authorization", c.authorization); got.Status != 200 || got.Body != c.want {
						t.Errorf("%d %s, want %s", got.Status, got.Body, c.want)
					}
				})
			}
			for _, c := range []struct{ authorization, path, body, want string }{
				{admin, "/products/4?attrs=lead_days,deposit", `{"lead_days":"7.0","deposit":1.55555}`, `{"lead_days":"7","deposit":"1.5555"}`},
				{admin, "/products/4?attrs=lead_days,deposit", `{"lead_days":"soon"}`, `{"messages":{"error":[{"code":400,"message":"Invalid value \"soon\" for attribute \"lead_days\"."},{"code":400,"message":"Resource data pre-validation error."}]}}`},
				{admin, "/products/4?attrs=lead_days,deposit", `{"lead_days":null,"deposit":""}`, `{"lead_days":null,"deposit":null}`},
				{admin, "/customers/2?attrs=loyalty_number", `{"loyalty_number":"L 2"}`, `{"loyalty_number":"L 2"}`},
				{customer, "/customers/1?attrs=email", `{"loyalty_number":"L 3"}`, `{"messages":{"error":[{"code":400,"message":"The request data is invalid."}]}}`},
				{customer, "/customers/addresses/1?attrs=floor", `{"floor":"3"}`, `{"floor":"3"}`},
			} {
				headers := []string{"Accept", "application/json", "Content-Type", "application/json", "Authorization", c.authorization}
				path, _, _ := strings.Cut(c.path, "?")
				got := apptest.Send(t, "PUT", p.Contract+"/api/rest"+path, c.body, headers...)
				if got.Status == 200 {
					got = apptest.Send(t, "GET", p.Contract+"/api/rest"+c.path, "", headers...)
				}
				if got.Body != c.want {
					t.Errorf("%s: %d %s, want %s", c.body, got.Status, got.Body, c.want)
				}
			}
			p.Stop(t)
		})
	}
	t.Run("demo", func(t *testing.T) {
		p := apptest.Start(t, nil, "--demo", "--config", file)
		if got := apptest.Send(t, "GET", p.Contract+"/api/rest/products/1", "", "Accept", "application/json"); got.Body != `{"sku":"kettle-steel","name":"Steel Kettle","lead_days":null}` {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		if got := apptest.Send(t, "POST", p.Ops+"/demo/reset", ""); got.Status != 200 {
			t.Errorf("reset: %d %s", got.Status, got.Body)
		}
		p.Stop(t)
	})
	t.Run("a data set without the settings", func(t *testing.T) {
		_, commands := apptest.NewStore(t, apptest.SecretKey)
		if _, _, err := commands.Run(t, "seed", "--dataset", withAddedValues(t)); err == nil || !strings.Contains(err.Error(), "customers[0].loyalty_number: unknown") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("listed", func(t *testing.T) {
		table := commands.MustRun(t, "config", "--config", file, "--json") // the table wraps long values
		for _, want := range []string{"attributes[3]", "{resource: products, name: deposit, kind: decimal, roles: [admin]}", "writers: [admin, customer]}", "fields[0]", file + ":8"} {
			if !strings.Contains(table, want) {
				t.Errorf("no %q in\n%s", want, table)
			}
		}
	})
}

// withAddedValues writes a data set with values for the attributes in storeFieldsFile, and returns
// its path.
func withAddedValues(t *testing.T) string {
	t.Helper()
	path := apptest.WriteDataset(t, nil)
	for _, added := range []struct {
		list   string
		at     int
		values map[string]any
	}{
		{"customers", 0, map[string]any{"loyalty_number": "L 1"}},
		{"products", 0, map[string]any{"lead_days": 3, "deposit": "2.5000"}},
		{"products", 1, map[string]any{"lead_days": 14}},
	} {
		apptest.ChangeRecords(t, path, added.list, func(records []map[string]any) { maps.Copy(records[added.at], added.values) })
	}
	return path
}

// TestStoreFieldsRefused checks that every entry that does not fit the contract is
// reported with its line and with valid alternatives.
func TestStoreFieldsRefused(t *testing.T) {
	t.Parallel()
	file := apptest.NewFile(t, "portico.yaml", `attributes:
  - {resource: orders, name: note, kind: text, roles: admin}
  - {resource: customers, name: Note, kind: text, roles: admin}
  - {resource: customer_addresses, name: password, kind: text, roles: admin}
  - {resource: customers, name: password_hash, kind: text, roles: admin}
  - {resource: products, name: final_price_with_tax, kind: decimal, roles: admin}
  - {resource: customer_addresses, name: note, kind: text, scope: store, roles: admin}
  - {resource: products, name: note, kind: text, roles: admin, writers: customer}
fields:
  - {resource: carts, role: admin, read: []}
  - {resource: products, role: guest, read: [sku, cost, name, colour]}
  - {resource: stock_items, role: admin, write: [product_id]}
  - {resource: orders, role: admin}
listenn: x
`)
	_, _, err := apptest.Run(t, "serve", "--demo", "--config", file)
	if err == nil {
		t.Fatal("the command succeeds")
	}
	for _, want := range []string{
		"faults in the configuration: 10",
		file + `:14: listenn: unknown setting; did you mean listen?`,
		file + `:2: attributes[0]: no attributes can be added to "orders": use one of customers, customer_addresses, products`,
		file + `:3: attributes[1]: the name "Note" must be a lower-case letter`,
		file + `:4: attributes[2]: the name "password" is reserved: choose another, such as shop_password`,
		file + `:5: attributes[3]: customers have an attribute "password_hash": choose another name, such as shop_password_hash`,
		file + `:6: attributes[4]: the contract already has a field "final_price_with_tax" of products: choose another name`,
		file + `:7: attributes[5]: attribute note must be global`,
		file + `:8: attributes[6]: the role customer cannot write products: remove it from the writers`,
		file + `:10: fields[0]: unknown resource "carts": use one of customers,`,
		file + `:13: fields[3]: has neither read nor write`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
	}
}
