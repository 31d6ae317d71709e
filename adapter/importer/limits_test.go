package importer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// limitUsers gives the shop Rich a stock-only partner, an administrator without a role, and two
// with roles that look like more than they are, each with a token that ends with
// the last digit of their id.
func limitUsers(t *testing.T, shop *apptest.Imported) {
	t.Helper()
	magento1test.Break(t, shop.DB,
		"INSERT INTO admin_user (user_id, username, password, is_active) SELECT 10 + seq, ELT(seq, 'partner', 'nobody', 'guestlike', 'shouting', 'boss'), password, 1 FROM admin_user, seq_1_to_5 WHERE user_id = 1",
		"INSERT INTO api2_acl_role (entity_id, role_name) VALUES (10, 'Warehouse'), (11, 'Shouting'), (12, 'Second admins')",
		"INSERT INTO api2_acl_rule (role_id, resource_id, privilege) VALUES (10, 'stock_item', 'update'), (10, 'stock_item', 'retrieve'), (10, 'product', 'retrieve'), (11, 'ALL', NULL), (12, 'all', NULL), (12, 'product', 'retrieve')",
		"INSERT INTO api2_acl_user (admin_id, role_id) VALUES (11, 10), (13, 1), (14, 11), (15, 12)",
		"INSERT INTO oauth_token (entity_id, consumer_id, admin_id, type, token, secret, callback_url, authorized) SELECT 20 + seq, 1, 10 + seq, 'access', CONCAT(REPEAT('z', 31), seq), REPEAT('z', 32), 'oob', 1 FROM seq_1_to_5")
}

// A limitsReport holds the users in a report who can do less in the legacy store.
type limitsReport struct {
	Credentials struct {
		Limited []struct{ Username, Limits, State string }
	}
}

// states returns the state of each user by the name, "" for customers.
func (r limitsReport) states() map[string]string {
	all := map[string]string{}
	for _, u := range r.Credentials.Limited {
		all[u.Username] = u.State
	}
	return all
}

// TestImportKeepsLimits imports, follows and examines a shop in which some users may do less than
// Portico lets every user of their kind do. None of them gets a right without being named.
func TestImportKeepsLimits(t *testing.T) {
	t.Parallel()
	shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	limitUsers(t, shop)
	run := func(arguments ...string) (r limitsReport) {
		t.Helper()
		apptest.Parse(t, shop.Commands.MustRun(t, append(slices.Concat(arguments, []string{"--json", "--config", shop.Config}), shop.From...)...), &r)
		return r
	}
	first := run("import", "all")
	target := shop.Target(t)
	may := func(digit string) bool {
		t.Helper()
		admin := apptest.NewClient(t, target.BaseURL, apptest.PlaintextHeader(strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("z", 31)+digit, strings.Repeat("z", 32)))
		got, err := admin.Call(t.Context(), http.MethodGet, "/customers?limit=1", "")
		if err != nil || got.Status != http.StatusOK && got.Status != http.StatusUnauthorized {
			t.Fatalf("%d %s %v", got.Status, got.Body, err)
		}
		return got.Status == http.StatusOK
	}
	for digit, want := range map[string]bool{"1": false, "2": false, "3": false, "4": false, "5": true} {
		if may(digit) != want {
			t.Errorf("the token of administrator 1%s is valid: %t, want %t", digit, !want, want)
		}
	}
	want := map[string]string{"partner": "not imported", "nobody": "not imported", "guestlike": "not imported", "shouting": "not imported"}
	if difference := cmp.Diff(want, first.states()); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	const partner = `role "Warehouse": product retrieve; stock_item retrieve, update`
	if limited := first.Credentials.Limited; len(limited) == 0 || limited[0].Limits != partner {
		t.Errorf("%+v, want the rights of the partner", limited)
	}

	if _, _, err := shop.Commands.Run(t, append([]string{"credentials", "import", "--config", shop.Config, "--widen", "partnr"}, shop.From...)...); err == nil || !strings.Contains(err.Error(), `no administrator "partnr"`) {
		t.Errorf("%v, want an unknown name to be refused", err)
	}
	if _, _, err := shop.Commands.Run(t, append([]string{"import", "products", "--config", shop.Config, "--widen", "partner"}, shop.From...)...); err == nil || !strings.Contains(err.Error(), "name the part credentials") {
		t.Errorf("%v, want a flag without an effect to be refused", err)
	}
	if printed := shop.Commands.MustRun(t, append([]string{"import", "credentials", "--config", shop.Config, "--widen", "Partner"}, shop.From...)...); !strings.Contains(printed, `administrator "partner", there `+partner) {
		t.Errorf("it prints\n%s", printed)
	}
	target = shop.Target(t) // which remembers no token that was unknown
	if !may("1") || may("2") {
		t.Errorf("the token of partner is valid: %t, that of nobody: %t", may("1"), may("2"))
	}

	// A follower applies the widened rights of an import, and names the users who could do more
	// when they were imported.
	apptest.Execute(t, shop.DB, "UPDATE oauth_token SET token = CONCAT(REPEAT('z', 31), entity_id - 15) WHERE entity_id IN (21, 22)", "DELETE FROM api2_acl_rule WHERE role_id = 12 AND resource_id = 'all'")
	want = map[string]string{"partner": "widened", "nobody": "not imported", "guestlike": "not imported", "shouting": "not imported", "boss": "here"}
	if difference := cmp.Diff(want, run("follow", "--once").states()); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	for digit, want := range map[string]bool{"5": true, "6": true, "7": false} { // 6 and 7 are the new tokens of 1 and 2
		if may(digit) != want {
			t.Errorf("after following, token %s is valid: %t, want %t", digit, !want, want)
		}
	}
	follow := shop.Commands.With("PORTICO_FOLLOW_DSN=" + shop.From[1])
	_, log, err := follow.Run(t, "follow", "--once", "--config", shop.Config)
	if err != nil || !strings.Contains(log, "admin_user=15") && !strings.Contains(log, `"admin_user":15`) || strings.Contains(log, "boss") {
		t.Errorf("%v, want the log to name administrator 15 by id:\n%s", err, log)
	}
	doctor, _, _ := follow.Run(t, "doctor", "--config", shop.Config)
	for _, text := range []string{`administrator "boss" has all rights here`, `disable-admin "boss"`} {
		if !strings.Contains(doctor, text) {
			t.Errorf("doctor does not say %s:\n%s", text, doctor)
		}
	}
	if strings.Contains(doctor, `"partner"`) || strings.Contains(doctor, `"nobody"`) {
		t.Errorf("doctor names who was accepted, or who is not here:\n%s", doctor)
	}
}

// TestImportKeepsLimitsOfCustomers imports tokens of customers who may do less in the legacy store.
func TestImportKeepsLimitsOfCustomers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, rules string
		limited     bool
	}{
		{"a rule for everything", "(2, 'all', NULL)", false},
		{"no rules", "(2, 'all ', 'x')", true},
		{"one privilege is missing", "(2, 'customer', NULL), (2, 'customer_address', 'create'), (2, 'customer_address', 'update'), (2, 'customer_address', 'retrieve')", true},
		{"every privilege by name", `(2, 'customer', NULL), (2, 'customer_address', NULL), (2, 'product', 'retrieve'), (2, 'product_category', 'retrieve'), (2, 'product_image', 'retrieve'),
			(2, 'order', 'retrieve'), (2, 'order_item', 'retrieve'), (2, 'order_address', 'retrieve'), (2, 'order_comment', 'retrieve')`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
			magento1test.Break(t, shop.DB, "DELETE FROM api2_acl_rule WHERE role_id = 2", "INSERT INTO api2_acl_rule (role_id, resource_id, privilege) VALUES "+tt.rules)
			shop.Run(t, "websites", "customer-groups", "customers")
			added := func(arguments ...string) int {
				t.Helper()
				return shop.Run(t, append(arguments, "--admins", "credentials")...).Credentials.Tokens.Added
			}
			const ofAdmins, ofCustomers = 2, 4
			want := ofAdmins + ofCustomers
			if tt.limited {
				want = ofAdmins
			}
			if got := added(); got != want {
				t.Errorf("%d tokens are imported, want %d", got, want)
			}
			if got := added("--widen-customers"); got != ofAdmins+ofCustomers-want {
				t.Errorf("%d more tokens are imported, want %d", got, ofAdmins+ofCustomers-want)
			}
		})
	}
}
