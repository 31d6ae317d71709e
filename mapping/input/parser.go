package input

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A Parser parses bodies by the rules of one resource.
type Parser struct {
	dialect *contract.Dialect
	schema  *adapter.Schema
	table   *contract.RuleTable
	Rules   []Rule
	codes   Codes
	dates   DateReader
}

// Codes returns the codes of rule.From, a list that the store defines: all of them, or at least the codes
// that n, or a member of the list n, may mean.
type Codes func(ctx context.Context, rule *contract.Rule, n *codec.Node) ([]string, error)

// A Rule is a rule of the contract, with the attribute that stores the field.
type Rule struct {
	contract.Rule
	// At is the position of the attribute in the schema, or -1 without one.
	At   int
	Kind adapter.Kind
}

// NewParser returns a parser for the fields of a resource, including the store's added fields. It reads
// dates in the order of a locale.
func NewParser(d *contract.Dialect, fields *contract.FieldTable, schema *adapter.Schema, codes Codes, locale contract.Locale) *Parser {
	p := &Parser{dialect: d, schema: schema, table: &fields.Rules, codes: codes, dates: DateReader{locale, d.MisreadsMonths, d.StoresZeroDates}}
	for _, rule := range fields.Rules.In(d).With(added(fields, schema)...) {
		at, ok := schema.Index(rule.Field)
		if !ok {
			p.Rules = append(p.Rules, Rule{Rule: rule, At: -1})
			continue
		}
		p.Rules = append(p.Rules, Rule{Rule: rule, At: at, Kind: schema.Attributes[at].Kind})
	}
	return p
}

// Rule returns the first rule of a field, or nil if it has none.
func (p *Parser) Rule(field string) *Rule {
	if i := slices.IndexFunc(p.Rules, func(r Rule) bool { return r.Field == field }); i >= 0 {
		return &p.Rules[i]
	}
	return nil
}

// added returns the rules of the fields that the store has added to a table.
func added(fields *contract.FieldTable, schema *adapter.Schema) (rules []contract.Rule) {
	for i := range fields.Fields {
		f := &fields.Fields[i]
		if at, ok := schema.Index(f.Attribute); ok && schema.Attributes[at].Added {
			rules = append(rules, fields.Rules.Added(f.Name, schema.Attributes[at].KindName()))
		}
	}
	return rules
}

// A Body is the body of one write.
type Body struct {
	*Parser
	*codec.Node
	// New: the write creates a record.
	New bool
	// Skips reports whether a rule does not apply to the write at all; nil means no rule.
	Skips func(*Rule) bool
	// Type is the type of a product, some of whose fields do not apply; nil means that all do.
	Type *contract.ProductType
	// SaveFault is the fault of a value on which the original fails only when it saves, or 0.
	SaveFault contract.FaultKey
	// HasChanges reports whether a checked body holds a field that can change.
	HasChanges bool
	// Password is the password in a checked body, without surrounding blanks, or "".
	Password string
	// Faults are the faults so far.
	Faults contract.Faults
	// alone is a fault that replaces all others, unsaved one of a save, for which there must be no other.
	alone, unsaved *contract.Fault
	// known holds the codes that have been asked for, by field.
	known map[string][]string
}

// Add adds a fault.
func (b *Body) Add(key contract.FaultKey, args ...any) {
	fault := b.dialect.Fault(key, args...)
	if key == contract.DateUnsaved && fault.Code == http.StatusInternalServerError {
		b.unsaved = &fault
		return
	}
	b.add(fault, key == contract.ValueCrash || key == contract.DateZero)
}

func (b *Body) add(fault contract.Fault, alone bool) {
	b.Faults = append(b.Faults, fault)
	if b.alone == nil && (alone || fault.Bare) {
		b.alone = &fault
	}
}

// Report adds a fault of the value n of a field, which is nil if none was sent.
func (b *Body) Report(rule *contract.Rule, key contract.FaultKey, n *codec.Node) {
	switch key {
	case contract.OptionInvalid, contract.OptionUnknown:
		b.Add(key, MessageValue(n), rule.Field)
	case contract.ValueCrash:
		b.add(b.dialect.Crash(rule.Field), true)
	case contract.BrokenRule:
		b.Add(key, rule.Field, strings.ReplaceAll(rule.Message, "{value}", MessageValue(n)))
	case contract.OptionType, contract.ValueOfOtherKind:
		b.Add(key, rule.Field)
	case contract.CountryNoText, contract.CountryLength, contract.CountryUnknown:
		b.Add(key, n.String())
	case contract.ValueTooShort:
		b.Add(key, rule.Name(), int(rule.Min))
	case contract.ValueTooLong:
		b.Add(key, rule.Name(), int(rule.Max))
	case contract.PasswordTooShort:
		b.Add(key, int(rule.Min))
	default:
		b.Add(key, rule.Name())
	}
}

// Err returns the error of the whole body: a fault that replaces all others, or all faults
// with the entry that ends them; the fault of a save alone; or nil if there are none.
func (b *Body) Err() error {
	switch {
	case b.alone != nil:
		return *b.alone
	case len(b.Faults) > 0:
		return append(b.Faults, b.dialect.Fault(contract.PreValidation))
	case b.unsaved != nil:
		return *b.unsaved
	default:
		return nil
	}
}

// Sent returns the value of a field. ok is false if it is absent or null.
func (b *Body) Sent(field string) (n *codec.Node, ok bool) { return Present(b.Node, field) }

// Country returns the country in the body if it is a text, otherwise "".
func (b *Body) Country() string {
	if n, sent := b.Get("country_id"); sent && n.Kind == codec.Text {
		return n.Text
	}
	return ""
}
