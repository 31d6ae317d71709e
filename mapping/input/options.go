package input

import (
	"context"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// codesOf returns the codes that a rule accepts, including n's if it is valid.
func (b *Body) codesOf(ctx context.Context, rule *contract.Rule, n *codec.Node) ([]string, error) {
	if rule.From == contract.Listed {
		return rule.Options, nil
	}
	if codes, ok := b.known[rule.Field]; ok {
		return codes, nil
	}
	codes, err := b.codes(ctx, rule, n)
	if err != nil {
		return nil, err
	}
	if b.known == nil {
		b.known = map[string][]string{}
	}
	b.known[rule.Field] = codes
	return codes, nil
}

// ListPlaceholder is the text that the original stores for a list in place of a text.
const ListPlaceholder = "Array"

// MaxOptionValues is the number of values that a list for an option field may have, as they are
// checked one by one.
const MaxOptionValues = 1000

// optionList returns a text with the codes of several options as a list, if the dialect reads it, and
// any other value unchanged.
func (b *Body) optionList(rule *Rule, n *codec.Node) *codec.Node {
	if !rule.Multiple || !rule.ReadsStored(b.dialect) || n.Kind != codec.Text || !strings.Contains(n.Text, ",") {
		return n
	}
	var codes []codec.Node
	for _, code := range strings.SplitN(n.Text, ",", MaxOptionValues+1) {
		codes = append(codes, codec.TextNode(code))
	}
	list := codec.ListNode(codes)
	return &list
}

// joinOptions returns the stored form of the valid options in a list: their codes, in its order. Empty
// members store nothing.
func (b *Body) joinOptions(rule *Rule, known []string, list *codec.Node) adapter.Value {
	var codes []string
	for i := range list.Members {
		if code, ok := b.option(rule, known, &list.Members[i].Value); ok {
			codes = append(codes, code)
		}
	}
	if codes == nil {
		return adapter.NullValue()
	}
	return adapter.TextValue(strings.Join(codes, ","))
}

// isUnsent reports whether a value counts as not sent: one for none, as the dialect's own replies show
// it, where it is not an option (own_attributes 10 and 14).
func (b *Body) isUnsent(rule *Rule, n *codec.Node) bool {
	return rule.RejectsEmptyText && rule.ReadsStored(b.dialect) && IsEmpty(n) && (n.Kind == codec.Text || b.table.NullRemoves)
}

// checkOption checks the value of an option field, or each value of a list (products 5.2;
// own_attributes 10 and 14).
func (b *Body) checkOption(ctx context.Context, rule *Rule, n *codec.Node) error {
	n = b.optionList(rule, n)
	if rule.Multiple && len(n.Members) > MaxOptionValues {
		b.Add(contract.RequestInvalid)
		return nil
	}
	codes, err := b.codesOf(ctx, &rule.Rule, n)
	if err != nil {
		return err
	}
	placeholder := codec.TextNode(ListPlaceholder)
	switch {
	case n.Kind != codec.Struct:
		if !b.isValidOption(rule, codes, n) {
			b.Report(&rule.Rule, rule.Fault, n)
		}
		return nil
	case rule.OptionStorage == contract.CastOption:
		b.Report(&rule.Rule, rule.Fault, &placeholder)
		return nil
	}
	faults := len(b.Faults)
	for i := range n.Members {
		value := &n.Members[i].Value
		_, ok := b.option(rule, codes, value)
		switch {
		case value.Kind == codec.Struct && rule.ListFault != 0:
			b.Report(&rule.Rule, rule.ListFault, value)
		case value.Kind == codec.Struct:
			b.Report(&rule.Rule, rule.Fault, &placeholder)
		case !ok && !(IsEmpty(value) && !rule.Required && !rule.RejectsEmptyText):
			b.Report(&rule.Rule, rule.Fault, value)
		}
	}
	if len(b.Faults) == faults && !rule.Multiple && b.dialect.RejectsNonScalars {
		b.Report(&rule.Rule, contract.ValueOfOtherKind, n)
	}
	return nil
}

// isValidOption reports whether a value is valid for an option field, if it is not a
// required one that is empty.
func (b *Body) isValidOption(rule *Rule, codes []string, n *codec.Node) bool {
	switch {
	case n.Kind == codec.False:
		return false
	case IsMissing(n):
		return !rule.RejectsEmptyText
	case rule.AcceptsZero(b.dialect) && (n.Kind == codec.Number && NumberLiteral(n) == 0 || n.Kind == codec.Text && n.Text == "0"):
		return true
	}
	_, ok := b.option(rule, codes, n)
	return ok
}

// option returns the code that a value stands for (products 5.2). It compares numbers by
// value and texts exactly.
func (b *Body) option(rule *Rule, codes []string, n *codec.Node) (code string, ok bool) {
	if n.Kind != codec.Number && n.Kind != codec.Text && !(n.Kind == codec.True && rule.CastsTrue(b.dialect)) {
		return "", false
	}
	number, isNumber := Number(n)
	text := n.String()
	for _, code := range codes {
		if option, ok := codec.ParseNumber(code); isNumber && ok && option == number || code == text {
			if rule.PreservesSpelling(b.dialect) {
				return text, true
			}
			return code, true
		}
	}
	return "", false
}
