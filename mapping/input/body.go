package input

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

func (b *Body) skips(rule *Rule) bool { return b.Skips != nil && b.Skips(rule) }

func (b *Body) isRequired(rule *Rule) bool {
	return rule.Required && !(rule.OptionalSomewhere(b.dialect) && rule.OptionalIn(b.dialect, b.Country()))
}

func (b *Body) isInapplicable(rule *Rule) bool {
	return b.Type != nil && slices.Contains(b.Type.Inapplicable, rule.Field)
}

// Check checks all fields except a region, and adds their faults. The error is one of the
// store.
func (b *Body) Check(ctx context.Context) error {
	for i := range b.Rules {
		rule := &b.Rules[i]
		if rule.Check == contract.Region || b.skips(rule) {
			continue
		}
		n, sent := b.Get(rule.Field)
		switch {
		case b.table.RequiredLast && (!sent || n.Kind == codec.Null):
		case sent:
			b.HasChanges = b.HasChanges || rule.Check != contract.Ignored
			if err := b.check(ctx, rule, n); err != nil || b.alone != nil {
				return err
			}
		case b.New && b.isRequired(rule):
			b.Report(&rule.Rule, rule.Missing, nil)
		}
	}
	for i := range b.Rules {
		if b.table.RequiredLast {
			b.checkRequired(&b.Rules[i])
		}
	}
	return nil
}

// checkRequired checks that a required field is present in a new record, and not empty if
// sent (products 5.3, step 9).
func (b *Body) checkRequired(rule *Rule) {
	if !rule.Required || b.isInapplicable(rule) {
		return
	}
	n, sent := b.Get(rule.Field)
	switch {
	case !sent && b.New:
		b.Report(&rule.Rule, rule.Missing, nil)
	case sent && (IsMissing(n) || isStoredEmpty(n)):
		b.Report(&rule.Rule, rule.Empty, n)
	}
}

// isStoredEmpty reports whether a text would be stored as an empty one.
func isStoredEmpty(n *codec.Node) bool {
	text, _ := StoredText(n)
	return n.Kind == codec.Text && text == ""
}

// check checks the value of one field.
func (b *Body) check(ctx context.Context, rule *Rule, n *codec.Node) error {
	strict := n.Kind == codec.Struct && b.dialect.RejectsNonScalars
	switch {
	case b.isInapplicable(rule):
		b.Add(contract.NotApplicable, rule.Field, b.Type.Label)
	case n.Kind == codec.Struct && b.checkList(rule, n):
	case b.isRequired(rule) && IsMissing(n):
		if !b.table.RequiredLast {
			b.Report(&rule.Rule, rule.Empty, n)
		}
	case b.isUnsent(rule, n):
	case rule.Check == contract.Option:
		return b.checkOption(ctx, rule, n)
	case rule.Check == contract.PriceList:
		if (n.Kind == codec.False || n.Kind == codec.True) && b.dialect.RejectsNonScalars { // wire 6.6
			b.Report(&rule.Rule, contract.ValueOfOtherKind, n)
		}
	case b.isEmpty(rule, n) && !strict:
	case rule.Check == contract.Country:
		return b.checkCountry(ctx, rule, n)
	default:
		b.checkValue(rule, n)
	}
	return nil
}

// isEmpty reports whether a value stands for no value of its attribute.
func (b *Body) isEmpty(rule *Rule, n *codec.Node) bool {
	return IsMissing(n) || rule.Kind == adapter.KindTime && rule.Check == contract.Typed && !Truthy(n)
}

// checkList checks a list or record in place of a single value. It returns false if that is
// up to the rule's check. Lists that store nothing are accepted by the original (products
// 5.2), except where it checks the entries one by one.
func (b *Body) checkList(rule *Rule, n *codec.Node) (done bool) {
	empty, isText := len(n.Members) == 0, rule.Check == contract.Line || rule.Check == contract.Typed && (rule.Kind == adapter.KindText || rule.CastsNumbers(b.dialect))
	switch {
	case rule.Multiple, rule.Check == contract.Ignored, rule.Check == contract.Street, rule.Check >= contract.Set:
		return false
	case rule.Check == contract.Flag, rule.Check == contract.DefaultFlag, rule.Check == contract.Switch:
	case rule.ListFault == contract.ValueCrash && rule.Check == contract.Typed && !isText:
		return false
	case b.dialect.ListsStoreNothing && rule.Check == contract.Email:
		b.checkEmail(rule, n)
		return true
	case b.dialect.ListsStoreNothing && rule.ListFault == contract.ValueCrash && isText:
		return true // even in place of a required text
	case rule.ListFault == contract.ValueCrash:
		if isText && empty && !b.isRequired(rule) && !b.dialect.RejectsNonScalars {
			return true // the stored value stays
		}
		b.Report(&rule.Rule, rule.ListFault, n)
		return true
	case rule.ListFault != 0:
		if empty && b.isRequired(rule) {
			return false
		}
		b.Report(&rule.Rule, rule.ListFault, n)
		return true
	case empty && (rule.Required || rule.OptionStorage == contract.CastOption), !empty && !isText:
		return false
	}
	if b.dialect.RejectsNonScalars {
		b.Report(&rule.Rule, contract.ValueOfOtherKind, n)
	}
	return true
}

// CrashingList returns the field with a list on which the original crashes before it checks anything
// else (products 2), or "".
func (b *Body) CrashingList() (field string) {
	for i := range b.Rules {
		r := &b.Rules[i]
		n, ok := b.Get(r.Field)
		if !ok || n.Kind != codec.Struct {
			continue
		}
		if r.EmptyListCrash(b.dialect) || len(n.Members) > 0 && (r.ListCrash || r.Check == contract.Typed && r.Kind == adapter.KindTime) {
			return r.Field
		}
	}
	return ""
}

// checkValue checks a value that is not empty, for the checks that need no codes.
func (b *Body) checkValue(rule *Rule, n *codec.Node) {
	fault := contract.FaultKey(0)
	switch rule.Check {
	case contract.Line:
		fault = checkLength(&rule.Rule, n.String())
	case contract.Typed:
		fault = b.typeFault(rule, n)
	case contract.Email:
		b.checkEmail(rule, n)
	case contract.BirthDate:
		_, fault = b.birthDate(n)
	case contract.Password:
		b.Password = strings.Trim(n.String(), Blanks)
		if utf8.RuneCountInString(b.Password) < int(rule.Min) {
			fault = contract.PasswordTooShort
		}
	case contract.Street:
		_, fault = parseStreet(&rule.Rule, n)
	default:
		if !satisfies(&rule.Rule, nil, n) {
			fault = rule.Fault
		}
	}
	if fault != 0 {
		b.Report(&rule.Rule, fault, n)
	}
}

// typeFault returns the fault of a value for the type of the rule's attribute, or 0.
func (b *Body) typeFault(rule *Rule, n *codec.Node) contract.FaultKey {
	if rule.CastsNumbers(b.dialect) {
		return 0
	}
	fault := typeFault(rule.Kind, n, b.dates)
	if rule.Kind == adapter.KindTime && fault != 0 && fault != contract.ValueCrash {
		return cmp.Or(rule.TimeFault, fault)
	}
	return fault
}

func (b *Body) checkEmail(rule *Rule, n *codec.Node) {
	switch {
	case n.Kind == codec.Text && n.Text == "0", (n.Kind == codec.Number || n.Kind == codec.Struct) && !Truthy(n):
		b.SaveFault = contract.EmailZero
	case n.Kind != codec.Text:
		b.Report(&rule.Rule, contract.EmailType, n)
	default:
		for _, fault := range checkEmail(b.dialect, rule.Label, n.Text) {
			b.add(fault, false)
		}
	}
}

// The allowed lengths of a country code (contract 9).
const (
	minCountryCode = 2
	maxCountryCode = 3
)

// checkCountry checks a country code (customers 6). The comparison is case-sensitive.
func (b *Body) checkCountry(ctx context.Context, rule *Rule, n *codec.Node) error {
	length := utf8.RuneCountInString(n.Text)
	switch {
	case n.Kind != codec.Text:
		b.Report(&rule.Rule, contract.CountryNoText, n)
		return nil
	case length < minCountryCode || length > maxCountryCode:
		b.Report(&rule.Rule, contract.CountryLength, n)
		return nil
	}
	codes, err := b.codesOf(ctx, &rule.Rule, n)
	allowed := len(rule.Options) == 0 || slices.Contains(rule.Options, n.Text) // configurations 6
	if err == nil && !(allowed && slices.Contains(codes, n.Text)) {
		b.Report(&rule.Rule, contract.CountryUnknown, n)
	}
	return err
}

// CheckAll checks the value of one field by all rules of the field but the one that demands it.
func (b *Body) CheckAll(field string, n *codec.Node) {
	for i := range b.Rules {
		if rule := &b.Rules[i]; rule.Field == field && !rule.Required && !satisfies(&rule.Rule, nil, n) {
			b.Report(&rule.Rule, rule.Fault, n)
		}
	}
}

// CheckDemanded checks that the body has the fields that rules demand.
func (b *Body) CheckDemanded() {
	for i := range b.Rules {
		rule := &b.Rules[i]
		if n, sent := b.Get(rule.Field); rule.Required && !(sent && satisfies(&rule.Rule, nil, n)) {
			b.Report(&rule.Rule, rule.Fault, n)
		}
	}
}

// CheckEntries checks each entry of a price list (products 5.3, steps 4 and 5).
func (b *Body) CheckEntries(ctx context.Context, list *Rule) error {
	entries := b.Entries(list.Field)
	for i := range entries {
		for j := range list.Members {
			if err := b.CheckMember(ctx, &list.Members[j], &entries[i].Value, list.Field+":"+entries[i].Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckMember checks one member of a record, whose messages call it set. A null counts as
// absent.
func (b *Body) CheckMember(ctx context.Context, rule *contract.Rule, record *codec.Node, set string) error {
	n, sent := Present(record, rule.Field)
	if !sent {
		if rule.Required {
			b.Add(rule.Missing, rule.Field, set)
		}
		return nil
	}
	codes, err := b.codesOf(ctx, rule, n)
	if err == nil && !satisfies(rule, codes, n) {
		b.Add(rule.Fault, rule.Field, set)
	}
	return err
}

// Entries returns the members of a field that was sent as a list or record, or nil for any
// other value.
func (b *Body) Entries(field string) []codec.Member {
	n, ok := b.Get(field)
	if !ok {
		return nil
	}
	return n.Members
}
