package importer_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/dghubble/oauth1"
	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// newEmptyStore creates a store with websites and products, and without customers, orders
// and credentials.
func newEmptyStore(t *testing.T) (path string, commands apptest.Environment) {
	t.Helper()
	path, commands = apptest.NewStore(t, apptest.SecretKey)
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, map[string]any{"customers": nil, "customer_addresses": nil, "orders": nil, "credentials": nil}))
	return path, commands
}

// storeContents returns all records and credentials of a store as text, without values
// that each run of a command changes.
func storeContents(t *testing.T, path string) string {
	t.Helper()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: "sqlite:" + path, SecretKey: apptest.SecretKey})
	defer func() { _ = db.Close() }()
	var all bytes.Buffer
	for _, r := range []adapter.Resource{adapter.Admins, adapter.Customers, adapter.CustomerAddresses, adapter.Orders, adapter.OrderItems, adapter.OrderAddresses, adapter.OrderComments} {
		store, err := db.Adapter().Store(r)
		if err != nil {
			t.Fatal(err)
		}
		result, err := store.List(t.Context(), &adapter.ListParams{})
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range result.Records {
			all.WriteString(string(r))
			for i, v := range record.Values {
				if v.Kind() != adapter.Absent {
					all.WriteString(" " + record.Schema.Attributes[i].Name + "=" + v.Text() + strings.Join(v.Texts(), "|"))
				}
			}
			all.WriteString("\n")
		}
	}
	grants, err := db.Credentials().List(t.Context())
	if err == nil {
		err = json.NewEncoder(&all).Encode(grants)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestImport imports records and credentials, with dry runs, repetitions and --update,
// and compares the counts and the store.
func TestImport(t *testing.T) {
	t.Parallel()
	dsn, raw := magento1test.New(t, "mage_")
	path, commands := newEmptyStore(t)
	from := []string{"--from", dsn, "--prefix", "mage_", "--json"}
	records := func(flags ...string) (got apptest.Report) {
		t.Helper()
		apptest.Parse(t, commands.MustRun(t, append(append([]string{"import"}, from...), flags...)...), &got)
		got.Source = ""
		return got
	}
	credentials := func(flags ...string) (got printedCredentials) {
		t.Helper()
		apptest.Parse(t, commands.MustRun(t, append(append([]string{"credentials", "import"}, from...), flags...)...), &got)
		return got
	}
	skipped := func(reason string, id int64) *importer.Skipped {
		return &importer.Skipped{Reason: reason, Count: 1, IDs: []int64{id}}
	}
	want := apptest.Report{Report: importer.Report{DryRun: true, Resources: []*importer.Counts{
		{Resource: "customers", Read: 5, Stored: 4, Skipped: []*importer.Skipped{skipped("no email that can be stored", 5)}, LeftOut: []*importer.Skipped{
			{Reason: "customer_entity: " + magento1.ReasonNoTime, Count: 1, Keys: []string{"customer 3"}},
			{Reason: "customer_entity_varchar: its attribute does not exist", Count: 1, Keys: []string{"customer 1, attribute 71, store 0"}},
			{Reason: "customer_entity_varchar: the record that it belongs to does not exist", Count: 1, Keys: []string{"customer 4, attribute firstname, store 0"}},
		}},
		{Resource: "addresses", Read: 5, Stored: 3, Skipped: []*importer.Skipped{skipped("its customer is not here", 4), skipped("no customer_id that can be stored", 5)}, LeftOut: []*importer.Skipped{
			{Reason: "customer_address_entity: " + magento1.ReasonNoTime, Count: 1, Keys: []string{"address 3"}},
		}},
		{Resource: "orders", Read: 5, Stored: 4, Skipped: []*importer.Skipped{skipped("its customer is not here", 5)}, LeftOut: []*importer.Skipped{
			{Reason: "sales_flat_order_item: the record that it belongs to does not exist", Count: 1, Keys: []string{"item_id 4, order 77"}},
		}},
	}}}
	before := storeContents(t, path)
	if difference := cmp.Diff(want, records("--dry-run", "orders", "customers", "addresses")); difference != "" {
		t.Errorf("dry: want -, got +:\n%s", difference)
	}
	if after := storeContents(t, path); after != before {
		t.Errorf("a dry run has stored\n%s", after)
	}
	want.DryRun = false
	if difference := cmp.Diff(want, records("orders", "customers", "addresses")); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	first := storeContents(t, path)
	for i := range want.Resources {
		r := want.Resources[i]
		r.Stored, r.Existing = 0, r.Stored
	}
	if difference := cmp.Diff(want, records("customers", "addresses", "orders")); difference != "" {
		t.Errorf("again: want -, got +:\n%s", difference)
	}
	if after := storeContents(t, path); after != first {
		t.Errorf("a second run has changed\n%s\nto\n%s", first, after)
	}

	if done := credentials("--admins", "--dry-run"); done.Tokens.Added != 4 || !done.DryRun || storeContents(t, path) != first {
		t.Errorf("dry: %+v", done)
	}
	if done := credentials("--admins"); done.Tokens.Added != 4 || done.Consumers.Added != 2 || done.Admins.Added != 2 || done.Admins.Unchanged != 1 {
		t.Errorf("%+v", done)
	}
	second := storeContents(t, path)
	if done := credentials("--admins"); done.Tokens.Added != 0 || done.Tokens.Unchanged != 4 || storeContents(t, path) != second {
		t.Errorf("again: %+v", done)
	}

	p := apptest.Start(t, commands, "--dialect", "magento")
	call := func(token, secret, url string) apptest.Reply {
		t.Helper()
		client := oauth1.NewConfig("erpkeyerpkeyerpkeyerpkeyerpkey32", "erpsecreterpsecreterpsecreterp32").Client(t.Context(), oauth1.NewToken(token, secret))
		if strings.Contains(token, "customer") {
			client = oauth1.NewConfig("whskeywhskeywhskeywhskeywhskey32", "whssecretwhssecretwhssecretwhs32").Client(t.Context(), oauth1.NewToken(token, secret))
		}
		request, err := http.NewRequestWithContext(t.Context(), "GET", p.Contract+url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "application/json")
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return apptest.ReadReply(t, response)
	}
	for _, c := range []struct {
		name, token, secret, url string
		status                   int
		holds                    string
	}{
		{"an administrator reads a customer", "tokenofadmin0000000000000000adm4", "tokensecretofadmin000000000adm04", "/api/rest/customers/2", 200, `"firstname":"\u0141ukasz \u6f22\u5b57"`},
		{"an imported administrator reads an order", "tokenofadmin0000000000000000adm5", "tokensecretofadmin000000000adm05", "/api/rest/orders/1", 200, `"increment_id":"100000001"`},
		{"a customer reads the own addresses", "tokenofcustomer000000000000cust1", "tokensecretofcustomer00000cust01", "/api/rest/customers/1/addresses", 200, `"Floor 2"`},
		{"a token that was revoked", "tokenofcustomer000000000000cust2", "tokensecretofcustomer00000cust02", "/api/rest/customers/2", 401, "token_revoked"},
		{"an administrator who has left", "tokenofadmin0000000000000000adm6", "tokensecretofadmin000000000adm06", "/api/rest/customers/2", 401, "token_rejected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := call(c.token, c.secret, c.url); got.Status != c.status || !strings.Contains(got.Body, c.holds) {
				t.Errorf("%d %s, want %d with %s", got.Status, got.Body, c.status, c.holds)
			}
		})
	}
	t.Run("a customer logs in as ever, and lets a program act", func(t *testing.T) {
		config := &oauth1.Config{ConsumerKey: "erpkeyerpkeyerpkeyerpkeyerpkey32", ConsumerSecret: "erpsecreterpsecreterpsecreterp32", CallbackURL: "http://client.example/",
			Endpoint: oauth1.Endpoint{RequestTokenURL: p.Contract + "/oauth/initiate", AuthorizeURL: p.Contract + "/oauth/authorize", AccessTokenURL: p.Contract + "/oauth/token"}}
		request, secret, err := config.RequestToken()
		if err != nil {
			t.Fatal(err)
		}
		_, verifier := apptest.NewVisit(t, &http.Client{}).Authorize(p.Contract+"/oauth/authorize?oauth_token="+request, "łukasz@example.com", magento1test.Password)
		token, secret, err := config.AccessToken(request, secret, verifier)
		if err != nil {
			t.Fatal(err)
		}
		if got := call(token, secret, "/api/rest/customers/2"); got.Status != 200 {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	})
	p.Stop(t)
	second = storeContents(t, path) // the log-in has replaced a password hash

	// The legacy store changes records after the first import.
	if _, err := raw.ExecContext(t.Context(), `UPDATE mage_customer_entity SET email = 'moved@example.com' WHERE entity_id = 2;
		UPDATE mage_sales_flat_order SET status = 'complete' WHERE entity_id = 1; DELETE FROM mage_sales_flat_order_item WHERE item_id = 2;
		UPDATE mage_oauth_consumer SET secret = 'anothersecretanothersecretanoth3' WHERE entity_id = 3`); err != nil {
		t.Fatal(err)
	}
	records("customers", "orders")
	if done := credentials(); done.Consumers.Differing != 1 || storeContents(t, path) != second {
		t.Errorf("without --update something has changed: %+v", done)
	}
	if done := records("customers", "orders", "--update"); done.Resources[0].Replaced != 1 || done.Resources[0].Existing != 3 || done.Resources[1].Replaced != 1 || done.Resources[1].Existing != 3 {
		t.Errorf("%+v", done)
	}
	if done := credentials("--replace"); done.Consumers.Updated != 1 {
		t.Errorf("%+v", done)
	}
	after := storeContents(t, path)
	if !strings.Contains(after, "moved@example.com") || strings.Contains(after, "sku=lid") || !strings.Contains(after, "status=complete") || strings.Count(after, "customer_addresses ") != 3 {
		t.Errorf("--update leaves\n%s", after)
	}
}

// TestImportedPasswords checks that users can log in with every form of imported password
// hash.
func TestImportedPasswords(t *testing.T) {
	dsn, _ := magento1test.New(t, "")
	path, commands := newEmptyStore(t)
	commands.MustRun(t, "import", "--from", dsn, "customers")
	commands.MustRun(t, "credentials", "import", "--from", dsn, "--admins")
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: "sqlite:" + path, SecretKey: apptest.SecretKey})
	for _, c := range []struct {
		resource adapter.Resource
		owner    string // a name or an id
		verifies bool
		disabled bool
	}{
		{adapter.Customers, "1", true, false}, {adapter.Customers, "2", true, false}, {adapter.Customers, "3", true, false}, {adapter.Customers, "6", false, false},
		{adapter.Admins, "erp", true, false}, {adapter.Admins, "left", true, true},
	} {
		t.Run(string(c.resource)+" "+c.owner, func(t *testing.T) {
			store, err := db.Adapter().Store(c.resource)
			if err != nil {
				t.Fatal(err)
			}
			attribute := map[adapter.Resource]string{adapter.Customers: "entity_id", adapter.Admins: "username"}[c.resource]
			result, err := store.List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{
				{Any: []adapter.Test{{Attribute: attribute, Op: adapter.Eq, Operands: []string{c.owner}}}}}}})
			if err != nil || len(result.Records) != 1 {
				t.Fatalf("%d records, %v", len(result.Records), err)
			}
			if ok, _ := adapter.VerifyPassword(result.Records[0].Get("password_hash").Text(), magento1test.Password); ok != c.verifies {
				t.Errorf("verified: %t", ok)
			}
			if disabled := c.resource == adapter.Admins && result.Records[0].Get("disabled").Int() != 0; disabled != c.disabled {
				t.Errorf("disabled: %t", disabled)
			}
		})
	}
}

// TestImportInterrupted checks that an import that failed in the middle can be repeated.
func TestImportInterrupted(t *testing.T) {
	dsn, raw := magento1test.New(t, "")
	path, commands := newEmptyStore(t)
	if _, err := raw.ExecContext(t.Context(), "INSERT INTO customer_entity (entity_id, website_id, email, group_id) SELECT seq, 1, CONCAT('n', seq, '@example.com'), 1 FROM seq_1001_to_1600; "+
		"RENAME TABLE customer_entity_datetime TO gone; CREATE VIEW customer_entity_datetime AS SELECT * FROM gone WHERE entity_id < 1300 OR (SELECT entity_id FROM customer_entity) = 1; "+
		"INSERT INTO gone (attribute_id, entity_id, value) SELECT 11, seq, '1980-01-01' FROM seq_1001_to_1600"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := commands.Run(t, "import", "--from", dsn, "customers"); err == nil || !strings.Contains(err.Error(), "run the command again") {
		t.Fatalf("%v, want it to end in the middle", err)
	}
	some := strings.Count(storeContents(t, path), "customers ")
	if some == 0 || some > 500 {
		t.Fatalf("%d customers are stored, want some", some)
	}
	if _, err := raw.ExecContext(t.Context(), "DROP VIEW customer_entity_datetime; RENAME TABLE gone TO customer_entity_datetime"); err != nil {
		t.Fatal(err)
	}
	var done apptest.Report
	apptest.Parse(t, commands.MustRun(t, "import", "--from", dsn, "customers", "--json"), &done)
	if r := done.Resources[0]; r.Read != 605 || int(r.Existing) != some || int(r.Stored) != 604-some {
		t.Errorf("%+v, want %d left and the others stored", done, some)
	}
}

// TestImportRefuses checks the errors of wrong import commands.
func TestImportRefuses(t *testing.T) {
	dsn, _ := magento1test.New(t, "mage_")
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	file := apptest.NewFile(t, "dsn", dsn+"\n")
	for _, c := range []struct {
		name, want string
		arguments  []string
	}{
		{"nothing to import", "at least 1 arg", []string{"import", "--from", dsn}},
		{"what cannot be imported", "invalid argument", []string{"import", "--from", dsn, "carts"}},
		{"no database", "from from-file", []string{"import", "customers"}},
		{"two databases", "from from-file", []string{"import", "--from", dsn, "--from-file", file, "customers"}},
		{"another kind of database", "MySQL or MariaDB", []string{"import", "--from", "postgres://u:geheim@h/d", "customers"}},
		{"no server", "connect", []string{"credentials", "import", "--from", "mysql:u:geheim@tcp(127.0.0.1:1)/d"}},
		{"the wrong prefix", "table prefix", []string{"import", "--from-file", file, "customers"}},
		{"the wrong prefix, of credentials", "no credentials are stored", []string{"credentials", "import", "--from-file", file}},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, err := commands.Run(t, c.arguments...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if strings.Contains(stdout+stderr+err.Error(), "geheim") {
				t.Error("the password is shown")
			}
		})
	}
}

// TestImportTables checks the tables that the import commands print.
func TestImportTables(t *testing.T) {
	dsn, _ := magento1test.New(t, "")
	_, commands := newEmptyStore(t)
	printed := commands.MustRun(t, "import", "--from", dsn, "--dry-run", "customers") + commands.MustRun(t, "credentials", "import", "--from", dsn, "--admins")
	for _, want := range []string{"WOULD BE CREATED", "skipped 1 customers: no email that can be stored (5)\n", "skipped 1 consumers: the key is not 32 characters long\n",
		`consumer "Broken": the key is not 32 characters long`, `consumer "Lager 漢字": added`, "skipped 1 tokens: its administrator is not active in the legacy store, or disabled here\n",
		"skipped 3 tokens: its customer is not here\n", `admin "left": added, disabled: not active in the legacy store`} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is missing in\n%s", want, printed)
		}
	}
	for _, secret := range []string{"erpsecret", "tokensecret", "tokenof", "c895aee0"} {
		if strings.Contains(printed, secret) {
			t.Errorf("%s is shown in\n%s", secret, printed)
		}
	}
}

// printedCredentials is the JSON output of "portico credentials import".
type printedCredentials struct {
	DryRun bool `json:"dry_run"`
	credentials.ImportReport
}

// TestImportReportsBeforeFailure imports a shop whose credentials cannot be read. They come last, and
// the report of everything before them is printed all the same.
func TestImportReportsBeforeFailure(t *testing.T) {
	t.Parallel()
	shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	magento1test.Break(t, shop.DB, "UPDATE sales_flat_order_address SET address_type = NULL WHERE entity_id = 1", "ALTER TABLE oauth_token CHANGE secret lost VARCHAR(32) NOT NULL")
	for _, arguments := range [][]string{{"--dry-run", "all"}, {"all"}} {
		stdout, _, err := shop.Commands.Run(t, append(append([]string{"import", "--config", shop.Config}, shop.From...), arguments...)...)
		if err == nil || !strings.Contains(err.Error(), "no credentials are stored") {
			t.Errorf("%v, want the credentials to fail", err)
		}
		for _, want := range []string{"products", "no address_type that can be stored"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%v: the report does not say %q:\n%s", arguments, want, stdout)
			}
		}
		if strings.Contains(stdout, "consumers") {
			t.Errorf("%v: it reports credentials:\n%s", arguments, stdout)
		}
	}
	var report apptest.Report
	stdout, _, err := shop.Commands.Run(t, append([]string{"import", "--json", "--config", shop.Config, "all"}, shop.From...)...)
	if apptest.Parse(t, stdout, &report); err == nil || partOf(t, report, magento1.Orders).Existing != 12 {
		t.Errorf("%v, %s", err, stdout)
	}
}
