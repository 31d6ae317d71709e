package app

import (
	"encoding/json"
	"os"
	"path/filepath"
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

// writeSettings writes a configuration file and returns its path.
func writeSettings(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "portico.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestStoreFieldsFromFileToWire seeds and serves a store with storeFieldsFile, and checks
// which fields each role can read and write.
func TestStoreFieldsFromFileToWire(t *testing.T) {
	file := writeSettings(t, storeFieldsFile)
	_, commands := newStore(t, secretKey)
	commands.mustRun(t, "seed", "--config", file, "--dataset", withAddedValues(t))
	token := commands.addToken(t, ownKey, "--customer", "1")
	customer := plaintextHeader(ownKey, ownSecret, token.Token, token.Secret)
	for dialect, absent := range map[string]string{"documented": `{"sku":"lamp-desk","deposit":null}`, "magento": `{"sku":"lamp-desk"}`} {
		t.Run(dialect, func(t *testing.T) {
			p := start(t, commands, "--config", file, "--dialect", dialect)
			admin := plaintextHeader(ownKey, ownSecret, ownToken, ownTokenSecret)
			for _, c := range []struct{ name, authorization, path, want string }{
				{"a customer", admin, "/customers/1?attrs=email,loyalty_number", `{"email":"ada@example.com","loyalty_number":"L 1"}`},
				{"a list by an added attribute", admin, "/products?order=lead_days&dir=asc&filter[0][attribute]=lead_days&filter[0][gt]=1&attrs=lead_days", `{"1":{"lead_days":"3"},"2":{"lead_days":"14"}}`},
				{"never stored", admin, "/products/3?attrs=deposit,sku", absent},
				{"a product for a Guest", "", "/products/1", `{"sku":"kettle-steel","name":"Steel Kettle","lead_days":"3"}`},
				{"an order", admin, "/orders/1", `{"increment_id":"100000001"}`},
			} {
				t.Run(c.name, func(t *testing.T) {
					headers := []string{"Accept", "application/json"}
					if c.authorization != "" {
						headers = append(headers, "Authorization", c.authorization)
					}
					if got := send(t, "GET", p.contract+"/api/rest"+c.path, "", headers...); got.status != 200 || got.body != c.want {
						t.Errorf("%d %s, want %s", got.status, got.body, c.want)
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
				got := send(t, "PUT", p.contract+"/api/rest"+path, c.body, headers...)
				if got.status == 200 {
					got = send(t, "GET", p.contract+"/api/rest"+c.path, "", headers...)
				}
				if got.body != c.want {
					t.Errorf("%s: %d %s, want %s", c.body, got.status, got.body, c.want)
				}
			}
			p.stop(t)
		})
	}
	t.Run("demo", func(t *testing.T) {
		p := start(t, nil, "--demo", "--config", file)
		if got := send(t, "GET", p.contract+"/api/rest/products/1", "", "Accept", "application/json"); got.body != `{"sku":"kettle-steel","name":"Steel Kettle","lead_days":null}` {
			t.Errorf("%d %s", got.status, got.body)
		}
		if got := send(t, "POST", p.ops+"/demo/reset", ""); got.status != 200 {
			t.Errorf("reset: %d %s", got.status, got.body)
		}
		p.stop(t)
	})
	t.Run("a data set without the settings", func(t *testing.T) {
		_, commands := newStore(t, secretKey)
		if _, _, err := commands.run(t, "seed", "--dataset", withAddedValues(t)); err == nil || !strings.Contains(err.Error(), "customers[0].loyalty_number: unknown") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("listed", func(t *testing.T) {
		table := commands.mustRun(t, "config", "--config", file, "--json") // the table wraps long values
		for _, want := range []string{"attributes[3]", "{resource: products, name: deposit, kind: decimal, roles: [admin]}", "writers: [admin, customer]}", "fields[0]", file + ":8"} {
			if !strings.Contains(table, want) {
				t.Errorf("no %q in\n%s", want, table)
			}
		}
	})
}

// withAddedValues writes a data set with values of the attributes in storeFieldsFile, and
// returns its path.
func withAddedValues(t *testing.T) string {
	t.Helper()
	path := writeDataset(t, nil)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var data map[string]json.RawMessage
	parse(t, string(text), &data)
	add := func(list string, at int, values map[string]any) {
		var records []map[string]json.RawMessage
		parse(t, string(data[list]), &records)
		for name, value := range values {
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			records[at][name] = encoded
		}
		if data[list], err = json.Marshal(records); err != nil {
			t.Fatal(err)
		}
	}
	add("customers", 0, map[string]any{"loyalty_number": "L 1"})
	add("products", 0, map[string]any{"lead_days": 3, "deposit": "2.5000"})
	add("products", 1, map[string]any{"lead_days": 14})
	if text, err = json.Marshal(data); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStoreFieldsRefused checks that every entry that does not fit the contract is
// reported with its line and with valid alternatives.
func TestStoreFieldsRefused(t *testing.T) {
	file := writeSettings(t, `attributes:
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
	_, _, err := run(t, "serve", "--demo", "--config", file)
	if err == nil {
		t.Fatal("the command succeeds")
	}
	for _, want := range []string{
		"faults in the configuration: 13",
		file + `:14: listenn: unknown setting; did you mean listen?`,
		file + `:2: attributes[0]: no attributes can be added to "orders": use one of customers, customer_addresses, products`,
		file + `:3: attributes[1]: the name "Note" must be a lower-case letter`,
		file + `:4: attributes[2]: the name "password" is reserved: choose another, such as shop_password`,
		file + `:5: attributes[3]: customers have an attribute "password_hash": choose another name, such as shop_password_hash`,
		file + `:6: attributes[4]: the contract already has a field "final_price_with_tax" of products: choose another name`,
		file + `:7: attributes[5]: attribute note must be global`,
		file + `:8: attributes[6]: the role customer cannot write products: remove it from the writers`,
		file + `:10: fields[0]: unknown resource "carts": use one of customers,`,
		file + `:11: fields[1]: the contract does not let the role guest read the field "cost" of products: remove it`,
		file + `:11: fields[1]: the contract does not let the role guest read the field "colour" of products: remove it`,
		file + `:12: fields[2]: the contract does not let the role admin write the field "product_id" of stock_items: remove it`,
		file + `:13: fields[3]: has neither read nor write`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
	}
}
