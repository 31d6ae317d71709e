package openapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Options are the inputs of [Build].
type Options struct {
	Dialect *contract.Dialect
	Fields  *contract.Fields
	// Schemas have the types of the attributes that fields show.
	Schemas *adapter.Schemas
	// Version is the version of the document.
	Version string
	// Server is the base URL of the shop; "" makes the URL of the interface relative.
	Server string
	// Offers reports whether the backend has the records of a route; nil means all.
	Offers func(*contract.Route) bool
	// APIKeys: calls may be authenticated with API keys.
	APIKeys bool
	// JSONWithoutAccept: a request without Accept is answered in JSON, in the dialect
	// without default formats.
	JSONWithoutAccept bool
	// AttributeOptions are the options of added attributes, records of that resource: the document has
	// those of an attribute as an enum. Without any, ids of options are numbers or texts.
	AttributeOptions []adapter.Record
	// Examples are recorded calls in the dialect. For each body the first that fits is
	// shown.
	Examples []Example
}

// Build returns the document of the interface.
func Build(o Options) *Document {
	b := &builder{Options: o, routes: contract.Routes(o.Fields)}
	b.table = contract.NewTable(b.routes)
	b.doc = &Document{
		OpenAPI: "3.1.0",
		Info: Info{
			Title: "Store REST interface, dialect " + o.Dialect.Name, Version: o.Version,
			Summary:     "Customers, addresses, products, images, websites, categories, stock items and orders of an online store.",
			Description: description(&o),
			License:     License{"Apache License 2.0", "Apache-2.0"},
			Dialect:     DialectInfo{o.Dialect.Name, o.Dialect.Root},
		},
		Servers: []Server{{URL: strings.TrimSuffix(o.Server, "/") + contract.Base}},
	}
	b.records = b.allRecords()
	b.addShared()
	b.doc.Security = b.security(contract.Roles())
	for _, r := range b.routes {
		if o.Offers == nil || o.Offers(r) {
			b.addRoute(r)
		}
	}
	b.addExamples()
	return b.doc
}

// A builder builds a document.
type builder struct {
	Options
	doc     *Document
	routes  []*contract.Route
	table   *contract.Table
	records []record
}

// addRoute adds the calls of a route that at least one role may make.
func (b *builder) addRoute(r *contract.Route) {
	item := &PathItem{Summary: strings.ToUpper(r.Help[:1]) + r.Help[1:]}
	served := false
	for _, m := range contract.Methods() {
		roles := rolesOf(func(role contract.Role) bool { return r.Access(b.Dialect, role, m) == contract.Serve })
		if len(roles) == 0 {
			continue
		}
		served = true
		*item.slot(m) = b.operation(r, m, roles)
	}
	if !served {
		return
	}
	for _, p := range b.table.PathParams(r) {
		item.Parameters = append(item.Parameters, &Parameter{Name: p.Name, In: "path", Required: true, Schema: &Schema{Type: Types{"string"}}, Description: parameterHelp(p.Name)})
	}
	b.doc.Paths.Set(templatePath(r), item)
	if !slices.ContainsFunc(b.doc.Tags, func(t Tag) bool { return t.Name == r.Resource }) {
		b.doc.Tags = append(b.doc.Tags, Tag{Name: r.Resource})
	}
}

// templatePath returns the path of a route as OpenAPI writes it.
func templatePath(r *contract.Route) string {
	parts := strings.Split(r.Path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// rolesOf returns the roles for which in is true.
func rolesOf(in func(contract.Role) bool) (roles []contract.Role) {
	for _, role := range contract.Roles() {
		if in(role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// roleNames returns the names of roles.
func roleNames(roles []contract.Role) []string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = role.String()
	}
	return names
}

// operation returns the call of a route with method m, which serves roles.
func (b *builder) operation(r *contract.Route, m contract.Method, roles []contract.Role) *Operation {
	op := &Operation{
		OperationID: b.operationID(r, m), Tags: []string{r.Resource}, Summary: summary(r, m),
		Call: r.Calls[m], Roles: roleNames(roles), Security: b.security(roles),
	}
	if b.Dialect.DefaultFormats {
		op.Format = r.DefaultFormat(m).String()
	}
	for _, name := range r.Query {
		op.Parameters = append(op.Parameters, &Parameter{Name: name, In: "query", Schema: &Schema{Type: Types{"string"}}, Description: parameterHelp(name)})
	}
	switch m {
	case contract.GET:
		b.addRead(op, r, roles)
	case contract.POST, contract.PUT:
		b.addWrite(op, r, m, roles)
	default:
		op.Responses.Set("200", &Response{Description: "The record is deleted. The answer has no body."})
	}
	b.addFaults(op, r, m)
	return op
}

// operationID returns the name of the call, which several routes share, with the parameters of
// the path that only narrow the call: listProductsInStore.
func (b *builder) operationID(r *contract.Route, m contract.Method) string {
	var narrowed []string
	for _, p := range b.table.PathParams(r) {
		if !p.Owner {
			narrowed = append(narrowed, camel(strings.TrimSuffix(p.Name, "_id")))
		}
	}
	if len(narrowed) == 0 {
		return r.Calls[m]
	}
	return r.Calls[m] + "In" + strings.Join(narrowed, "And")
}

// camel returns an identifier with underscores in camel case.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// summary describes a call in a few words.
func summary(r *contract.Route, m contract.Method) string {
	verb := [...]string{contract.GET: "Read", contract.POST: "Add to", contract.PUT: "Change", contract.DELETE: "Delete"}[m]
	if r.Shape == contract.Collection && m == contract.GET {
		verb = "List"
	}
	return verb + " " + r.Help
}

// security returns the ways to authenticate one of the roles.
func (b *builder) security(roles []contract.Role) []Requirement {
	var all []Requirement
	if slices.Contains(roles, contract.Guest) {
		all = append(all, Requirement{})
	}
	all = append(all, Requirement{oauthScheme: {}})
	if b.APIKeys {
		all = append(all, Requirement{keyScheme: {}})
	}
	return all
}

// addFaults adds the answers to a call that fails.
func (b *builder) addFaults(op *Operation, r *contract.Route, m contract.Method) {
	op.Faults, op.BatchFaults = b.messages(r.Faults(b.Dialect, m)), b.messages(r.BatchFaults(m))
	for status := range op.Faults.All() {
		op.Responses.Set(status, &Response{Ref: "#/components/responses/" + faultResponse(status)})
	}
}

// messages returns the messages of faults by their status.
func (b *builder) messages(keys []contract.FaultKey) (byStatus Map[[]string]) {
	faults := make([]contract.Fault, len(keys))
	for i, key := range keys {
		faults[i] = b.Dialect.Fault(key)
	}
	slices.SortStableFunc(faults, func(x, y contract.Fault) int { return cmp.Compare(x.Status(), y.Status()) })
	for _, f := range faults {
		status := strconv.Itoa(f.Status())
		if known, _ := byStatus.Get(status); !slices.Contains(known, f.Reason()) {
			byStatus.Set(status, append(known, f.Reason()))
		}
	}
	return byStatus
}

// faultResponse returns the name of the component for an answer with an error status.
func faultResponse(status string) string {
	code, _ := strconv.Atoi(status)
	return strings.ReplaceAll(http.StatusText(code), " ", "")
}
