package mapping

import (
	"fmt"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
)

// A resource binds a table of fields to the schema and the store behind it.
type resource struct {
	dialect *contract.Dialect
	fields  *contract.FieldTable
	schema  *adapter.Schema
	store   adapter.Store
	// attributes holds the place of each field's attribute in the schema.
	attributes []int
}

func bind(d *contract.Dialect, fields *contract.FieldTable, schema *adapter.Schema, store adapter.Store) (resource, error) {
	r := resource{dialect: d, fields: fields, schema: schema, store: store, attributes: make([]int, len(fields.Fields))}
	for i, f := range fields.Fields {
		at, ok := schema.Index(f.Attribute)
		if !ok {
			return r, fmt.Errorf("field %s shows attribute %q, which %s lacks", f.Name, f.Attribute, schema.Resource)
		}
		r.attributes[i] = at
	}
	return r, nil
}

// attribute returns the place of the attribute a field shows.
func (r *resource) attribute(field string) int {
	i, ok := r.fields.Index(field)
	if !ok {
		panic("mapping: no field " + field)
	}
	return r.attributes[i]
}

func (r *resource) reader(role contract.Role) listquery.Reader {
	return listquery.Reader{Dialect: r.dialect, Fields: r.fields, Role: role}
}

// selected returns the fields c asks for. selectionFault is what a record cut to
// them costs: nil, or a crash of the original.
func (r *resource) selected(c *Call, view contract.View) (fields []int, selectionFault error) {
	fields, nothing := r.reader(c.Principal.Role).Select(view, &c.Query)
	if nothing && !r.dialect.EmptySelections {
		return nil, r.dialect.Fault(contract.SelectionCrash)
	}
	return fields, nil
}

// render returns the wire form of rec, cut to the given fields. Stored values
// are texts on the wire, whatever they are in the store (wire 7).
func (r *resource) render(rec adapter.Record, fields []int) codec.Node {
	node := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, 0, len(fields))}
	for _, i := range fields {
		member := codec.Member{Key: r.fields.Fields[i].Name}
		switch v := rec.Values[r.attributes[i]]; v.Kind() {
		case adapter.Integer:
			member.Value = codec.TextNode(strconv.FormatInt(v.Int(), 10))
		case adapter.Text:
			member.Value = codec.TextNode(v.Text())
		}
		node.Members = append(node.Members, member)
	}
	if len(fields) == 0 {
		node.Kind = codec.EmptyRecord
	}
	return node
}
