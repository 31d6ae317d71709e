package magento1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// TestRoles reads roles with rules that no role should have. Each of them is named, and allows
// nothing.
func TestRoles(t *testing.T) {
	d, raw := openShopOf(t, magento1test.Rich)
	magento1test.Break(t, raw,
		"DROP TABLE api2_acl_user", "CREATE TABLE api2_acl_user (admin_id INT, role_id INT)", "DELETE FROM api2_acl_role WHERE entity_id IN (2, 3)", "DELETE FROM api2_acl_rule",
		"INSERT INTO admin_user (user_id, username) SELECT seq, CONCAT('user', seq) FROM seq_2_to_5",
		"INSERT INTO api2_acl_role (entity_id, role_name) VALUES (4, 'Half'), (5, ''), (6, 'All')",
		"INSERT INTO api2_acl_rule (entity_id, role_id, resource_id, privilege) VALUES (1, 1, 'product', 'retrieve'), (2, 4, 'stock_item', NULL), (3, 4, 'order', 'retrieve'), "+
			"(5, 4, 'PRODUCT', 'retrieve'), (6, 4, 'customer', 'Retrieve'), (7, 99, 'product', 'retrieve'), (8, 6, 'all', 'x'), (9, 6, 'all ', NULL)",
		"INSERT INTO api2_acl_user (admin_id, role_id) VALUES (1, 4), (2, 4), (2, 6), (3, 99), (5, 6)")
	got, err := d.Roles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := &adapter.LegacyRoles{
		AccessRoles: adapter.AccessRoles{
			Roles: []adapter.AccessRole{
				{ID: 1, Name: "Guest", Rules: []adapter.AccessRule{{Resource: "products", Privilege: "retrieve"}}},
				{ID: 2, Name: "Customer"},
				{ID: 4, Name: "Half", Rules: []adapter.AccessRule{{Resource: "orders", Privilege: "retrieve"}, {Resource: "stock_items", Privilege: "create"},
					{Resource: "stock_items", Privilege: "delete"}, {Resource: "stock_items", Privilege: "retrieve"}, {Resource: "stock_items", Privilege: "update"}}},
				{ID: 5, Name: "role 5"},
				{ID: 6, Name: "All", Everything: true},
			},
			Assigned: []adapter.RoleAssignment{{AdminID: 1, RoleID: 4, Imported: true}, {AdminID: 2, Imported: true}, {AdminID: 3, Imported: true}, {AdminID: 4, Imported: true}, {AdminID: 5, RoleID: 6, Imported: true}},
		},
		Faults: []string{
			"api2_acl_role has no row 2, the role of every Customer, so that it allows nothing",
			`api2_acl_rule 5 of the role "Half" names the resource "PRODUCT", which the contract does not have`,
			`api2_acl_rule 6 of the role "Half" names the privilege "Retrieve", which does not exist`,
			"api2_acl_rule 7 belongs to the role 99, which does not exist",
			`api2_acl_rule 9 of the role "All" names the resource "all ", which the contract does not have`,
			"admin_user 2 has 2 roles in api2_acl_user: they get none, so that every call of theirs fails",
			"admin_user 3 has the role 99 in api2_acl_user, which does not exist, so that every call of theirs fails",
			"admin_user 4 has no row in api2_acl_user, so that every call of theirs fails",
		},
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	before, err := d.CredentialsDigest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	magento1test.Break(t, raw, "DELETE FROM api2_acl_rule WHERE role_id = 4")
	if after, err := d.CredentialsDigest(t.Context()); err != nil || after == before {
		t.Errorf("%v, want the digest to change with the rules", err)
	}

	magento1test.Break(t, raw, "DROP TABLE api2_acl_role")
	d.Forget()
	if got, err = d.Roles(t.Context()); err != nil || got.Absent || len(got.Roles) != 2 || got.Roles[0].Everything || got.Assigned[0].RoleID != 0 {
		t.Errorf("%+v, %v; want nothing to be allowed in a shop with tokens and without roles", got, err)
	}
}
