package mapping

import (
	"fmt"
	"strings"
	"sync"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
)

// A resource connects a table of fields with the schema and the store of its records.
type resource struct {
	dialect *contract.Dialect
	fields  *contract.FieldTable
	source
	// attributes holds the position of each field's attribute in the schema, or -1 for a
	// computed field.
	attributes []int
	// compute holds, by field name, the functions for fields that are not rendered as
	// stored. ok is false if a record has no value.
	compute  map[string]func(c *Call, rec adapter.Record) (value codec.Node, ok bool)
	slabPool *sync.Pool // slabs for lists
}

// A slab is memory for the members of many records, reused once they have been rendered.
// In a long page, members take more memory than texts.
type slab []codec.Member

// maxPooledSlab is the size of the largest slab that goes back to the pool, in members.
const maxPooledSlab = 8 << 10

// newResource returns the resource for the records of name, rendered with the given
// fields.
func newResource(d *contract.Dialect, fields *contract.FieldTable, backend *invalidatingAdapter, schemas *adapter.Schemas, name adapter.Resource) (resource, error) {
	from, err := newSource(backend, schemas, name)
	if err != nil {
		return resource{}, err
	}
	return newResourceFrom(d, fields, from)
}

// newResourceFrom returns the resource for the records of a source, rendered with the
// given fields.
func newResourceFrom(d *contract.Dialect, fields *contract.FieldTable, from source) (resource, error) {
	r := resource{dialect: d, fields: fields, source: from, attributes: make([]int, len(fields.Fields)), slabPool: new(sync.Pool)}
	for i, f := range fields.Fields {
		if f.Attribute == "" {
			r.attributes[i] = -1
			continue
		}
		at, ok := from.schema.Index(f.Attribute)
		if !ok {
			return r, fmt.Errorf("field %s: resource %s has no attribute %q", f.Name, from.schema.Resource, f.Attribute)
		}
		r.attributes[i] = at
	}
	return r, nil
}

// attribute returns the position in the schema of a field's attribute.
func (r *resource) attribute(field string) int {
	i, ok := r.fields.Index(field)
	if !ok {
		panic("mapping: no field " + field)
	}
	return r.attributes[i]
}

// addedFields returns the fields that the shop has added to those of the contract.
func (r *resource) addedFields() []string {
	var names []string
	for i, field := range r.fields.Fields {
		if at := r.attributes[i]; at >= 0 && r.schema.Attributes[at].Added {
			names = append(names, field.Name)
		}
	}
	return names
}

func (r *resource) listReader(role contract.Role) listquery.Reader {
	return listquery.Reader{Dialect: r.dialect, Fields: r.fields, Role: role}
}

// selectFields returns the fields that c selects. selectionFault is the fault to reply
// with if there is at least one record: nil, or a crash of the original.
func (r *resource) selectFields(c *Call, view contract.View) (fields []int, selectionFault error) {
	fields, nothing := r.listReader(c.Principal.Role).Select(view, &c.Query)
	if nothing && !r.dialect.EmptySelections {
		return nil, r.dialect.Fault(contract.SelectionCrash)
	}
	return fields, nil
}

// singleReply replies with a single record that holds the fields selected by c.
func (r *resource) singleReply(c *Call, rec adapter.Record) (*Reply, error) {
	fields, selectionFault := r.selectFields(c, contract.SingleView(c.Format))
	if selectionFault != nil {
		return nil, selectionFault
	}
	node := r.render(c, rec, fields)
	return &Reply{Body: &node}, nil
}

// render returns the wire form of rec with the given fields.
func (r *resource) render(c *Call, rec adapter.Record, fields []int) codec.Node {
	return r.newRenderer(c, fields).render(rec)
}

// A renderer renders records with the same fields for the same call.
type renderer struct {
	call    *Call
	columns []column
	// The three flags come from the dialect and the table of fields.
	absentIsNull, emptyRecords, emptyIsNull bool
	slab                                    slab // free memory for members
	// shownNull names a field that is rendered as null instead of being omitted.
	shownNull string
}

// newMembers returns an empty slice with the capacity for one record, from the slab if
// there is room.
func (r *renderer) newMembers() []codec.Member {
	used, wanted := len(r.slab), len(r.columns)
	if cap(r.slab)-used < wanted {
		return make([]codec.Member, 0, wanted)
	}
	r.slab = r.slab[:used+wanted]
	return r.slab[used : used : used+wanted]
}

// useSlab gives a renderer a slab for the given number of records. The caller calls
// release once none of the rendered members is needed.
func (r *resource) useSlab(to *renderer, records int) (release func()) {
	wanted := records * len(to.columns)
	pooled, _ := r.slabPool.Get().(*slab)
	if pooled == nil || cap(*pooled) < wanted {
		fresh := make(slab, 0, wanted)
		pooled = &fresh
	}
	to.slab = (*pooled)[:0]
	return func() {
		if cap(*pooled) <= maxPooledSlab {
			clear((*pooled)[:wanted]) // so that the pool keeps no texts alive
			r.slabPool.Put(pooled)
		}
	}
}

// A column is a field in one view: an attribute, the result of a function, or neither.
type column struct {
	*contract.Field
	attribute int // position in the schema, -1 for none
	compute   func(*Call, adapter.Record) (codec.Node, bool)
	isoTime   bool
}

func (r *resource) newRenderer(c *Call, fields []int) *renderer {
	render := &renderer{
		call: c, columns: make([]column, len(fields)),
		absentIsNull: r.dialect.AbsentIsNull, emptyRecords: r.dialect.EmptySelections, emptyIsNull: r.fields.EmptyIsNull,
	}
	view := c.Route.View(c.Format)
	for i, at := range fields {
		field := &r.fields.Fields[at]
		col := column{Field: field, attribute: -1, isoTime: field.ISOTime(r.dialect, view)}
		if !field.Absent(r.dialect, view) {
			col.attribute, col.compute = r.attributes[at], r.compute[field.Name]
		}
		render.columns[i] = col
	}
	return render
}

// render returns the wire form of rec. Stored values are texts on the wire, whatever
// their type in the store (wire 7).
func (r *renderer) render(rec adapter.Record) codec.Node {
	members := r.newMembers()
	for i := range r.columns {
		field := &r.columns[i]
		members = append(members, codec.Member{Key: field.Name})
		value := &members[len(members)-1].Value // written in place, since lists have very many
		ok := false
		if field.compute != nil {
			*value, ok = field.compute(r.call, rec)
		} else if field.attribute >= 0 {
			ok = r.renderStored(field, &rec.Values[field.attribute], value)
		}
		if r.absentIsNull && value.Kind == codec.Text && value.Text == "" {
			*value = codec.Node{}
		}
		if field.EmptyText && value.Kind == codec.Null {
			*value, ok = codec.TextNode(""), true
		}
		if !ok && (!r.absentIsNull || field.OmittedUntilStored) && field.Name != r.shownNull {
			members = members[:len(members)-1]
		}
	}
	node := codec.Node{Kind: codec.Struct, Members: members}
	if len(r.columns) == 0 && r.emptyRecords {
		node.Kind = codec.EmptyRecord
	}
	return node
}

// renderStored writes the wire form of v, a value of field, to node. ok is false if the
// value is absent.
func (r *renderer) renderStored(field *column, v *adapter.Value, node *codec.Node) (ok bool) {
	switch v.Kind() {
	case adapter.Absent:
		return false
	case adapter.Integer:
		node.Kind, node.Text = codec.Text, v.Text()
		if field.Native {
			node.Kind = codec.Number
		}
	case adapter.Text:
		node.Kind, node.Text = codec.Text, v.Text()
	case adapter.Texts:
		*node = codec.TextsNode(v.Texts())
	}
	switch {
	case node.Kind != codec.Text:
	case node.Text == "":
		if r.emptyIsNull {
			*node = codec.Node{}
		}
	case field.isoTime:
		node.Text = strings.Replace(node.Text, " ", "T", 1) + "+00:00"
	}
	return true
}
