package credentials

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// The kinds of rows of accessRolesQuery, which reads all roles in one statement, so that they are of
// one moment.
const (
	roleRow = iota
	ruleRow
	assignmentRow

	accessRolesQuery = `SELECT 0, role_id, name, '', 0, everything, imported FROM access_role
		UNION ALL SELECT 1, role_id, resource, privilege, 0, 0, 0 FROM access_rule
		UNION ALL SELECT 2, admin_id, '', '', COALESCE(role_id, 0), everything, imported FROM admin_role
		ORDER BY 1, 2, 3, 4`
)

// AccessRoles returns the REST roles (configurations 8). Kinds: Unavailable, Internal.
func (c *Store) AccessRoles(ctx context.Context) (adapter.AccessRoles, error) {
	roles, err := readAccessRoles(ctx, c.db.CredentialStatements.Query)
	if err != nil {
		return adapter.AccessRoles{}, c.db.WrapError(ctx, "read roles", err)
	}
	return roles, nil
}

func readAccessRoles(ctx context.Context, query engine.QueryFunc) (roles adapter.AccessRoles, err error) {
	at := map[int64]int{} // indexes of roles by id, whose rows come first
	err = engine.EachRow(ctx, query, func(rows engine.Rows) error {
		var kind, id, role int64
		var a, b string
		var everything, imported bool
		if err := rows.Scan(&kind, &id, &a, &b, &role, &everything, &imported); err != nil {
			return err
		}
		switch kind {
		case roleRow:
			at[id] = len(roles.Roles)
			roles.Roles = append(roles.Roles, adapter.AccessRole{ID: id, Name: a, Everything: everything, Imported: imported})
		case ruleRow:
			if i, known := at[id]; known {
				roles.Roles[i].Rules = append(roles.Roles[i].Rules, adapter.AccessRule{Resource: adapter.Resource(a), Privilege: b})
			}
		case assignmentRow:
			roles.Assigned = append(roles.Assigned, adapter.RoleAssignment{AdminID: id, RoleID: role, Everything: everything, Imported: imported})
		}
		return nil
	}, accessRolesQuery)
	for _, role := range roles.Roles { // databases sort texts in different orders
		sortRules(role.Rules)
	}
	return roles, err
}

var (
	errRoleName = errors.New("must have 1 to 255 characters")
	errRoleUsed = errors.New("administrators have the role: give them another one first")
)

// SetRole stores a role under its name, ignoring letter case and accents: a new one, or other rules
// of one that exists. It returns the role's id. A role with the id GuestRole or CustomerRole is that
// of all Guests or Customers, whatever its name. Kinds: Invalid, Unavailable, Internal.
func (a Admins) SetRole(ctx context.Context, role adapter.AccessRole) (id int64, err error) {
	const op = "set role"
	if n := utf8.RuneCountInString(role.Name); n == 0 || n > maxUsername || !engine.Storable(role.Name, maxUsername) {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "name", Err: errRoleName}
	}
	err = a.db.Write(ctx, op, func(tx *engine.Tx) error {
		if id = role.ID; id != adapter.GuestRole && id != adapter.CustomerRole {
			if id, err = (roleTx{tx}).idFor(ctx, role.Name); err != nil {
				return err
			}
		}
		return roleTx{tx}.replace(ctx, id, role)
	})
	return id, err
}

// RemoveRole removes the role of that name, ignoring letter case and accents. Guests or Customers
// whose role is removed may make all calls again. Kinds: NotFound; Invalid if administrators have
// the role; Unavailable; Internal.
func (a Admins) RemoveRole(ctx context.Context, name string) error {
	const op = "remove role"
	return a.db.Write(ctx, op, func(tx *engine.Tx) error {
		id, err := roleTx{tx}.id(ctx, name)
		if err != nil {
			return err
		}
		used, err := tx.RowExists(ctx, "SELECT 1 FROM admin_role WHERE role_id = ?", id)
		switch {
		case err != nil:
			return err
		case used:
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "role", Err: errRoleUsed}
		}
		return roleTx{tx}.remove(ctx, id)
	})
}

// AssignRole gives the administrator of a username the role of that name, both ignoring letter case
// and accents. With the name "" the administrator gets every right. It returns the administrator's
// id. Kinds: NotFound, whose Op names the missing administrator or role; Unavailable; Internal.
func (a Admins) AssignRole(ctx context.Context, username, name string) (id adapter.Key, err error) {
	err = a.db.Write(ctx, "assign role", func(tx *engine.Tx) error {
		admin, err := adminTx{tx}.id(ctx, username)
		if err != nil {
			return fmt.Errorf("administrator: %w", err)
		}
		assigned := adapter.RoleAssignment{AdminID: admin, Everything: name == ""}
		if name != "" {
			if assigned.RoleID, err = (roleTx{tx}).id(ctx, name); err != nil {
				return &adapter.Error{Kind: adapter.NotFound, Op: "find role", Field: "role", Err: err}
			}
		}
		id = adapter.Key(admin)
		return roleTx{tx}.assign(ctx, assigned)
	})
	return id, err
}

// loadRoles stores the roles of a data set.
func loadRoles(ctx context.Context, tx *engine.Tx, roles *adapter.AccessRoles) error {
	for _, role := range roles.Roles {
		if err := (roleTx{tx}).replace(ctx, role.ID, role); err != nil {
			return err
		}
	}
	for _, assigned := range roles.Assigned {
		if err := (roleTx{tx}).assign(ctx, assigned); err != nil {
			return err
		}
	}
	return nil
}

// A roleTx reads and writes roles in a transaction.
type roleTx struct{ *engine.Tx }

func (t roleTx) id(ctx context.Context, name string) (id int64, err error) {
	err = t.QueryRow(ctx, "SELECT role_id FROM access_role WHERE name_folded = ?", adapter.Fold(name)).Scan(&id)
	return id, err
}

// idFor returns the id of the role of that name, or the next free one for an operator's role.
func (t roleTx) idFor(ctx context.Context, name string) (id int64, err error) {
	if id, err = t.id(ctx, name); !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	err = t.QueryRow(ctx, "SELECT COALESCE(MAX(role_id), 0) + 1 FROM access_role").Scan(&id)
	return max(id, adapter.FirstOwnRole), err
}

// remove deletes a role and its rules.
func (t roleTx) remove(ctx context.Context, id int64) error {
	if err := t.LockOnNodes(ctx, "access_role", id); err != nil {
		return err
	}
	for _, text := range []string{"DELETE FROM access_rule WHERE role_id = ?", "DELETE FROM access_role WHERE role_id = ?"} {
		if _, err := t.Run(ctx, text, id); err != nil {
			return err
		}
	}
	return nil
}

// replace stores a role and its rules under an id, in place of the role that had it.
func (t roleTx) replace(ctx context.Context, id int64, role adapter.AccessRole) error {
	if err := t.remove(ctx, id); err != nil {
		return err
	}
	if _, err := t.Run(ctx, insertRole, id, role.Name, adapter.Fold(role.Name), flag(role.Everything), flag(role.Imported)); err != nil {
		return err
	}
	return t.addRules(ctx, id, role)
}

// replaceImported stores a role like replace, unless an operator has set the role of this id since the
// import read it: then the operator's role stays, with its rules.
func (t roleTx) replaceImported(ctx context.Context, id int64, role adapter.AccessRole) error {
	if err := t.LockOnNodes(ctx, "access_role", id); err != nil {
		return err
	}
	if _, err := t.Run(ctx, "DELETE FROM access_role WHERE role_id = ? AND imported = 1", id); err != nil {
		return err
	}
	added, err := t.Affect(ctx, insertRole+t.DB.Engine.IgnoreDuplicate("role_id"), id, role.Name, adapter.Fold(role.Name), flag(role.Everything), flag(true))
	if err != nil || added == 0 {
		return err
	}
	if _, err := t.Run(ctx, "DELETE FROM access_rule WHERE role_id = ?", id); err != nil {
		return err
	}
	return t.addRules(ctx, id, role)
}

const (
	insertRole       = "INSERT INTO access_role (role_id, name, name_folded, everything, imported) VALUES (?, ?, ?, ?, ?)"
	insertAssignment = "INSERT INTO admin_role (admin_id, role_id, everything, imported) VALUES (?, ?, ?, ?)"
)

// addRules adds the rules of a role, each once.
func (t roleTx) addRules(ctx context.Context, id int64, role adapter.AccessRole) error {
	rules := slices.Clone(role.Rules)
	sortRules(rules)
	for _, rule := range slices.Compact(rules) {
		if _, err := t.Run(ctx, "INSERT INTO access_rule (role_id, resource, privilege) VALUES (?, ?, ?)", id, string(rule.Resource), rule.Privilege); err != nil {
			return err
		}
	}
	return nil
}

func sortRules(rules []adapter.AccessRule) {
	slices.SortFunc(rules, func(a, b adapter.AccessRule) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Privilege, b.Privilege))
	})
}

// assign stores the role of an administrator in place of the one before.
func (t roleTx) assign(ctx context.Context, a adapter.RoleAssignment) error {
	if err := t.LockOnNodes(ctx, "admin_role", a.AdminID); err != nil {
		return err
	}
	if _, err := t.Run(ctx, "DELETE FROM admin_role WHERE admin_id = ?", a.AdminID); err != nil {
		return err
	}
	_, err := t.Run(ctx, insertAssignment, a.AdminID, engine.NullIfZero(a.RoleID), flag(a.Everything), flag(a.Imported))
	return err
}

// assignImported stores the role of an administrator like assign, unless an operator has given them
// one since the import has read it: then that stays.
func (t roleTx) assignImported(ctx context.Context, a adapter.RoleAssignment) error {
	if err := t.LockOnNodes(ctx, "admin_role", a.AdminID); err != nil {
		return err
	}
	if _, err := t.Run(ctx, "DELETE FROM admin_role WHERE admin_id = ? AND imported = 1", a.AdminID); err != nil {
		return err
	}
	_, err := t.Run(ctx, insertAssignment+t.DB.Engine.IgnoreDuplicate("admin_id"), a.AdminID, engine.NullIfZero(a.RoleID), flag(a.Everything), flag(true))
	return err
}

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}
