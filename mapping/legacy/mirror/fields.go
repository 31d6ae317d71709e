package mirror

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A field is an attribute that clients can write, and how each of its states is written.
type field struct {
	name string // on the wire and of the attribute
	// value returns the form of a value. ok is false if there is none.
	value func(adapter.Value) (n codec.Node, ok bool)
	// null and absent are the forms of these states in an update. A creation writes null in the
	// same form and omits absent attributes, unless fresh is their form.
	null, absent, fresh form
	// createOnly: updates ignore the field.
	createOnly bool
	// onlySet: the field can be set but not cleared. That it is 0 follows from setting it on
	// another record.
	onlySet bool
	// optionalIn reports whether addresses in a country may lack the field; nil: as all
	// others.
	optionalIn func(country string) bool
}

// A form is how a field without a value is written.
type form uint8

const (
	noForm form = iota // the interface has none
	asNull
	asFalse
	asZero
	asEmptyText
	asEmptyList
	asDash // a text without letters and digits
)

// node returns the form as a node. ok is false for noForm.
func (f form) node() (n codec.Node, ok bool) {
	switch f {
	case asFalse:
		n.Kind = codec.False
	case asZero:
		n = codec.NumberNode("0")
	case asEmptyText:
		n.Kind = codec.Text
	case asEmptyList:
		n.Kind = codec.Struct
	case asDash:
		n = codec.TextNode("-")
	}
	return n, f != noForm
}

// node returns the form of a value in an update. ok is false if the interface has none.
func (f *field) node(v adapter.Value) (n codec.Node, ok bool) {
	switch v.Kind() {
	case adapter.Absent, adapter.Unset:
		return f.absent.node()
	case adapter.Null:
		return f.null.node()
	default:
		return f.value(v)
	}
}

// newMembers returns the fields of a new record.
func newMembers(fields []field, record adapter.Record) (members []codec.Member) {
	for i := range fields {
		f := &fields[i]
		n, ok := f.fresh.node()
		if v := record.Get(f.name); v.Kind() != adapter.Absent {
			n, ok = f.node(v)
		}
		if ok {
			members = append(members, codec.Member{Key: f.name, Value: n})
		}
	}
	return members
}

// scalar writes texts, decimals and times as texts and integers as numbers.
func scalar(v adapter.Value) (n codec.Node, ok bool) {
	switch v.Kind() {
	case adapter.Integer:
		return codec.NumberNode(v.Text()), true
	case adapter.Text:
		return codec.TextNode(v.Text()), true
	default:
		return n, false
	}
}

// isWritable reports whether clients of any role may write a field in any dialect.
func isWritable(table *contract.FieldTable, name string) bool {
	at, ok := table.Index(name)
	return ok && slices.ContainsFunc(contract.Dialects(), func(d *contract.Dialect) bool {
		return slices.ContainsFunc(contract.Roles(), func(role contract.Role) bool { return table.Fields[at].Writable(d, role) })
	})
}

// optionList writes a text with the ids of options as a list, the only form of several options that the
// original reads (own_attributes 10).
func optionList(v adapter.Value) (n codec.Node, ok bool) {
	if v.Kind() != adapter.Text {
		return n, false
	}
	var ids []codec.Node
	for id := range strings.SplitSeq(v.Text(), ",") {
		ids = append(ids, codec.TextNode(id))
	}
	return codec.ListNode(ids), true
}

// addedFields returns the rules of the fields that the shop has added and clients may write. The error
// joins the fields whose attributes the schema lacks.
func addedFields(schema *adapter.Schema, table *contract.FieldTable) (rules []contract.Rule, err error) {
	var faults []error
	for i := range table.Fields {
		f := &table.Fields[i]
		if f.Attribute == "" || !isWritable(table, f.Name) {
			continue
		}
		at, ok := schema.Index(f.Attribute)
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("mirror: field %s: %s have no attribute %q: add it to the schemas", f.Name, schema.Resource, f.Attribute))
		case schema.Attributes[at].Added:
			rules = append(rules, table.Rules.Added(f.Name, schema.Attributes[at].KindName()))
		}
	}
	return rules, errors.Join(faults...)
}
