package input

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Change returns the values that a valid body stores, other than nested records.
func (b *Body) Change() adapter.Record {
	r := adapter.NewRecord(b.schema)
	for i := range b.Rules {
		rule := &b.Rules[i]
		if n, sent := b.Get(rule.Field); sent && rule.Check.Stored() && !b.skips(rule) {
			r.Values[rule.At] = b.value(rule, n)
		}
	}
	return r
}

// value returns the stored form of a valid value (products 4 and 5.2; customers 4). False removes
// the scope's own value, and a list in place of a text stores nothing.
func (b *Body) value(rule *Rule, n *codec.Node) adapter.Value {
	switch rule.Check {
	case contract.Flag:
		return adapter.IntegerValue(FlagValue(n))
	case contract.DefaultFlag:
		if Truthy(n) {
			return adapter.IntegerValue(1)
		}
		return adapter.Value{}
	case contract.Street:
		lines, _ := parseStreet(&rule.Rule, n)
		return adapter.TextsValue(lines)
	}
	isText := rule.Kind == adapter.KindText
	if list := b.optionList(rule, n); rule.Multiple && list.Kind == codec.Struct {
		return b.joinOptions(rule, b.known[rule.Field], list)
	}
	switch {
	case b.isUnsent(rule, n):
		return adapter.Value{}
	case n.Kind == codec.Struct && (isText || !b.table.NullRemoves):
		return adapter.Value{}
	case n.Kind == codec.False, b.table.NullRemoves && (n.Kind == codec.Null || !isText && b.isEmpty(rule, n)):
		return adapter.UnsetValue()
	case b.isEmpty(rule, n):
		return adapter.NullValue()
	}
	switch rule.Check {
	case contract.BirthDate:
		day, _ := b.birthDate(n)
		return adapter.TextValue(day)
	case contract.Option:
		codes := rule.Options
		if rule.From != contract.Listed {
			codes = b.known[rule.Field]
		}
		if code, ok := b.option(rule, codes, n); ok {
			stored := codec.TextNode(code)
			n = &stored
		} else if isText {
			return adapter.NullValue()
		}
	}
	if rule.CastsNumbers(b.dialect) {
		return Decimal(castNumber(n))
	}
	if !isText {
		return TypedValue(rule.Kind, n, b.dates)
	}
	characters := rule.Characters
	if rule.Check == contract.Email && b.dialect.LooseEmails {
		characters = contract.MaxTextLength
	}
	return Line(n, characters, rule.Bytes)
}
