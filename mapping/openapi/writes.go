package openapi

import (
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// addWrite adds the body and the replies of a call that writes.
func (b *builder) addWrite(op *Operation, r *contract.Route, m contract.Method, roles []contract.Role) {
	batch := m == contract.PUT && r.Shape == contract.Collection
	entry := b.input(r, m, roles, batch)
	body := entry
	if batch || r.CreatesLists {
		name := b.recordOf(r.Fields).name + "Batch"
		b.doc.Components.Schemas.Set(name, list(entry))
		body = ref(name)
	}
	if r.CreatesLists {
		name := b.recordOf(r.Fields).name + "OneOrMany"
		b.doc.Components.Schemas.Set(name, &Schema{OneOf: []*Schema{entry, body}})
		body = ref(name)
	}
	op.RequestBody = &RequestBody{Required: true}
	op.RequestBody.Content.Set("application/json", &MediaType{Schema: body})
	for _, mediaType := range []string{"application/xml", "text/xml"} {
		op.RequestBody.Content.Set(mediaType, &MediaType{Schema: b.rooted(body)})
	}
	op.RequestBody.Content.Set("text/plain", &MediaType{Schema: ref(formSchema)})
	if r.ContentTypeRequired || !b.Dialect.DefaultFormats {
		op.RequestBody.Description = "Content-Type is required."
	}
	if !batch {
		op.Responses.Set("200", b.saved(r, m))
	}
	if batch || r.CreatesLists {
		outcome := b.outcome(r)
		op.Responses.Set("207", &Response{Description: "What has become of each record.", Content: b.bodies(outcome, outcome)})
	}
}

// saved returns the reply to a record that has been saved.
func (b *builder) saved(r *contract.Route, m contract.Method) *Response {
	if m == contract.PUT {
		return &Response{Description: "The record is changed. The answer has no body."}
	}
	s := &Response{Description: "The record is added. The answer has no body."}
	s.Headers.Set("Location", &Header{Description: "Path of the new record.", Required: true, Schema: text("^/api/rest/")})
	if r.ListsSuccess(b.Dialect) {
		outcome := b.outcome(r)
		s.Description, s.Content = "The record is added.", b.bodies(outcome, outcome)
	}
	return s
}

// outcome returns a reference to the schema of a reply about several records.
func (b *builder) outcome(r *contract.Route) *Schema {
	name := b.recordOf(r.Fields).name
	entry := func(id *Schema) *Schema {
		members, required := properties(r.KeyField(), id), []string{r.KeyField()}
		for _, p := range b.table.PathParams(r) {
			if p.Owner {
				members.Set(p.Name, b.integer())
				required = append(required, p.Name)
			}
		}
		members.Set("message", text(""))
		members.Set("code", &Schema{Type: Types{"integer"}})
		return object(members, append(required, "message", "code")...)
	}
	schemas := &b.doc.Components.Schemas
	schemas.Set(name+"Success", entry(b.integer()))
	schemas.Set(name+"Failure", entry(&Schema{Description: "The id as it was sent, of any type."}))
	schemas.Set(name+"Outcome", object(properties("success", list(ref(name+"Success")), "error", list(ref(name+"Failure")))))
	return ref(name + "Outcome")
}

// input returns a reference to the schema of a record in a request.
func (b *builder) input(r *contract.Route, m contract.Method, roles []contract.Role, batch bool) *Schema {
	kind := b.recordOf(r.Fields)
	name := kind.name + "Update"
	if m == contract.POST {
		name = kind.name + "Create"
	}
	if batch {
		name = kind.name + "BatchUpdate"
	}
	s := &Schema{Type: Types{"object"}, Closed: true}
	b.doc.Components.Schemas.Set(name, s)
	for i := range r.Fields.Fields {
		f := &r.Fields.Fields[i]
		writers := slices.DeleteFunc(slices.Clone(roles), func(role contract.Role) bool { return !f.Writable(b.Dialect, role) })
		if len(writers) == 0 {
			continue
		}
		field := b.inputField(kind, f)
		field.Writers = roleNames(writers)
		s.Properties.Set(f.Name, field)
		if b.required(kind, f, m) || batch && f.Name == r.KeyField() {
			s.Required = append(s.Required, f.Name)
			// Portico refuses null in the place of a required text.
			field.Type = slices.DeleteFunc(field.Type, func(t string) bool { return t == "null" })
		}
	}
	return ref(name)
}

// required reports whether a request must have a value for a field.
func (b *builder) required(kind *record, f *contract.Field, m contract.Method) bool {
	rule := kind.tables[0].Rules.Of(f.Name)
	switch {
	case kind.resource == adapter.StockItems: // stock_orders 2.3
		return f.Name == "qty" && !b.Dialect.PartialUpdates
	case m != contract.POST:
		return false
	case kind.resource == adapter.ProductImages: // contract 5.5
		return f.Name == "file_content" || f.Name == "file_mime_type"
	case rule != nil:
		return rule.Required && !rule.OptionalSomewhere(b.Dialect)
	case kind.tables[0].Rules.Requires(f.Name):
		return true
	}
	schema := b.Schemas.Of(kind.resource)
	at, ok := schema.Index(f.Attribute)
	return ok && schema.Attributes[at].Required && schema.Attributes[at].Fixed
}

// inputField returns the schema of a field in a request.
func (b *builder) inputField(kind *record, f *contract.Field) *Schema {
	rule := b.rule(kind, f)
	switch rule.Check {
	case contract.Set:
		return b.stockInput(rule.Members)
	case contract.PriceList:
		return b.priceInput(f.Name, rule.Members)
	case contract.Switch:
		return ref(numberSchema)
	}
	switch f.Name {
	case "copy_to_stores":
		b.doc.Components.Schemas.Set("StoreCopy", object(properties("store_from", ref(numberSchema), "store_to", ref(numberSchema)), "store_from", "store_to"))
		return list(ref("StoreCopy"))
	case "types":
		return list(&Schema{Type: Types{"string"}, Enum: contract.ImageUses()})
	case "file_mime_type":
		s := &Schema{Type: Types{"string"}}
		for _, t := range contract.ImageTypes(b.Dialect) {
			s.Enum = append(s.Enum, t.MediaType)
		}
		return s
	}
	schema := b.Schemas.Of(kind.resource)
	at, ok := schema.Index(f.Attribute)
	if !ok {
		return &Schema{Type: Types{"string", "null"}}
	}
	a := &schema.Attributes[at]
	if s := optionInput(b, kind, a, rule); s != nil {
		return s
	}
	switch {
	case a.Kind == adapter.KindTexts:
		return list(text(""))
	case rule.Multiple: // own_attributes 10
		return &Schema{OneOf: []*Schema{list(ref(numberSchema)), ref(numberSchema)}, Description: a.Doc}
	case a.Kind == adapter.KindInteger, a.Kind == adapter.KindDecimal, kind.resource == adapter.Products && takesNumbers(rule):
		return &Schema{Ref: ref(numberSchema).Ref, Description: a.Doc}
	case rule.Check == contract.Country && rule.Required && len(rule.Options) > 0: // configurations 6
		return &Schema{Type: Types{"string"}, Enum: rule.Options, Description: a.Doc}
	}
	return &Schema{Type: Types{"string", "null"}, Description: a.Doc}
}

// rule returns the first rule of a field, which may be one that the store added; without checks if the
// field has no rule.
func (b *builder) rule(kind *record, f *contract.Field) *contract.Rule {
	rules := &kind.tables[0].Rules
	if rule := rules.Of(f.Name); rule != nil {
		return rule
	}
	rule := contract.Rule{}
	schema := b.Schemas.Of(kind.resource)
	if at, ok := schema.Index(f.Attribute); ok && schema.Attributes[at].Added {
		rule = rules.Added(f.Name, schema.Attributes[at].KindName())
	}
	return &rule
}

// takesNumbers reports whether a text field takes one of a list of numbers.
func takesNumbers(rule *contract.Rule) bool {
	return len(rule.Options) > 0 && strings.Trim(strings.Join(rule.Options, ""), "0123456789") == ""
}

// stockInput returns the schema of stock_data in a request.
func (b *builder) stockInput(rules []contract.Rule) *Schema {
	var members Map[*Schema]
	for i := range rules {
		members.Set(rules[i].Field, ref(numberSchema))
	}
	b.doc.Components.Schemas.Set("StockDataInput", object(members))
	return ref("StockDataInput")
}

// priceInput returns the schema of a price list in a request.
func (b *builder) priceInput(name string, rules []contract.Rule) *Schema {
	var members Map[*Schema]
	var required []string
	for _, rule := range rules {
		members.Set(rule.Field, ref(numberSchema))
		required = append(required, rule.Field)
	}
	component := camel(name) + "Input"
	b.doc.Components.Schemas.Set(component, object(members, required...))
	return list(ref(component))
}
