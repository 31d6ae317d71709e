package credentials

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
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
		if err := (roleTx{in.tx}).replaceImported(ctx, role.ID, role); err != nil {
			return err
		}
	}
	in.roles, in.rolesHere = from, here
	return nil
}

// importRole stores one role under the id of localRole, unless an operator has set that role.
func (in *credentialImport) importRole(ctx context.Context, here *adapter.AccessRoles, role adapter.AccessRole) error {
	role.Imported = true
	from := role.ID
	same, taken := localRole(here, role)
	role.ID = same.ID
	in.roleIDs[from] = role.ID
	if taken && !same.Imported {
		in.result.Roles.Unchanged++
		if !sameRights(same, role) {
			in.addNote("role", same.Name, "set here, and other than there: stays")
		}
		return nil
	}
	role.Name = freeName(here, role, from)
	switch {
	case taken && sameRights(same, role) && same.Name == role.Name:
		in.result.Roles.Unchanged++
		return nil
	case taken:
		in.result.Roles.Updated++
		in.addNote("role", role.Name, "updated")
		// Names that are looked for from now on must differ from the new one.
		here.Roles[slices.IndexFunc(here.Roles, func(r adapter.AccessRole) bool { return r.ID == role.ID })] = role
	default:
		in.result.Roles.Added++
		in.addNote("role", role.Name, "added")
		here.Roles = append(here.Roles, role)
	}
	if in.DryRun {
		return nil
	}
	return roleTx{in.tx}.replaceImported(ctx, role.ID, role)
}

// localRole returns the role under which a role of the legacy store is imported, and whether it exists.
// That is the role with the same id, unless an operator has made a role with this id: then it is one with
// an id that no legacy store has, and its name ends with the legacy id. An imported role that an operator
// has set since has kept its name, and is still that role.
func localRole(here *adapter.AccessRoles, role adapter.AccessRole) (adapter.AccessRole, bool) {
	same, taken := here.Role(role.ID)
	names := []string{adapter.Fold(storableName(role.Name, role.ID)), adapter.Fold(numberedName(role.Name, role.ID))}
	if !taken || same.Imported || role.ID <= adapter.CustomerRole || slices.Contains(names, adapter.Fold(same.Name)) {
		same.ID = role.ID
		return same, taken
	}
	next := adapter.FirstOwnRole
	for _, r := range here.Roles {
		numbered := r.Imported && strings.HasSuffix(r.Name, numberSuffix(role.ID)) || adapter.Fold(r.Name) == names[1]
		if r.ID >= adapter.FirstOwnRole && numbered {
			return r, true
		}
		next = max(next, r.ID+1)
	}
	return adapter.AccessRole{ID: next}, false
}

// freeName returns the name of a role whose id in the other system is from. It is followed by
// that id if the role has another id here, or if another role here has the name.
func freeName(here *adapter.AccessRoles, role adapter.AccessRole, from int64) string {
	name := storableName(role.Name, from)
	if role.ID != from {
		name = numberedName(role.Name, from)
	}
	for n := 1; slices.ContainsFunc(here.Roles, func(r adapter.AccessRole) bool {
		return r.ID != role.ID && adapter.Fold(r.Name) == adapter.Fold(name)
	}); n++ {
		name = numberedName(role.Name, from)
		if n > 1 {
			name = numberedName(fmt.Sprintf("%.180s %d", storableName(role.Name, from), n), from)
		}
	}
	return name
}

// storableName returns the name of a role of the other system, or one made of its id there if
// databases cannot store that.
func storableName(name string, id int64) string {
	if name == "" || !engine.Storable(name, maxUsername) {
		return fmt.Sprintf("role %d", id)
	}
	return name
}

// numberedName returns the storable name of a role, followed by its id in the other system.
func numberedName(name string, id int64) string {
	return fmt.Sprintf("%.200s", storableName(name, id)) + numberSuffix(id)
}

func numberSuffix(id int64) string { return fmt.Sprintf(" (%d)", id) }

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
		if here.Everything || here.RoleID != wanted.RoleID {
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
	return roleTx{in.tx}.assignImported(ctx, wanted)
}
