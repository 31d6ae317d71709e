package openapi

import (
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// addRead adds the parameters and the reply of a call that reads.
func (b *builder) addRead(op *Operation, r *contract.Route, roles []contract.Role) {
	kind := b.recordOf(r.Shown[0])
	entry := b.record(r.Shown[0])
	if r.Shape == contract.Entity {
		op.Responses.Set("200", &Response{Description: "The record.", Content: b.bodies(entry, entry)})
		op.Parameters = append(op.Parameters, b.attrsParameter(kind, r))
		return
	}
	op.List = &List{Modifiers: [...]string{contract.NoModifiers: "ignored", contract.CheckedModifiers: "checked", contract.AppliedModifiers: "applied"}[r.Modifiers]}
	op.List.NumberedXML = r.NumbersItems(b.Dialect)
	inJSON, inXML := b.lists(kind, entry, r)
	if r.KeyedByID {
		op.List.KeyedBy = r.KeyField()
	}
	op.Responses.Set("200", &Response{Description: "The records.", Content: b.bodies(inJSON, inXML)})
	if r.Modifiers != contract.NoModifiers {
		b.addModifiers(op, kind, r, roles)
	}
	op.Parameters = append(op.Parameters, b.attrsParameter(kind, r))
}

// lists returns the schemas of a list in JSON and in XML.
func (b *builder) lists(kind *record, entry *Schema, r *contract.Route) (inJSON, inXML *Schema) {
	schemas := &b.doc.Components.Schemas
	array := list(entry)
	if !r.KeyedByID {
		schemas.Set(kind.name+"List", array)
		return ref(kind.name + "List"), ref(kind.name + "List")
	}
	schemas.Set(kind.name+"ByID", &Schema{Type: Types{"object"}, Names: text("^[0-9]+$"), Additional: entry,
		Description: "Records by their ids, in the order of the list. In JSON the order of members counts only for clients that keep it."})
	schemas.Set(kind.name+"List", &Schema{OneOf: []*Schema{ref(kind.name + "ByID"), ref(emptyList)}})
	schemas.Set(kind.name+"ListXML", array)
	return ref(kind.name + "List"), ref(kind.name + "ListXML")
}

// addModifiers adds the list modifiers.
func (b *builder) addModifiers(op *Operation, kind *record, r *contract.Route, roles []contract.Role) {
	var sortable []string
	for _, t := range r.Shown {
		for i := range t.Fields {
			f := &t.Fields[i]
			if !slices.ContainsFunc(roles, func(role contract.Role) bool { return f.Queryable(b.Dialect, role) }) {
				continue
			}
			if f.Sort != contract.Unsortable && f.Sort != contract.SortCrash && !slices.Contains(sortable, f.Name) {
				sortable = append(sortable, f.Name)
			}
			if f.Sort == contract.SortRequiresDir {
				op.List.RequiresDir = append(op.List.RequiresDir, f.Name)
			}
			if f.Filter != contract.Unfilterable && f.Filter != contract.FilterCrash && !slices.Contains(op.List.Filterable, f.Name) {
				op.List.Filterable = append(op.List.Filterable, f.Name)
			}
		}
	}
	for _, name := range []string{"page", "limit"} {
		op.Parameters = append(op.Parameters, &Parameter{Ref: "#/components/parameters/" + name})
	}
	if len(sortable) > 0 {
		order := kind.name + "Order"
		b.doc.Components.Schemas.Set(order, &Schema{Type: Types{"string"}, Enum: sortable, Description: "Fields that a list can be ordered by."})
		op.Parameters = append(op.Parameters,
			&Parameter{Name: "order", In: "query", Schema: ref(order), Description: "Field by which the list is ordered."},
			&Parameter{Ref: "#/components/parameters/dir"})
	}
	op.Parameters = append(op.Parameters, &Parameter{Ref: "#/components/parameters/filter"})
}

// attrsParameter returns the parameter that selects fields.
func (b *builder) attrsParameter(kind *record, r *contract.Route) *Parameter {
	var names []string
	var add func(t *contract.FieldTable)
	add = func(t *contract.FieldTable) {
		for i := range t.Fields {
			f := &t.Fields[i]
			if b.readers(f).Len() > 0 && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
			if f.Part != nil && kind.resource == adapter.Orders { // it selects fields of their parts, too
				add(f.Part)
			}
		}
	}
	for _, t := range r.Shown {
		add(t)
	}
	name := kind.name + "Field"
	b.doc.Components.Schemas.Set(name, &Schema{Type: Types{"string"}, Enum: names, Description: "Fields that a record can show."})
	return &Parameter{Name: "attrs", In: "query", Style: "form", Explode: new(false),
		Schema:      &Schema{Type: Types{"array"}, Items: ref(name)},
		Description: "Fields to show, separated by commas: attrs=entity_id,name. Names that the caller may not read are ignored.",
	}
}
