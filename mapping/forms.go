package mapping

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// A formParser parses the body of a write by a form of the contract (customers 4 to 6).
type formParser struct {
	*resource
	form      contract.Form
	shops     *shopConfigCache
	directory countryDirectory
}

// A parsedForm is a valid body of a write.
type parsedForm struct {
	// change holds the values of the attributes: null for an empty text, unset for a
	// value to be removed.
	change adapter.Record
	// password is the one that was sent, trimmed, or "" for none.
	password string
	// hasChanges reports whether the body names a field that can change.
	hasChanges bool
	// saveFault is the fault of a value on which the original fails only when it saves,
	// or 0.
	saveFault contract.FaultKey
}

// A formState is the state of parsing one body.
type formState struct {
	*formParser
	body   *codec.Node
	faults contract.Faults
	parsedForm
}

// parse parses the body of c, which creates or changes a record. storedCountry is the
// country of the address that is being changed, "" for none. The error holds all faults
// of the body, or is that of a store.
func (f *formParser) parse(ctx context.Context, c *Call, storedCountry string) (*parsedForm, error) {
	r := &formState{formParser: f, body: &c.Body, parsedForm: parsedForm{change: adapter.NewRecord(f.schema)}}
	creates := c.Method == contract.POST
	var regionField *contract.FormField
	for i := range f.form {
		field := &f.form[i]
		at, _ := f.fields.Index(field.Name)
		if !f.fields.Fields[at].Writable(f.dialect, c.Principal.Role) || field.CreateOnly && !creates {
			continue
		}
		if field.Content == contract.Region {
			regionField = field
			continue
		}
		n, sent := c.Body.Get(field.Name)
		if !sent {
			if creates && field.Required && !field.OptionalIn(f.dialect, r.sentCountry()) {
				r.addFault(field, field.Missing)
			}
			continue
		}
		r.hasChanges = r.hasChanges || field.Content != contract.Ignored
		if err := r.parseField(ctx, field, n); err != nil {
			return nil, err
		}
	}
	if regionField != nil && len(r.faults) == 0 {
		if err := r.parseRegion(ctx, regionField, creates, storedCountry); err != nil {
			return nil, err
		}
	}
	if len(r.faults) > 0 {
		return nil, append(r.faults, f.dialect.Fault(contract.PreValidation))
	}
	if creates {
		dropUnset(r.change)
	}
	return &r.parsedForm, nil
}

// sentCountry returns the country in the body if it is a text, otherwise "".
func (r *formState) sentCountry() string {
	if n, sent := r.body.Get("country_id"); sent && n.Kind == codec.Text {
		return n.Text
	}
	return ""
}

func (r *formState) addFault(field *contract.FormField, key contract.FaultKey) {
	args := []any{field.Label}
	switch key {
	case contract.ValueTooShort:
		args = append(args, field.Min)
	case contract.ValueTooLong:
		args = append(args, field.Max)
	}
	r.faults = append(r.faults, r.dialect.Fault(key, args...))
}

func (r *formState) setValue(field *contract.FormField, v adapter.Value) {
	r.change.Values[r.attribute(field.Name)] = v
}

// parseField parses the value of one field. The error is a crash of the original, which
// replaces all other faults, or that of a store.
func (r *formState) parseField(ctx context.Context, field *contract.FormField, n *codec.Node) error {
	switch field.Content {
	case contract.Flag, contract.DefaultFlag:
		if n.Kind == codec.Struct && r.dialect.RejectsNonScalars {
			r.faults = append(r.faults, r.dialect.Fault(contract.ValueOfOtherKind, field.Name))
			return nil
		}
	}
	switch field.Content {
	case contract.Flag:
		r.setValue(field, adapter.IntegerValue(flagValue(n)))
	case contract.DefaultFlag:
		if truthy(n) {
			r.setValue(field, adapter.IntegerValue(1))
		}
	case contract.Number:
		r.parseOption(field, n, field.Options)
	case contract.WebsiteID, contract.GroupID:
		shop, err := r.shops.current(ctx)
		if err != nil {
			return err
		}
		options := shop.groups
		if field.Content == contract.WebsiteID {
			options = shop.websites
		}
		r.parseOption(field, n, options)
	case contract.CountryID:
		return r.parseCountry(ctx, field, n)
	case contract.Street:
		return r.parseStreet(field, n)
	case contract.AddedValue:
		return r.parseAddedAttribute(field, n)
	case contract.Ignored:
	default:
		return r.parseText(field, n)
	}
	return nil
}

// parseOption accepts one of the given numbers, compared by value.
func (r *formState) parseOption(field *contract.FormField, n *codec.Node, options []int64) {
	switch {
	case field.Required && isMissing(n):
		r.addFault(field, field.Missing)
		return
	case n.Kind == codec.Struct:
		r.faults = append(r.faults, r.dialect.Fault(contract.OptionType, field.Name))
		return
	}
	number, ok := numeric.Parse(n.String())
	at := slices.IndexFunc(options, func(option int64) bool { return number == float64(option) })
	if !ok || at < 0 {
		r.faults = append(r.faults, r.dialect.Fault(contract.OptionUnknown, n.String(), field.Name))
		return
	}
	r.setValue(field, adapter.IntegerValue(options[at]))
}

func (r *formState) parseCountry(ctx context.Context, field *contract.FormField, n *codec.Node) error {
	if isMissing(n) {
		r.addFault(field, field.Missing)
		return nil
	}
	fault, err := r.directory.checkCountry(ctx, n)
	switch {
	case err != nil:
		return err
	case fault != 0:
		r.faults = append(r.faults, r.dialect.Fault(fault, n.String()))
	default:
		r.setValue(field, adapter.TextValue(n.Text))
	}
	return nil
}

// parseAddedAttribute parses the value of an attribute that the shop has added. A value
// that does not fit the attribute's type is refused as for products (products 5.3, step
// 8). An empty value is stored as unset, never as "nothing".
func (r *formState) parseAddedAttribute(field *contract.FormField, n *codec.Node) error {
	kind := r.schema.Attributes[r.attribute(field.Name)].Kind
	switch {
	case kind == adapter.KindText:
		return r.parseText(field, n)
	case n.Kind == codec.Struct && r.dialect.RejectsNonScalars:
	case isMissing(n), kind == adapter.KindTime && !truthy(n):
		r.setValue(field, adapter.UnsetValue())
		return nil
	}
	switch fault := typeFault(kind, n); fault {
	case 0:
		r.setValue(field, typedValue(kind, n))
	case contract.ValueCrash:
		return r.dialect.Fault(fault)
	case contract.OptionInvalid:
		r.faults = append(r.faults, r.dialect.Fault(fault, messageValue(n), field.Name))
	default:
		f := r.dialect.Fault(fault, field.Name)
		if f.Bare {
			return f
		}
		r.faults = append(r.faults, f)
	}
	return nil
}

func (r *formState) parseStreet(field *contract.FormField, n *codec.Node) error {
	lines, fault := parseStreet(field, n)
	switch fault {
	case 0:
		r.setValue(field, adapter.TextsValue(lines))
	case contract.ValueCrash:
		return r.dialect.Fault(fault)
	default:
		r.addFault(field, fault)
	}
	return nil
}

// parseRegion parses the region of an address that is new, or that is sent with its
// country, its region or both.
func (r *formState) parseRegion(ctx context.Context, field *contract.FormField, creates bool, storedCountry string) error {
	n, sent := r.body.Get(field.Name)
	country := r.sentCountry()
	if !creates && !sent && country == "" {
		return nil
	}
	if country == "" {
		country = storedCountry
	}
	found, fault, err := r.directory.readRegion(ctx, country, n)
	switch {
	case err != nil:
		return err
	case fault != 0:
		if f := r.dialect.Fault(fault); f.Bare {
			return f
		}
		r.addFault(field, fault)
		return nil
	}
	r.hasChanges = true
	r.setValue(field, found.name)
	r.change.Set("region_id", found.id)
	return nil
}

// parseText parses a field that is sent as a text.
func (r *formState) parseText(field *contract.FormField, n *codec.Node) error {
	optional := !field.Required || field.OptionalIn(r.dialect, r.sentCountry())
	switch {
	case n.Kind == codec.Struct && len(n.Members) == 0 && optional && field.Content != contract.Date && !r.dialect.RejectsNonScalars:
		return nil // the stored value stays
	case n.Kind == codec.Struct:
		return r.dialect.Fault(contract.ValueCrash)
	case !optional && isMissing(n):
		r.addFault(field, field.Missing)
		return nil
	case optional && isMissing(n):
		v := optionalText(n)
		if field.Content == contract.Date {
			v = adapter.UnsetValue() // never stored as "nothing"
		}
		r.setValue(field, v)
		return nil
	}
	switch field.Content {
	case contract.Email:
		return r.parseEmail(field, n)
	case contract.Date:
		return r.parseDate(field, n)
	case contract.Password:
		r.parsePassword(field, n)
		return nil
	}
	if fault := checkLength(field, n.String()); fault != 0 {
		r.addFault(field, fault)
		return nil
	}
	r.setValue(field, optionalText(n))
	return nil
}

func (r *formState) parseEmail(field *contract.FormField, n *codec.Node) error {
	switch {
	case n.Kind == codec.Text && n.Text == "0", n.Kind == codec.Number && !truthy(n):
		r.saveFault = contract.EmailZero
	case n.Kind != codec.Text:
		r.addFault(field, contract.EmailType)
	default:
		faults := checkEmail(r.dialect, field.Label, n.Text)
		if i := slices.IndexFunc(faults, func(f contract.Fault) bool { return f.Bare }); i >= 0 {
			return faults[i]
		}
		r.faults = append(r.faults, faults...)
		text, _ := storedText(n)
		r.setValue(field, adapter.TextValue(text))
	}
	return nil
}

func (r *formState) parseDate(field *contract.FormField, n *codec.Node) error {
	day, fault := parseBirthDate(n)
	switch fault {
	case 0:
		r.setValue(field, adapter.TextValue(day))
	case contract.ValueCrash, contract.DateZero:
		return r.dialect.Fault(fault)
	default:
		r.addFault(field, fault)
	}
	return nil
}

func (r *formState) parsePassword(field *contract.FormField, n *codec.Node) {
	r.password = strings.Trim(n.String(), trimCutset)
	if utf8.RuneCountInString(r.password) < field.Min {
		r.faults = append(r.faults, r.dialect.Fault(contract.PasswordTooShort, field.Min))
	}
}
