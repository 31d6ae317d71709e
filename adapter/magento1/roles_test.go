package magento1_test

import (
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"strings"
	"testing"
	"unicode"
)

// TestAdminLimits reads roles with rules that no role should have. Their description is one
// printable line.
func TestAdminLimits(t *testing.T) {
	d, raw := openShopOf(t, magento1test.Rich)
	magento1test.Break(t, raw,
		"INSERT INTO admin_user (user_id, username) SELECT seq, CONCAT('user', seq) FROM seq_2_to_8",
		"INSERT INTO api2_acl_role (entity_id, role_name) VALUES (4, REPEAT(CONCAT(CHAR(27), '[31m', CHAR(10)), 40)), (5, ''), (6, 'Half'), (7, 'Both')",
		"INSERT INTO api2_acl_rule (role_id, resource_id, privilege) SELECT 4, CONCAT(REPEAT(CHAR(7), 60), seq), REPEAT('x', 20) FROM seq_1_to_500",
		"INSERT INTO api2_acl_rule (role_id, resource_id, privilege) VALUES (6, 'product', NULL), (6, 'stock_item', 'update'), (6, 'stock_item', 'retrieve'), (7, 'product', 'retrieve'), (7, 'all', 'x')",
		"INSERT INTO api2_acl_user (admin_id, role_id) VALUES (2, 4), (3, 5), (4, 6), (5, 7), (6, 99), (7, 2)")
	want := map[int64]string{
		1: "", 3: `role "": nothing`, 4: `role "Half": product every call; stock_item retrieve, update`, 5: "", 6: "no REST role: every call fails",
		7: `role "Customer": everything that a Customer or Guest may do`, 8: "no REST role: every call fails",
	}
	for _, a := range collect(t, d.Admins(t.Context())) {
		expected, ok := want[a.ID]
		if ok && a.Limits != expected || len(a.Limits) > 2000 || strings.ContainsFunc(a.Limits, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("administrator %d: %d bytes %q, want %q", a.ID, len(a.Limits), a.Limits, expected)
		}
	}
	before, err := d.CredentialsDigest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	magento1test.Break(t, raw, "DELETE FROM api2_acl_rule WHERE role_id = 3")
	if after, err := d.CredentialsDigest(t.Context()); err != nil || after == before {
		t.Errorf("%v, want the digest to change with the rules", err)
	}

	magento1test.Break(t, raw, "DROP TABLE api2_acl_role")
	d.Forget()
	for _, a := range collect(t, d.Admins(t.Context())) {
		if a.Limits == "" {
			t.Errorf("administrator %d has all rights in a shop with tokens and without roles", a.ID)
		}
	}
}
