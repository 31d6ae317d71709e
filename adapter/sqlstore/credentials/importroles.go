package credentials

import (
	"context"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// importRoles stores the roles of the other system. A role or an assignment that an operator has
// made here stays; the report names it. Imported roles that are gone there allow nothing
// from then on, as long as an administrator has them.
func (in *credentialImport) importRoles(ctx context.Context, from *adapter.LegacyRoles) error {
	if from == nil || from.Absent {
		return nil
	}
	in.result.RoleFaults = from.Faults
	here, err := readAccessRoles(ctx, in.tx.Query)
	if err != nil {
		return err
	}
	in.roleIDs = map[int64]int64{}
	for _, role := range from.Roles {
		if err := in.importRole(ctx, &here, role); err != nil {
			return err
		}
	}
	for _, role := range here.Roles {
		gone := role.Imported && !slices.ContainsFunc(from.Roles, func(r adapter.AccessRole) bool { return in.roleIDs[r.ID] == role.ID })
		if !gone || len(role.Rules) == 0 && !role.Everything {
			continue
		}
		in.result.Roles.Updated++
		in.addNote("role", role.Name, "gone there: it allows nothing now")
		if in.DryRun {
			continue
		}
		role.Everything, role.Rules = false, nil
		if err := (roleTx{in.tx}).replace(ctx, role.ID, role); err != nil {
			return err
		}
	}
	in.roles, in.rolesHere = from, here
	return nil
}

// importRole stores one role under its id, unless an operator has set that role.
func (in *credentialImport) importRole(ctx context.Context, here *adapter.AccessRoles, role adapter.AccessRole) error {
	role.Imported = true
	id := role.ID
	same, taken := here.Role(id)
	in.roleIDs[role.ID] = id
	if taken && !same.Imported {
		in.result.Roles.Unchanged++
		if !sameRights(same, role) {
			in.addNote("role", same.Name, "set here, and other than there: stays")
		}
		return nil
	}
	role.Name = freeName(here, role)
	switch {
	case taken && sameRights(same, role) && same.Name == role.Name:
		in.result.Roles.Unchanged++
		return nil
	case taken:
		in.result.Roles.Updated++
		in.addNote("role", role.Name, "updated")
	default:
		in.result.Roles.Added++
		in.addNote("role", role.Name, "added")
		here.Roles = append(here.Roles, role)
	}
	if in.DryRun {
		return nil
	}
	return roleTx{in.tx}.replace(ctx, id, role)
}

// freeName returns the name of a role, with its id if another role here has the name.
func freeName(here *adapter.AccessRoles, role adapter.AccessRole) string {
	if slices.ContainsFunc(here.Roles, func(r adapter.AccessRole) bool {
		return r.ID != role.ID && adapter.Fold(r.Name) == adapter.Fold(role.Name)
	}) {
		return fmt.Sprintf("%.200s (%d)", role.Name, role.ID)
	}
	return role.Name
}

// sameRights reports whether two roles allow the same calls. Their rules are in the same order.
func sameRights(a, b adapter.AccessRole) bool {
	return a.Everything == b.Everything && (a.Everything || slices.Equal(a.Rules, b.Rules))
}

// importAssignment gives an administrator of the other system, who has an id here, the role that
// they have there. A role that an operator has given them here stays.
func (in *credentialImport) importAssignment(ctx context.Context, foreign adapter.Admin, id int64) error {
	if in.roles == nil || id == pendingID {
		return nil
	}
	there, _ := in.roles.Of(foreign.ID)
	wanted := adapter.RoleAssignment{AdminID: id, RoleID: in.roleIDs[there.RoleID], Imported: true}
	here, assigned := in.rolesHere.Of(id)
	switch {
	case assigned && !here.Imported:
		if here.RoleID != wanted.RoleID {
			in.addNote("admin", foreign.Username, "has a role set here, and another one there: stays")
		}
		return nil
	case assigned && here == wanted:
		return nil
	}
	in.result.Roles.Assigned++
	if in.DryRun {
		return nil
	}
	return roleTx{in.tx}.assign(ctx, wanted)
}
