package dataset

import (
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// The records of REST roles, which are not resources.
const (
	roles      adapter.Resource = "roles"
	roleRules  adapter.Resource = "rules"
	roleAdmins adapter.Resource = "administrators"
)

// roleShape returns the shape of REST roles with their rules and administrators.
func roleShape() *shape {
	s := newShape(adapter.NewSchema(roles, "role_id", []adapter.Attribute{
		{Name: "role_id", Kind: adapter.KindInteger, Required: true, Doc: "id: 1 for the role of all Guests, 2 for that of all Customers, more for administrators"},
		{Name: "name", Kind: adapter.KindText, Required: true, Doc: "name of the role"},
		{Name: "everything", Kind: adapter.KindInteger, Doc: "1 if the role allows every call, whatever its rules"},
		{Name: "imported", Kind: adapter.KindInteger, Doc: "1 for the copy of a legacy store's role, which imports replace"},
	}).UniqueBy("role_id"))
	s.add(
		member{name: string(roleRules), form: list, doc: "the calls that the role allows", of: newShape(adapter.NewSchema(roleRules, "rule_id", []adapter.Attribute{
			{Name: "rule_id", Kind: adapter.KindInteger, WriteOnly: true},
			{Name: "resource", Kind: adapter.KindText, Required: true, Doc: "resource, such as products"},
			{Name: "privilege", Kind: adapter.KindText, Required: true, Doc: "retrieve, create, update or delete"},
		}))},
		member{name: string(roleAdmins), form: list, doc: "the administrators who have the role", of: newShape(adapter.NewSchema(roleAdmins, "assignment_id", []adapter.Attribute{
			{Name: "assignment_id", Kind: adapter.KindInteger, WriteOnly: true},
			{Name: "admin_id", Kind: adapter.KindInteger, Required: true, Doc: "id of the administrator"},
			{Name: "everything", Kind: adapter.KindInteger, Doc: "1 if an operator has given the administrator every right, whatever the role"},
			{Name: "imported", Kind: adapter.KindInteger, Doc: "1 for the copy of a legacy store's assignment, which imports replace"},
		}).UniqueBy("admin_id"))},
	)
	return s
}

// addRole adds a role with its rules and administrators.
func (d *decoder) addRole(n node) {
	d.checkUnique(n.pointer, n.record)
	id := n.record.Get("role_id").Int()
	if id < 1 {
		d.addError(n.pointer, "role_id must be positive")
	}
	role := adapter.AccessRole{ID: id, Name: n.record.Get("name").Text(), Everything: n.record.Get("everything").Int() != 0, Imported: n.record.Get("imported").Int() != 0}
	for _, rule := range n.nested[string(roleRules)] {
		role.Rules = append(role.Rules, adapter.AccessRule{Resource: adapter.Resource(rule.record.Get("resource").Text()), Privilege: rule.record.Get("privilege").Text()})
	}
	for _, admin := range n.nested[string(roleAdmins)] {
		d.checkUnique(admin.pointer, admin.record)
		assigned := adapter.RoleAssignment{AdminID: admin.record.Get("admin_id").Int(), RoleID: id, Imported: admin.record.Get("imported").Int() != 0}
		if assigned.Everything = admin.record.Get("everything").Int() != 0; assigned.Everything {
			assigned.RoleID = 0
		}
		d.data.Roles.Assigned = append(d.data.Roles.Assigned, assigned)
	}
	d.data.Roles.Roles = append(d.data.Roles.Roles, role)
}

// WriteRoles writes the REST roles. Administrators without a role, every call of whom fails or who
// have every right, are written with a role without rules.
func (e *Encoder) WriteRoles(all adapter.AccessRoles) error {
	l := e.list(roles)
	rules, _ := l.of.find(string(roleRules))
	admins, _ := l.of.find(string(roleAdmins))
	written, none := all.Roles, roleOfNobody(all.Roles)
	for _, a := range all.Assigned {
		if _, known := all.Role(a.RoleID); !known || a.Everything {
			written = append(written[:len(written):len(written)], none)
			break
		}
	}
	var aggregates []adapter.Aggregate
	for _, role := range written {
		one := adapter.Aggregate{Record: textRecord(l.of.schema, map[string]string{"name": role.Name})}
		for name, n := range map[string]int64{"role_id": role.ID, "everything": integer(role.Everything), "imported": integer(role.Imported)} {
			one.Record.Set(name, adapter.IntegerValue(n))
		}
		for _, rule := range role.Rules {
			one.Parts = append(one.Parts, textRecord(rules.of.schema, map[string]string{"resource": string(rule.Resource), "privilege": rule.Privilege}))
		}
		for _, a := range all.Assigned {
			id := a.RoleID
			if _, known := all.Role(id); !known || a.Everything {
				id = none.ID
			}
			if id != role.ID {
				continue
			}
			admin := adapter.NewRecord(admins.of.schema)
			for name, n := range map[string]int64{"admin_id": a.AdminID, "everything": integer(a.Everything), "imported": integer(a.Imported)} {
				admin.Set(name, adapter.IntegerValue(n))
			}
			one.Parts = append(one.Parts, admin)
		}
		aggregates = append(aggregates, one)
	}
	return e.WriteList(roles, func(after adapter.Key) ([]adapter.Aggregate, error) {
		for i, one := range aggregates {
			if one.Record.Key() > after {
				return aggregates[i:], nil
			}
		}
		return nil, nil
	})
}

// roleOfNobody returns a role without rules whose id and name no other role has, nor can get from
// a legacy store.
func roleOfNobody(others []adapter.AccessRole) adapter.AccessRole {
	none := adapter.AccessRole{ID: adapter.FirstOwnRole, Name: "(none)"}
	for _, role := range others {
		none.ID = max(none.ID, role.ID+1)
	}
	for n := 2; slices.ContainsFunc(others, func(r adapter.AccessRole) bool { return adapter.Fold(r.Name) == adapter.Fold(none.Name) }); n++ {
		none.Name = fmt.Sprintf("(none %d)", n)
	}
	return none
}

func integer(set bool) int64 {
	if set {
		return 1
	}
	return 0
}
