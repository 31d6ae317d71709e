package resource

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
)

// A Resource connects a table of fields with the schema and the store of its records.
type Resource struct {
	Dialect *contract.Dialect
	Fields  *contract.FieldTable
	Source
	// Attributes holds the position of each field's attribute in the schema, or -1 for a
	// computed field.
	Attributes []int
	// Compute returns the value of a computed field; nil if the resource has none. ok is false if the
	// record has no value.
	Compute  func(c *Call, field *contract.Field, rec adapter.Record) (value codec.Node, ok bool)
	slabPool *sync.Pool // slabs for lists
}

// A slab is memory for the members of many records, reused once they have been rendered.
// In a long page, members take more memory than texts.
type slab []codec.Member

// maxPooledSlab is the size of the largest slab that goes back to the pool, in members.
const maxPooledSlab = 8 << 10

// NewResource returns the resource for the records of name, rendered with the given
// fields.
func NewResource(d *contract.Dialect, fields *contract.FieldTable, backend *Backend, name adapter.Resource) (Resource, error) {
	from, err := backend.Source(name)
	if err != nil {
		return Resource{}, err
	}
	return NewResourceFrom(d, fields, from)
}

// NewResourceFrom returns the resource for the records of a source, rendered with the
// given fields.
func NewResourceFrom(d *contract.Dialect, fields *contract.FieldTable, from Source) (Resource, error) {
	r := Resource{Dialect: d, Fields: fields, Source: from, Attributes: make([]int, len(fields.Fields)), slabPool: new(sync.Pool)}
	for i, f := range fields.Fields {
		if f.Attribute == "" {
			r.Attributes[i] = -1
			continue
		}
		at, ok := from.Schema.Index(f.Attribute)
		if !ok {
			return r, fmt.Errorf("field %s: resource %s has no attribute %q", f.Name, from.Schema.Resource, f.Attribute)
		}
		r.Attributes[i] = at
	}
	return r, nil
}

// Attribute returns the position in the schema of a field's attribute.
func (r *Resource) Attribute(field string) int {
	i, ok := r.Fields.Index(field)
	if !ok {
		panic("mapping: no field " + field)
	}
	return r.Attributes[i]
}

// ListReader returns the reader of list modifiers for a role.
func (r *Resource) ListReader(role contract.Role) input.Reader {
	return input.Reader{Dialect: r.Dialect, Fields: r.Fields, Role: role}
}

// SelectFields returns the fields that c selects. selectionFault is the fault to reply
// with if there is at least one record: nil, or a crash of the original.
func (r *Resource) SelectFields(c *Call, view contract.View) (fields []int, selectionFault error) {
	fields, nothing := r.ListReader(c.Principal.Role).Select(view, &c.Query)
	if nothing && !r.Dialect.EmptySelections {
		return nil, r.Dialect.Fault(contract.SelectionCrash)
	}
	return fields, nil
}

// StoredAttributes returns the names of the attributes that the given fields show, without the
// attributes that only computed fields need. It never returns nil, which would stand for all
// attributes.
func (r *Resource) StoredAttributes(fields []int) []string {
	names := make([]string, 0, len(fields))
	for _, at := range fields {
		if name := r.Fields.Fields[at].Attribute; name != "" {
			names = append(names, name)
		}
	}
	return names
}

// SingleReply replies with a single record that holds the fields selected by c.
func (r *Resource) SingleReply(c *Call, rec adapter.Record) (*Reply, error) {
	fields, selectionFault := r.SelectFields(c, contract.SingleView(c.Format))
	if selectionFault != nil {
		return nil, selectionFault
	}
	node := r.Render(c, rec, fields)
	return &Reply{Body: &node}, nil
}

// IntegerNode returns the wire form of an integer column in dialect d, outside the fields of a table.
func IntegerNode(d *contract.Dialect, n int64) codec.Node {
	node := codec.TextNode(strconv.FormatInt(n, 10))
	if d.NumericIntegers {
		node.Kind = codec.Number
	}
	return node
}

// Render returns the wire form of rec with the given fields.
func (r *Resource) Render(c *Call, rec adapter.Record, fields []int) codec.Node {
	return r.NewRenderer(c, fields).Render(rec)
}

// A renderer renders records with the same fields for the same call.
type renderer struct {
	call    *Call
	compute func(*Call, *contract.Field, adapter.Record) (codec.Node, bool)
	columns []column
	// The three flags come from the dialect and the table of fields.
	absentIsNull, emptyRecords, emptyIsNull bool
	slab                                    slab // free memory for members
	zone                                    *time.Location
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
func (r *Resource) useSlab(to *renderer, records int) (release func()) {
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

// A column is a field in one view: an attribute, a computed field, or neither.
type column struct {
	*contract.Field
	attribute  int // position in the schema, -1 for none
	isComputed bool
	isoTime    bool
	isNumber   bool // integers are numbers on the wire
}

// NewRenderer returns a renderer of the given fields for c.
func (r *Resource) NewRenderer(c *Call, fields []int) *renderer {
	render := &renderer{
		call: c, compute: r.Compute, columns: make([]column, len(fields)), zone: r.Zone,
		absentIsNull: r.Dialect.AbsentIsNull, emptyRecords: r.Dialect.EmptySelections, emptyIsNull: r.Fields.EmptyIsNull,
	}
	view := c.Route.View(c.Format)
	for i, at := range fields {
		field := &r.Fields.Fields[at]
		col := column{Field: field, attribute: -1, isoTime: field.ISOTime(r.Dialect, view), isNumber: field.IsNumber(r.Dialect)}
		if !field.Absent(r.Dialect, c.Principal.Role, view) {
			col.attribute = r.Attributes[at]
			col.isComputed = col.attribute < 0 && r.Compute != nil
		}
		render.columns[i] = col
	}
	return render
}

// Render returns the wire form of rec. Stored values are texts on the wire, whatever
// their type in the store (wire 7), except the integers that the dialect writes as numbers.
func (r *renderer) Render(rec adapter.Record) codec.Node {
	members := r.newMembers()
	for i := range r.columns {
		field := &r.columns[i]
		members = append(members, codec.Member{Key: field.Name})
		value := &members[len(members)-1].Value // written in place, since lists have very many
		ok := false
		if field.isComputed {
			*value, ok = r.compute(r.call, field.Field, rec)
			if field.isNumber && value.Kind == codec.Text {
				value.Kind = codec.Number
			}
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
		if field.isNumber {
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
		node.Text = isoTime(node.Text, r.zone)
	}
	return true
}
