package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestImportRoles imports the roles of another system, twice, with changes of an operator between.
func TestImportRoles(t *testing.T) { sqltest.EachEngine(t, testImportRoles) }

func testImportRoles(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	c := db.Credentials()
	from := anotherSystem()
	stock := []adapter.AccessRule{{Resource: adapter.StockItems, Privilege: "retrieve"}, {Resource: adapter.StockItems, Privilege: "update"}}
	there := &adapter.LegacyRoles{Faults: []string{"a fault"}}
	there.Roles = []adapter.AccessRole{{ID: 1, Name: "Guest", Everything: true}, {ID: 2, Name: "Customer"}, {ID: 4, Name: "Stock", Rules: stock}, {ID: 5, Name: "All", Everything: true}}
	there.Assigned = []adapter.RoleAssignment{{AdminID: 7, RoleID: 4}, {AdminID: 1, RoleID: 5}, {AdminID: 9}, {AdminID: 10}} // 7 is ADMIN, who is here
	run := func(name string, want credentials.RoleTally) adapter.AccessRoles {
		t.Helper()
		for _, dry := range []bool{true, false} {
			foreign := from.credentials()
			foreign.Roles = there
			got, err := c.Import(t.Context(), foreign, credentials.ImportOptions{Admins: true, DryRun: dry})
			if err != nil {
				t.Fatal(name, err)
			}
			if !dry && (got.Roles != want || len(got.RoleFaults) != 1 && !there.Absent) {
				t.Errorf("%s: %+v, want %+v", name, got.Roles, want)
			}
		}
		roles, err := c.AccessRoles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return roles
	}
	id := func(username string) int64 {
		t.Helper()
		id, err := db.Admins().ID(t.Context(), username)
		if err != nil {
			t.Fatal(err)
		}
		return int64(id)
	}
	roleOf := func(roles adapter.AccessRoles, username string) adapter.RoleAssignment {
		assigned, _ := roles.Of(id(username))
		assigned.AdminID = 0
		return assigned
	}
	roles := run("first", credentials.RoleTally{Added: 4, Assigned: 4})
	if got, _ := roles.Role(4); cmp.Diff(adapter.AccessRole{ID: 4, Name: "Stock", Imported: true, Rules: stock}, got) != "" {
		t.Errorf("%+v", got)
	}
	for username, want := range map[string]adapter.RoleAssignment{"admin": {RoleID: 4, Imported: true}, "erp": {RoleID: 5, Imported: true}, "odd": {Imported: true}} {
		if got := roleOf(roles, username); got != want {
			t.Errorf("%s: %+v, want %+v", username, got, want)
		}
	}
	run("again", credentials.RoleTally{Unchanged: 4})

	// An operator widens one administrator, narrows another and narrows the Guests: that stays.
	for username, role := range map[string]string{"admin": "", "erp": "stock"} {
		if _, err := db.Admins().AssignRole(t.Context(), username, role); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Admins().SetRole(t.Context(), adapter.AccessRole{ID: adapter.GuestRole, Name: "guest"}); err != nil {
		t.Fatal(err)
	}
	there.Roles[2].Rules = stock[:1]
	there.Assigned[0].RoleID = 5
	roles = run("after changes", credentials.RoleTally{Updated: 1, Unchanged: 3})
	for username, want := range map[string]adapter.RoleAssignment{"admin": {Everything: true}, "erp": {RoleID: 4}, "odd": {Imported: true}} {
		if got := roleOf(roles, username); got != want {
			t.Errorf("after changes, %s: %+v, want %+v", username, got, want)
		}
	}
	guest, _ := roles.Role(adapter.GuestRole)
	if role, _ := roles.Role(4); len(role.Rules) != 1 || guest.Everything || guest.Imported {
		t.Errorf("%+v %+v, want the rules of there, and Guests as they are set here", role, guest)
	}

	// A role that is gone there allows nothing.
	there.Roles = there.Roles[:3]
	roles = run("gone", credentials.RoleTally{Updated: 1, Unchanged: 3})
	if role, ok := roles.Role(5); !ok || role.Everything || len(role.Rules) > 0 {
		t.Errorf("%+v", role)
	}
	there.Absent = true // of which no row can be at fault
	run("a version without roles", credentials.RoleTally{})
}

// TestImportRenamedRoles imports roles whose names or ids other roles of the store already have.
func TestImportRenamedRoles(t *testing.T) { sqltest.EachEngine(t, testImportRenamedRoles) }

func testImportRenamedRoles(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	there := &adapter.LegacyRoles{}
	there.Assigned = []adapter.RoleAssignment{{AdminID: 7, RoleID: 7}} // 7 is ADMIN, who is here
	run := func(want ...string) adapter.AccessRoles {
		t.Helper()
		foreign := anotherSystem().credentials()
		foreign.Roles = there
		if _, err := db.Credentials().Import(t.Context(), foreign, credentials.ImportOptions{Admins: true}); err != nil {
			t.Fatal(err)
		}
		roles, err := db.Credentials().AccessRoles(t.Context())
		var got []string
		for _, role := range roles.Roles {
			got = append(got, fmt.Sprint(role.ID, " ", role.Name, " ", len(role.Rules)))
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		return roles
	}
	there.Roles = []adapter.AccessRole{{ID: 5, Name: "A"}, {ID: 8, Name: "C (6)"}, {ID: 9, Name: "x\x00"}}
	run("5 A 0", "8 C (6) 0", "9 role 9 0")
	there.Roles = []adapter.AccessRole{{ID: 5, Name: "C"}, {ID: 6, Name: "c"}, {ID: 8, Name: "C (6)"}, {ID: 9, Name: "x\x00"}}
	run("5 C 0", "6 c 2 (6) 0", "8 C (6) 0", "9 role 9 0")

	// An operator's role has the id of one of there, whose administrators must not get its rights.
	if _, err := db.Admins().SetRole(t.Context(), adapter.AccessRole{Name: "Own", Everything: true}); err != nil {
		t.Fatal(err)
	}
	sqlstore.Exec(t, db, "UPDATE access_role SET role_id = 7 WHERE name = 'Own'")
	stock := []adapter.AccessRule{{Resource: adapter.StockItems, Privilege: "retrieve"}}
	there.Roles = []adapter.AccessRole{{ID: 7, Name: "Stock", Rules: stock}}
	for range 2 {
		roles := run("5 C 0", "6 c 2 (6) 0", "7 Own 0", "8 C (6) 0", "9 role 9 0", "1000001 Stock (7) 1")
		admin, err := db.Admins().ID(t.Context(), "admin")
		if got, _ := roles.Of(int64(admin)); err != nil || got.RoleID != adapter.FirstOwnRole {
			t.Errorf("%+v, %v", got, err)
		}
	}

	// An operator gives every right to an administrator who has no role there: the report says so.
	if _, err := db.Admins().AssignRole(t.Context(), "admin", ""); err != nil {
		t.Fatal(err)
	}
	there.Assigned[0].RoleID = 0
	foreign := anotherSystem().credentials()
	foreign.Roles = there
	got, err := db.Credentials().Import(t.Context(), foreign, credentials.ImportOptions{})
	if err != nil || !slices.ContainsFunc(got.Notes, func(n credentials.ImportNote) bool { return strings.HasPrefix(n.Outcome, "has a role set here") }) {
		t.Errorf("%+v, %v", got.Notes, err)
	}
}

// TestImportRolesBesideOperator lets an operator give a role while an import runs, which SQLite's one
// writer rules out.
func TestImportRolesBesideOperator(t *testing.T) {
	sqltest.EachServer(t, testImportRolesBesideOperator)
}

func testImportRolesBesideOperator(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	foreign := anotherSystem().credentials()
	foreign.Roles = &adapter.LegacyRoles{}
	foreign.Roles.Assigned = []adapter.RoleAssignment{{AdminID: 7}}
	admins := foreign.Admins
	foreign.Admins = func(yield func(adapter.Admin, error) bool) { // after roles are read
		if _, err := db.Admins().AssignRole(t.Context(), "admin", ""); err != nil {
			t.Error(err)
		}
		admins(yield)
	}
	if _, err := db.Credentials().Import(t.Context(), foreign, credentials.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	roles, err := db.Credentials().AccessRoles(t.Context())
	if err != nil || len(roles.Assigned) != 1 || !roles.Assigned[0].Everything {
		t.Errorf("%+v, %v; want the operator's assignment", roles.Assigned, err)
	}
}

// TestSetRoles sets, assigns and removes roles as an operator does.
func TestSetRoles(t *testing.T) { sqltest.EachEngine(t, testSetRoles) }

func testSetRoles(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	admins := db.Admins()
	rule := func(privilege string) []adapter.AccessRule {
		return []adapter.AccessRule{{Resource: adapter.Orders, Privilege: privilege}}
	}
	first, err := admins.SetRole(t.Context(), adapter.AccessRole{Name: "Läger", Rules: append(rule("retrieve"), rule("retrieve")...)})
	if err != nil {
		t.Fatal(err)
	}
	second, err := admins.SetRole(t.Context(), adapter.AccessRole{Name: "lager", Rules: rule("create")})
	if err != nil || second != first || first <= adapter.CustomerRole {
		t.Errorf("%d, %d, %v; want one role", first, second, err)
	}
	roles, err := db.Credentials().AccessRoles(t.Context())
	if want := (adapter.AccessRoles{Roles: []adapter.AccessRole{{ID: first, Name: "lager", Rules: rule("create")}}}); err != nil || cmp.Diff(want, roles) != "" {
		t.Errorf("%+v, %v", roles, err)
	}
	if _, err := admins.AssignRole(t.Context(), "admin", "LAGER"); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"not found: a role":             errorOf(admins.AssignRole(t.Context(), "admin", "other")),
		"not found: an administrator":   errorOf(admins.AssignRole(t.Context(), "other", "lager")),
		"not found: a role to remove":   admins.RemoveRole(t.Context(), "other"),
		"invalid: a role that one has":  admins.RemoveRole(t.Context(), "lager"),
		"invalid: a role without name":  errorOf(admins.SetRole(t.Context(), adapter.AccessRole{})),
		"invalid: a name that is long":  errorOf(admins.SetRole(t.Context(), adapter.AccessRole{Name: strings.Repeat("x", 256)})),
		"invalid: a name with a U+0000": errorOf(admins.SetRole(t.Context(), adapter.AccessRole{Name: "x\x00"})),
	} {
		want := adapter.Invalid
		if strings.HasPrefix(name, "not found") {
			want = adapter.NotFound
		}
		if adapter.KindOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := admins.AssignRole(t.Context(), "admin", ""); err != nil {
		t.Fatal(err)
	}
	if err := admins.RemoveRole(t.Context(), "Lager"); err != nil {
		t.Error(err)
	}
}

// errorOf returns the error of two results.
func errorOf[T any](_ T, err error) error { return err }
