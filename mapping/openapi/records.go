package openapi

import (
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A record is a kind of record that replies show. Its tables belong to different roles, or
// show the same fields in another order; the schema has the fields of all of them.
type record struct {
	name     string // of the component
	resource adapter.Resource
	tables   []*contract.FieldTable
	// whole: attrs selects none of the fields, so that records have their default fields.
	whole bool
}

// allRecords returns the kinds of records of the contract.
func (b *builder) allRecords() []record {
	f := b.Fields
	return []record{
		{"Customer", adapter.Customers, []*contract.FieldTable{f.Customers}, false},
		{"CustomerAddress", adapter.CustomerAddresses, []*contract.FieldTable{f.CustomerAddresses}, false},
		{"Product", adapter.Products, []*contract.FieldTable{f.AdminProducts, f.PublicProducts}, false},
		{"StockData", adapter.StockItems, []*contract.FieldTable{f.ProductStock}, true},
		{"AssignedProduct", adapter.Products, []*contract.FieldTable{f.AssignedProducts, f.PublicAssignedProducts}, false},
		{"ProductImage", adapter.ProductImages, []*contract.FieldTable{f.ProductImages}, false},
		{"ProductWebsite", adapter.ProductWebsites, []*contract.FieldTable{f.ProductWebsites}, false},
		{"ProductCategory", adapter.ProductCategories, []*contract.FieldTable{f.ProductCategories}, false},
		{"StockItem", adapter.StockItems, []*contract.FieldTable{f.StockItems}, false},
		{"Order", adapter.Orders, []*contract.FieldTable{f.Orders}, false},
		{"OrderItem", adapter.OrderItems, []*contract.FieldTable{f.OrderItems}, false},
		{"OrderAddress", adapter.OrderAddresses, []*contract.FieldTable{f.OrderAddresses}, false},
		{"OrderComment", adapter.OrderComments, []*contract.FieldTable{f.OrderComments, f.OrderCommentList}, false},
	}
}

// recordOf returns the kind of the records of a table.
func (b *builder) recordOf(table *contract.FieldTable) *record {
	at := slices.IndexFunc(b.records, func(r record) bool { return slices.Contains(r.tables, table) })
	return &b.records[at]
}

// record returns a reference to the schema of the records of a table, which it adds.
func (b *builder) record(table *contract.FieldTable) *Schema {
	kind := b.recordOf(table)
	if _, known := b.doc.Components.Schemas.Get(kind.name); known {
		return ref(kind.name)
	}
	s := &Schema{Type: Types{"object"}, Closed: true}
	b.doc.Components.Schemas.Set(kind.name, s) // before its parts
	for _, t := range kind.tables {
		for _, i := range t.Order(b.Dialect, contract.SingleJSON) {
			b.addField(s, kind, t, &t.Fields[i])
		}
	}
	return ref(kind.name)
}

// addField adds a field to the schema of its record, if any role may read it.
func (b *builder) addField(s *Schema, kind *record, t *contract.FieldTable, f *contract.Field) {
	readers := b.readers(f)
	if readers.Len() == 0 || kind.whole && !f.Shown(b.Dialect, contract.SingleJSON) {
		return
	}
	field := b.fieldSchema(kind, t, f)
	known, twice := s.Properties.Get(f.Name)
	if !twice {
		field.Readers = readers
		s.Properties.Set(f.Name, field)
		return
	}
	for role, views := range readers.All() {
		known.Readers.Set(role, views)
	}
	known.MayBeMissing = known.MayBeMissing || field.MayBeMissing
	if field.Items != nil { // each table has its own entries
		xml := known.Items.XML
		known.Items = oneOf(addForms(addForms(nil, known.Items), field.Items))
		known.Items.XML = xml
	}
}

// readers returns the roles that may read a field, each with the views that show it unless
// the caller selects fields.
func (b *builder) readers(f *contract.Field) (readers Map[[]string]) {
	names := []struct {
		name  string
		views []contract.View
	}{
		{"list", []contract.View{contract.ListJSON, contract.ListXML}}, {"list-json", []contract.View{contract.ListJSON}}, {"list-xml", []contract.View{contract.ListXML}},
		{"single", []contract.View{contract.SingleJSON, contract.SingleXML}}, {"single-json", []contract.View{contract.SingleJSON}}, {"single-xml", []contract.View{contract.SingleXML}},
		{"category", []contract.View{contract.InCategory}},
	}
	for _, role := range contract.Roles() {
		readable := func(v contract.View) bool { return f.Readable(b.Dialect, role, v) && !f.Absent(b.Dialect, role, v) }
		shows := func(v contract.View) bool { return readable(v) && f.Shown(b.Dialect, v) }
		if !readable(contract.ListJSON) && !readable(contract.SingleJSON) && !shows(contract.InCategory) {
			continue
		}
		shown := []string{}
		var done []contract.View
		for _, n := range names {
			if !slices.Contains(done, n.views[0]) && !slices.ContainsFunc(n.views, func(v contract.View) bool { return !shows(v) }) {
				shown, done = append(shown, n.name), append(done, n.views...)
			}
		}
		readers.Set(role.String(), shown)
	}
	return readers
}

// fieldSchema returns the schema of a field in replies.
func (b *builder) fieldSchema(kind *record, t *contract.FieldTable, f *contract.Field) *Schema {
	if s := b.computed(f); s != nil {
		return s
	}
	schema := b.Schemas.Of(kind.resource)
	at, ok := schema.Index(f.Attribute)
	if !ok {
		panic("openapi: no schema for the field " + f.Name + " of " + kind.name)
	}
	a := &schema.Attributes[at]
	s := stored(b.Dialect, a, f)
	s.Description = a.Doc
	if options := optionsOf(b.AttributeOptions, kind.resource, a); options != nil { // stored values may be none of them
		s.Description += "; " + labels(options)
	}
	if f.ISOTime(b.Dialect, contract.SingleJSON) {
		s.Pattern = eitherPattern
	}
	switch required := a.Required || a.Name == schema.Key; {
	case f.EmptyText && f.IsNumber(b.Dialect):
		s.Type, s.Pattern = append(s.Type, "string"), "^$" // of texts
	case f.EmptyText: // an empty text in place of null
		s.Pattern = orEmpty(s.Pattern)
	case a.Kind == adapter.KindTexts:
		s.MayBeMissing = f.OmittedUntilStored
	case !required:
		s.Type = append(s.Type, "null")
		s.MayBeMissing = !b.Dialect.AbsentIsNull || f.OmittedUntilStored
		if s.Pattern != "" && !b.Dialect.AbsentIsNull && !t.EmptyIsNull {
			s.Pattern = orEmpty(s.Pattern)
		}
	}
	return s
}

// orEmpty returns a pattern that also matches an empty text.
func orEmpty(pattern string) string {
	if pattern == "" {
		return ""
	}
	return "^$|" + pattern
}

// Patterns of values that are texts on the wire.
const (
	integerPattern = "^-?[0-9]+$"
	decimalPattern = `^-?[0-9]+\.[0-9]{4}$`
	timePattern    = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$"
	eitherPattern  = "^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}|T[0-9]{2}:[0-9]{2}:[0-9]{2}[-+][0-9]{2}:[0-9]{2})$"
)

// stored returns the schema of a stored value.
func stored(d *contract.Dialect, a *adapter.Attribute, f *contract.Field) *Schema {
	switch a.Kind {
	case adapter.KindInteger:
		switch {
		case f.Sort == contract.SortByLabel && f.IsNumber(d): // or the label: own_attributes 5
			return &Schema{Type: Types{"integer", "string"}}
		case f.Sort == contract.SortByLabel:
			return text("")
		case f.IsNumber(d):
			return &Schema{Type: Types{"integer"}}
		}
		return text(integerPattern)
	case adapter.KindDecimal:
		return text(decimalPattern)
	case adapter.KindTime:
		return text(timePattern)
	case adapter.KindTexts:
		return list(text(""))
	default:
		return text("")
	}
}
