package mirror

import (
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// formFields returns the fields that clients can write of customers or of their addresses,
// except the password.
func formFields(schema *adapter.Schema, table *contract.FieldTable) ([]field, error) {
	var fields []field
	added, err := addedFields(schema, table)
	for _, rule := range table.Rules.With(added...) {
		at, stored := schema.Index(rule.Field)
		if stored && !schema.Attributes[at].WriteOnly && rule.Check != contract.Ignored && isWritable(table, rule.Field) {
			fields = append(fields, formField(&rule, schema.Attributes[at].Kind))
		}
	}
	return fields, err
}

// formField returns how a field of a form is written (customers 4). An optional text that
// was never set is null on the wire, and one that was set to nothing is an empty text, which
// the original shows until the next update of the record.
//
// Some states have no form: a required text cannot be removed, nor can a gender. An added
// attribute that is no text, and a date of birth, cannot be set to nothing, so that they are
// removed; and the interface knows only the day of a date of birth.
func formField(of *contract.Rule, kind adapter.Kind) field {
	f := field{name: of.Field, value: scalar, null: asEmptyText, absent: asNull, createOnly: of.CreateOnly}
	switch of.Check {
	case contract.BirthDate:
		f.null, f.value = asNull, birthDate
	case contract.Option, contract.Flag:
		f.null, f.absent = noForm, noForm
		if of.Multiple {
			f.null, f.value = asEmptyList, optionList
		}
	case contract.DefaultFlag:
		f.null, f.absent, f.onlySet, f.value = noForm, noForm, true, setFlag
	case contract.Street:
		f.value = street
	case contract.Region:
		f.absent = asEmptyText // null is no region
	case contract.Typed:
		if kind != adapter.KindText {
			f.null = asNull
		}
	}
	if of.Required {
		f.null, f.absent = noForm, noForm
		f.optionalIn = func(country string) bool { return of.OptionalIn(contract.Magento(), country) }
	}
	return f
}

// birthDate writes a day as month, day and year, the only order that the original reads.
func birthDate(v adapter.Value) (n codec.Node, ok bool) {
	if day, err := time.Parse(time.DateTime, v.Text()); err == nil {
		return codec.TextNode(day.Format("01/02/2006")), true
	}
	return scalar(v)
}

// setFlag writes a flag that can only be set.
func setFlag(v adapter.Value) (n codec.Node, ok bool) {
	if v.Int() != 1 {
		return n, false
	}
	return codec.NumberNode("1"), true
}

// street writes the lines of a street. The original takes two texts and joins others with
// semicolons, but splits a text at its line breaks.
func street(v adapter.Value) (n codec.Node, ok bool) {
	lines := v.Texts()
	if len(lines) > 2 {
		lines = []string{lines[0], strings.Join(lines[1:], "\n")}
	}
	return codec.TextsNode(lines), len(lines) > 0
}

// addressBody adds the fields of an address. Country and region are sent together, because
// the original checks one by the other. They also accompany a postcode without a value, which
// the original accepts only next to the code of a country that has none.
func (u *update) addressBody(fields []field) {
	fields = inCountry(fields, u.record)
	withCountry := u.asks("country_id") || u.asks("region") || u.asks("region_id")
	for i := range fields {
		f := &fields[i]
		withCountry = withCountry || u.asks(f.name) && f.optionalIn != nil && f.null != noForm && u.record.Get(f.name).Empty()
	}
	if withCountry {
		u.attributes = append([]string{"country_id", "region"}, u.attributes...)
	}
	u.addFields(fields)
}

// inCountry returns the fields of an address in its country, where more may be optional.
func inCountry(fields []field, address adapter.Record) []field {
	country := address.Get("country_id").Text()
	all := make([]field, len(fields))
	for i, f := range fields {
		if f.optionalIn != nil && f.optionalIn(country) {
			f.null, f.absent = asEmptyText, asNull
		}
		all[i] = f
	}
	return all
}

// customerMembers returns the body that creates a customer.
func customerMembers(fields []field, record adapter.Record) []codec.Member {
	members := newMembers(fields, record)
	if password := record.Get("password"); password.Text() != "" {
		members = append(members, codec.Member{Key: "password", Value: codec.TextNode(password.Text())})
	}
	return members
}
