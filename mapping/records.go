package mapping

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
)

// A resource binds a table of fields to the schema and the store behind it.
type resource struct {
	dialect *contract.Dialect
	fields  *contract.FieldTable
	source
	// attributes holds the place of each field's attribute in the schema, -1 for
	// a field that is computed.
	attributes []int
	// compute makes the values of fields that are not shown as they are stored, by
	// name. ok is false where there is none.
	compute map[string]func(c *Call, rec adapter.Record) (value codec.Node, ok bool)
}

// newResource returns the resource of the records of name, shown by fields.
func newResource(d *contract.Dialect, fields *contract.FieldTable, upstream adapter.Adapter, schemas *adapter.Schemas, name adapter.Resource) (resource, error) {
	from, err := sourceOf(upstream, schemas, name)
	if err != nil {
		return resource{}, err
	}
	return bind(d, fields, from)
}

// bind returns the resource of the records of from, shown by fields.
func bind(d *contract.Dialect, fields *contract.FieldTable, from source) (resource, error) {
	r := resource{dialect: d, fields: fields, source: from, attributes: make([]int, len(fields.Fields))}
	for i, f := range fields.Fields {
		if f.Attribute == "" {
			r.attributes[i] = -1
			continue
		}
		at, ok := from.schema.Index(f.Attribute)
		if !ok {
			return r, fmt.Errorf("field %s shows attribute %q, which %s lacks", f.Name, f.Attribute, from.schema.Resource)
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
	node := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, 0, len(fields))}
	view := c.Route.View(c.Format)
	for _, i := range fields {
		field := &r.fields.Fields[i]
		var value codec.Node
		ok := true
		if field.Lacking(r.dialect, view) {
			ok = false
		} else if compute := r.compute[field.Name]; compute != nil {
			value, ok = compute(c, rec)
		} else if at := r.attributes[i]; at >= 0 {
			value, ok = r.stored(field, view, rec.Values[at])
		}
		if r.dialect.AbsentIsNull && value.Kind == codec.Text && value.Text == "" {
			value = codec.Node{}
		}
		if field.EmptyText && value.Kind == codec.Null {
			value, ok = codec.TextNode(""), true
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

// stored returns the wire form of v as view shows field; ok is false for one that
// is absent.
func (r *resource) stored(field *contract.Field, view contract.View, v adapter.Value) (node codec.Node, ok bool) {
	node, ok = wireValue(v, field.Native)
	switch {
	case node.Kind != codec.Text:
	case node.Text == "":
		if r.fields.EmptyIsNull {
			node = codec.Node{}
		}
	case field.ISOTime(r.dialect, view):
		node.Text = strings.Replace(node.Text, " ", "T", 1) + "+00:00"
	}
	return node, ok
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

// list returns a list of values.
func list(values []codec.Node) codec.Node {
	node := codec.Node{Kind: codec.Struct, Members: make([]codec.Member, len(values))}
	for i, v := range values {
		node.Members[i] = codec.Member{Key: strconv.Itoa(i), Value: v}
	}
	return node
}

// textList returns a list of texts.
func textList(texts []string) codec.Node {
	values := make([]codec.Node, len(texts))
	for i, text := range texts {
		values[i] = codec.TextNode(text)
	}
	return list(values)
}
