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
	// attributes holds the place of each field's attribute in the schema, -1 for
	// a field that is computed.
	attributes []int
	// compute makes the values of computed fields, by name. ok is false where
	// there is none.
	compute map[string]func(c *Call, rec adapter.Record) (value codec.Node, ok bool)
}

func bind(d *contract.Dialect, fields *contract.FieldTable, schema *adapter.Schema, store adapter.Store) (resource, error) {
	r := resource{dialect: d, fields: fields, schema: schema, store: store, attributes: make([]int, len(fields.Fields))}
	for i, f := range fields.Fields {
		if f.Attribute == "" {
			r.attributes[i] = -1
			continue
		}
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

// one answers with a single record, cut to what c asks for.
func (r *resource) one(c *Call, rec adapter.Record) (*Reply, error) {
	fields, selectionFault := r.selected(c, contract.SingleView(c.Format))
	if selectionFault != nil {
		return nil, selectionFault
	}
	node := r.render(c, rec, fields)
	return &Reply{Body: &node}, nil
}

// render returns the wire form of rec, cut to the given fields. Stored values
// are texts on the wire, whatever they are in the store (wire 7).
func (r *resource) render(c *Call, rec adapter.Record, fields []int) codec.Node {
	return r.renderWith(rec, fields, func(field *contract.Field, rec adapter.Record) (codec.Node, bool) {
		if compute := r.compute[field.Name]; compute != nil {
			return compute(c, rec)
		}
		return codec.Node{}, true
	})
}

// A computer makes the value of a computed field; ok is false where there is none.
type computer func(field *contract.Field, rec adapter.Record) (value codec.Node, ok bool)

// renderWith is render with another source of computed fields.
func (r *resource) renderWith(rec adapter.Record, fields []int, compute computer) codec.Node {
	node := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, 0, len(fields))}
	for _, i := range fields {
		field := &r.fields.Fields[i]
		var value codec.Node
		ok := true
		if at := r.attributes[i]; at >= 0 {
			value, ok = wireValue(rec.Values[at], field.Native)
		} else {
			value, ok = compute(field, rec)
		}
		if ok || r.dialect.AbsentIsNull {
			node.Members = append(node.Members, codec.Member{Key: field.Name, Value: value})
		}
	}
	if len(fields) == 0 {
		node.Kind = codec.EmptyRecord
	}
	return node
}

// wireValue returns the wire form of a stored value; ok is false for one that is
// absent.
func wireValue(v adapter.Value, native bool) (node codec.Node, ok bool) {
	switch v.Kind() {
	case adapter.Absent:
		return codec.Node{}, false
	case adapter.Integer:
		if native {
			return codec.NumberNode(v.Text()), true
		}
		return codec.TextNode(v.Text()), true
	case adapter.Text:
		return codec.TextNode(v.Text()), true
	case adapter.Texts:
		return textList(v.Texts()), true
	default:
		return codec.Node{}, true
	}
}

// textList returns a list of texts.
func textList(texts []string) codec.Node {
	node := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, len(texts))}
	for i, text := range texts {
		node.Members[i] = codec.Member{Key: strconv.Itoa(i), Value: codec.TextNode(text)}
	}
	return node
}
