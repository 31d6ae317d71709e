package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// maxEnum is the number of options above which the document has none of an attribute, because it would
// become too long.
const maxEnum = 1000

// optionsOf returns the options of an attribute among the options of all, in the order of the shop's forms. It
// returns nil if there are none, or more than maxEnum.
func optionsOf(all []adapter.Record, r adapter.Resource, a *adapter.Attribute) (options []adapter.Record) {
	if !a.Input.HasOptions() {
		return nil
	}
	for _, o := range all {
		if o.Get("resource").Text() == string(r) && o.Get("attribute").Text() == a.Name {
			options = append(options, o)
		}
	}
	if len(options) > maxEnum {
		return nil
	}
	slices.SortFunc(options, func(x, y adapter.Record) int {
		return cmp.Or(cmp.Compare(x.Get("position").Int(), y.Get("position").Int()), cmp.Compare(x.Key(), y.Key()))
	})
	return options
}

// labels describes options: their ids with their labels in the default scope.
func labels(options []adapter.Record) string {
	texts := make([]string, len(options))
	for i, o := range options {
		texts[i] = fmt.Sprintf("%d is %s", o.Key(), o.Get("label").Text())
	}
	return strings.Join(texts, "; ")
}

// optionInput returns the schema of an attribute with options in a request, or nil if its options are not
// known. Ids of options are texts or numbers; every dialect refuses others (own_attributes 10 and 14).
func optionInput(b *builder, kind *record, a *adapter.Attribute, rule *contract.Rule) *Schema {
	options := optionsOf(b.AttributeOptions, kind.resource, a)
	if options == nil {
		return nil
	}
	one := &Schema{Type: Types{"string", "integer"}, Integers: true, Description: labels(options)}
	for _, o := range options {
		one.Enum = append(one.Enum, o.Get("option_id").Text())
	}
	if !rule.RejectsEmptyText || rule.ReadsStored(b.Dialect) {
		one.Type, one.Enum = append(one.Type, "null"), append(one.Enum, "")
	}
	name := kind.name + camel(a.Name) + "Option"
	b.doc.Components.Schemas.Set(name, one)
	if !rule.Multiple {
		return &Schema{Ref: ref(name).Ref, Description: a.Doc}
	}
	several := &Schema{OneOf: []*Schema{list(ref(name)), ref(name)}, Description: a.Doc}
	if rule.ReadsStored(b.Dialect) { // the text that replies show
		several.OneOf = append(several.OneOf, text("^[0-9]+(,[0-9]+)+$"))
	}
	return several
}

// only returns what the schema allows of one of its types.
func (s *Schema) only(t string) *Schema {
	one := &Schema{Type: Types{t}}
	switch {
	case t == "string":
		one.Pattern, one.Enum = s.Pattern, s.Enum
	case t == "integer" && s.Integers:
		one.Integers, one.Enum = true, s.Enum
	}
	return one
}

// integers returns the integers of Enum.
func (s *Schema) integers() (all []json.Number) {
	for _, value := range s.Enum {
		if value != "" {
			all = append(all, json.Number(value))
		}
	}
	return all
}
