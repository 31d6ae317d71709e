package dataset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// A credential is the consumer or a token in a data set.
type credential struct {
	Key        string `json:"key"`
	Token      string `json:"token"`
	Secret     string `json:"secret"`
	AdminID    int64  `json:"admin_id"`
	CustomerID int64  `json:"customer_id"`

	Comment jsontext.Value `json:"$comment"`
}

// addCredentials decodes the consumer and the tokens.
func (d *decoder) addCredentials(raw jsontext.Value) {
	if raw == nil {
		return
	}
	pointer := jsontext.Pointer("/" + credentials)
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		d.addError(pointer, "must be an object with a consumer and tokens")
		return
	}
	delete(members, comment)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d.addCredential(pointer.AppendToken(name), name, members[name])
	}
	if len(d.data.Tokens) > 0 && members["consumer"] == nil {
		d.addError(pointer.AppendToken("consumer"), "missing")
	}
}

// addCredential decodes the consumer or one token.
func (d *decoder) addCredential(pointer jsontext.Pointer, name string, raw jsontext.Value) {
	const consumerForm, tokenForm = "must have a key and a secret", "must have a token, a secret and either an admin_id or a customer_id"
	form := tokenForm
	if name == "consumer" {
		form = consumerForm
	}
	var c credential
	if err := json.Unmarshal(raw, &c, json.RejectUnknownMembers(true)); err != nil {
		if wrong, ok := errors.AsType[*json.SemanticError](err); ok && errors.Is(err, json.ErrUnknownName) {
			pointer = pointer.AppendToken(wrong.JSONPointer.LastToken())
			form = "unknown"
		}
		d.addError(pointer, "%s", form)
		return
	}
	switch {
	case c.Secret == "":
		d.addError(pointer.AppendToken("secret"), "missing")
	case name == "consumer" && (c.Key == "" || c.Token != "" || c.AdminID != 0 || c.CustomerID != 0),
		name != "consumer" && (c.Token == "" || c.Key != "" || (c.AdminID == 0) == (c.CustomerID == 0)):
		d.addError(pointer, "%s", form)
	case name == "consumer":
		d.data.Consumer = adapter.Consumer{Name: "Data set", Key: c.Key, Secret: c.Secret}
	default:
		if c.AdminID != 0 {
			d.references = append(d.references, reference{pointer.AppendToken("admin_id"), adapter.Admins, c.AdminID})
		} else {
			d.references = append(d.references, reference{pointer.AppendToken("customer_id"), adapter.Customers, c.CustomerID})
		}
		d.data.Tokens = append(d.data.Tokens, adapter.Token{
			Type: adapter.AccessToken, Token: c.Token, Secret: c.Secret, AdminID: c.AdminID, CustomerID: c.CustomerID,
		})
	}
}

// The records of client programs and their tokens, which are not resources.
const (
	consumers adapter.Resource = "consumers"
	tokens    adapter.Resource = "tokens"
)

// consumerShape returns the shape of client programs with their access tokens.
func consumerShape() *shape {
	s := newShape(adapter.NewSchema(consumers, "consumer_id", []adapter.Attribute{
		{Name: "consumer_id", Kind: adapter.KindInteger, WriteOnly: true},
		{Name: "name", Kind: adapter.KindText, Required: true, Doc: "name of the client program"},
		{Name: "key", Kind: adapter.KindText, Required: true, Doc: "consumer key, 32 characters"},
		{Name: "secret", Kind: adapter.KindText, Required: true, Doc: "consumer secret"},
		{Name: "callback", Kind: adapter.KindText, Doc: "address to which users are sent after granting access"},
		{Name: "rejected_callback", Kind: adapter.KindText, Doc: "address to which users are sent after denying access"},
	}).UniqueBy("key"))
	s.add(member{name: string(tokens), form: list, doc: "access tokens that are not revoked", of: newShape(adapter.NewSchema(tokens, "token_id", []adapter.Attribute{
		{Name: "token_id", Kind: adapter.KindInteger, WriteOnly: true},
		{Name: "token", Kind: adapter.KindText, Required: true, Doc: "access token, 32 characters"},
		{Name: "secret", Kind: adapter.KindText, Required: true, Doc: "secret of the token"},
		{Name: "verifier", Kind: adapter.KindText, Doc: "verifier with which it was issued"},
		{Name: "admin_id", Kind: adapter.KindInteger, Doc: "id of the administrator for whom it acts, or"},
		{Name: "customer_id", Kind: adapter.KindInteger, Doc: "id of the customer for whom it acts"},
		{Name: "created_at", Kind: adapter.KindTime, Doc: "when it was issued"},
	}).UniqueBy("token"))})
	return s
}

// addConsumer adds a client program with its tokens.
func (d *decoder) addConsumer(n node) {
	text := func(r adapter.Record, name string) string { return r.Get(name).Text() }
	d.checkUnique(n.pointer, n.record)
	g := adapter.Grant{Consumer: adapter.Consumer{
		Name: text(n.record, "name"), Key: text(n.record, "key"), Secret: text(n.record, "secret"),
		Callback: text(n.record, "callback"), RejectedCallback: text(n.record, "rejected_callback"),
	}}
	for _, t := range n.nested[string(tokens)] {
		d.checkUnique(t.pointer, t.record)
		admin, customer := t.record.Get("admin_id").Int(), t.record.Get("customer_id").Int()
		if (admin == 0) == (customer == 0) {
			d.addError(t.pointer, "must have either an admin_id or a customer_id")
		}
		created, _ := time.Parse(time.DateTime, text(t.record, "created_at")) // zero: now
		g.Tokens = append(g.Tokens, adapter.Token{
			Type: adapter.AccessToken, Token: text(t.record, "token"), Secret: text(t.record, "secret"), Verifier: text(t.record, "verifier"),
			AdminID: admin, CustomerID: customer, CreatedAt: created,
		})
	}
	d.data.Grants = append(d.data.Grants, g)
}
