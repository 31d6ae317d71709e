package importer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
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

// TestImportKeepsRights imports, follows and examines a shop in which some users may do less than
// others of their kind. None of them gets more rights than there, and one who loses a right there
// loses it here.
func TestImportKeepsRights(t *testing.T) {
	t.Parallel()
	shop := apptest.NewImported(t, magento1test.Rich, "", sqltest.SQLite(t))
	limitUsers(t, shop)
	run := func(arguments ...string) string {
		t.Helper()
		return shop.Commands.MustRun(t, append(slices.Concat(arguments, []string{"--config", shop.Config}), shop.From...)...)
	}
	printed := run("import", "all")
	for _, want := range []string{`names the resource "ALL", which the contract does not have`, "admin_user 12 has no row in api2_acl_user"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the import does not say %q:\n%s", want, printed)
		}
	}
	target := shop.Target(t)
	may := func(digit, path string, want int) {
		t.Helper()
		admin := apptest.NewClient(t, target.BaseURL, apptest.PlaintextHeader(strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("z", 31)+digit, strings.Repeat("z", 32)))
		testenv.Await(t, fmt.Sprintf("administrator 1%s to get %d from %s", digit, want, path), func() bool {
			got, err := admin.Call(t.Context(), http.MethodGet, path, "")
			if err != nil {
				t.Fatal(err)
			}
			return got.Status == want
		})
	}
	const customers, stock, products = "/customers?limit=1", "/stockitems?limit=1", "/products?limit=1"
	may("1", customers, 403) // partner
	may("1", stock, 200)
	may("1", products, 200)
	may("2", customers, 500) // nobody
	may("3", customers, 403) // guestlike
	may("3", products, 200)
	may("4", products, 403) // shouting
	may("5", customers, 200)

	apptest.Execute(t, shop.DB, "DELETE FROM api2_acl_rule WHERE role_id = 10 AND resource_id = 'stock_item'", "DELETE FROM api2_acl_rule WHERE role_id = 12 AND resource_id = 'all'")
	follow := shop.Commands.With("PORTICO_FOLLOW_DSN=" + shop.From[1])
	if doctor, _, _ := follow.Run(t, "doctor", "--config", shop.Config); !strings.Contains(doctor, `administrator "boss" may do more here than in the legacy store`) || !strings.Contains(doctor, `"partner" may do more here than in the legacy store: stock_items retrieve, stock_items update`) {
		t.Errorf("doctor says\n%s", doctor)
	}
	run("follow", "--once")
	may("1", stock, 403)
	may("1", products, 200)
	may("5", customers, 403)
	may("5", products, 200)
	if doctor, _, _ := follow.Run(t, "doctor", "--config", shop.Config); !strings.Contains(doctor, "nobody may do more here") {
		t.Errorf("doctor says\n%s", doctor)
	}
	shop.Commands.MustRun(t, "credentials", "assign-role", "--username", "boss", "--everything", "--config", shop.Config)
	if printed := shop.Commands.MustRun(t, "credentials", "list", "admins", "--config", shop.Config); !strings.Contains(printed, "Warehouse") || !strings.Contains(printed, "(none)") {
		t.Errorf("the list of administrators is\n%s", printed)
	}
}
