package dataset

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/portico-commerce/portico/adapter"
)

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
