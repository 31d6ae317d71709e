package dataset

import (
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
		d.data.Roles.Assigned = append(d.data.Roles.Assigned, adapter.RoleAssignment{AdminID: admin.record.Get("admin_id").Int(), RoleID: id, Imported: role.Imported})
	}
	d.data.Roles.Roles = append(d.data.Roles.Roles, role)
}

// WriteRoles writes the REST roles. Administrators every call of whom fails get a role without rules.
func (e *Encoder) WriteRoles(all adapter.AccessRoles) error {
	l := e.list(roles)
	rules, _ := l.of.find(string(roleRules))
	admins, _ := l.of.find(string(roleAdmins))
	written, none := all.Roles, adapter.AccessRole{ID: 1 + adapter.CustomerRole, Name: "(none)"}
	for _, role := range all.Roles {
		none.ID = max(none.ID, role.ID+1)
	}
	for _, a := range all.Assigned {
		if _, known := all.Role(a.RoleID); !known && !a.Everything {
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
			if _, known := all.Role(a.RoleID); a.Everything || (a.RoleID != role.ID || !known) && (known || role.ID != none.ID) {
				continue
			}
			admin := adapter.NewRecord(admins.of.schema)
			admin.Set("admin_id", adapter.IntegerValue(a.AdminID))
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

func integer(set bool) int64 {
	if set {
		return 1
	}
	return 0
}
