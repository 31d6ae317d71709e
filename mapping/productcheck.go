package mapping

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// check returns nil if the product can be saved, otherwise its faults: all faults of the
// validation (products 5.3), or the first fault that the original only finds when it
// saves (products 5.5).
func (w *productWrite) check() error {
	if w.crashesOriginal() {
		return w.dialect.Fault(contract.ValueCrash)
	}
	if len(w.entries("group_price")) > maxPriceEntries || len(w.entries("tier_price")) > maxPriceEntries || w.hasTooManyOptions() {
		return w.dialect.Fault(contract.RequestInvalid)
	}
	if w.checkType() {
		w.checkFields()
	}
	// Where the original crashes, it loses the faults it has collected.
	if i := slices.IndexFunc(w.faults, func(f contract.Fault) bool { return f.Bare }); i >= 0 {
		return w.faults[i]
	}
	switch {
	case len(w.faults) > 0:
		return append(w.faults, w.dialect.Fault(contract.PreValidation))
	case w.current == nil && !w.productType.Creatable:
		return w.dialect.Fault(contract.TypeNotCreatable, w.productType.Code)
	case w.groupPrice.hasDuplicates(w.priceRecords(&w.groupPrice)):
		return w.dialect.Fault(w.groupPrice.duplicateFault)
	case w.tierPrice.hasDuplicates(w.priceRecords(&w.tierPrice)):
		return w.dialect.Fault(w.tierPrice.duplicateFault)
	}
	if layout, ok := w.sentValue("custom_layout_update"); ok {
		if text, _ := storedText(layout); text != "" {
			return w.checkLayout(text)
		}
	}
	return nil
}

func (w *productWrite) addFault(key contract.FaultKey, args ...any) {
	w.faults = append(w.faults, w.dialect.Fault(key, args...))
}

// crashesOriginal reports whether the body holds a list where the original needs a text
// for its own purposes, or a text where it needs a list (products 2).
func (w *productWrite) crashesOriginal() bool {
	filled := func(field string) bool {
		n, ok := w.body.Get(field)
		return ok && n.Kind == codec.Struct && len(n.Members) > 0
	}
	if w.current == nil && filled("type_id") || w.needsURLKey(w.current) && filled("name") {
		return true
	}
	if data, ok := w.sentValue("stock_data"); ok && data.Kind != codec.Struct && (data.Kind != codec.False || w.dialect.RejectsNonScalars) {
		return true
	}
	return slices.ContainsFunc(w.rules, func(r productRule) bool {
		if r.EmptyListCrash {
			n, ok := w.body.Get(r.Field)
			return ok && n.Kind == codec.Struct
		}
		return r.ListCrash && filled(r.Field)
	})
}

// maxOptionValues limits the number of values in a list for an option field, which are
// checked one by one.
const maxOptionValues = 1000

func (w *productWrite) hasTooManyOptions() bool {
	return slices.ContainsFunc(w.rules, func(r productRule) bool {
		return r.Check == contract.Option && len(w.entries(r.Field)) > maxOptionValues
	})
}

// checkType checks the product type and the attribute set (products 5.3, steps 1 and 2),
// which an update ignores. It returns false if the validation ends here.
func (w *productWrite) checkType() bool {
	if w.current != nil {
		return true
	}
	id, sent := w.body.Get("type_id")
	set, setSent := w.body.Get("attribute_set_id")
	switch {
	case !sent || !truthy(id):
		w.addFault(contract.MissingValue, "type_id")
	case w.productType == nil:
		w.addFault(contract.ProductTypeInvalid)
	case !setSent || !truthy(set):
		w.addFault(contract.MissingValue, "attribute_set_id")
	case !slices.Contains(w.settings.Products.AttributeSets, attributeSetID(set)):
		w.addFault(contract.AttributeSetInvalid)
	}
	return len(w.faults) == 0
}

// attributeSetID returns the id of an attribute set, from the leading digits of a value.
func attributeSetID(n *codec.Node) string {
	id, _ := numeric.LeadingInteger(n.String())
	return strconv.FormatInt(id, 10)
}

// checkFields runs the steps that collect faults (products 5.3, steps 3 to 9).
func (w *productWrite) checkFields() {
	if sku, ok := w.sentValue("sku"); ok && utf8.ValidString(sku.String()) && utf8.RuneCountInString(sku.String()) > contract.MaxSKU {
		w.addFault(contract.SKUTooLong, contract.MaxSKU)
	}
	w.checkPrices(&w.groupPrice)
	w.checkPrices(&w.tierPrice)
	w.checkStock()
	if weight, ok := w.sentValue("weight"); ok && exceedsMaxWeight(weight) {
		w.addFault(contract.WeightOutOfRange)
	}
	for i := range w.rules {
		if n, ok := w.sentValue(w.rules[i].Field); ok {
			w.checkField(&w.rules[i], n)
		}
		switch w.rules[i].Field {
		case "price":
			w.checkPriceList(&w.groupPrice)
		case "cost":
			w.checkPriceList(&w.tierPrice)
		}
	}
	for _, field := range contract.ProductSwitches() {
		if n, ok := w.sentValue(field); ok && n.Kind == codec.Struct && w.dialect.RejectsNonScalars {
			w.addFault(contract.ValueOfOtherKind, field)
		}
	}
	for i := range w.rules {
		w.checkRequired(&w.rules[i])
	}
	for _, field := range w.requiredByType() {
		w.addFault(contract.MissingValue, field)
	}
}

// exceedsMaxWeight reports whether a weight is above maxDecimal, the largest that can be
// stored. As in the original system, a text that is not a number is compared with the
// digits of that limit byte by byte, and a list that is not empty is always above it.
func exceedsMaxWeight(n *codec.Node) bool {
	if number, ok := numericValue(n); ok {
		return number > maxDecimal
	}
	return n.Kind == codec.Text && n.Text > numeric.Decimal(maxDecimal) || n.Kind == codec.Struct && len(n.Members) > 0
}

// checkField checks one value that was sent (products 5.3, step 8).
func (w *productWrite) checkField(rule *productRule, n *codec.Node) {
	if w.isNotApplicable(rule) {
		w.addFault(contract.NotApplicable, rule.Field, w.productType.Label)
		return
	}
	if n.Kind == codec.Struct && isIgnoredList(rule, n) {
		if w.dialect.RejectsNonScalars {
			w.addFault(contract.ValueOfOtherKind, rule.Field)
		}
		return
	}
	switch rule.Check {
	case contract.Option:
		w.checkOption(rule, n)
	case contract.DateTime:
		if _, fault := parseDateTime(n); truthy(n) && fault != 0 {
			w.addFault(fault, rule.Field)
		}
	case contract.NonNegative:
		if number, ok := numericValue(n); truthy(n) && !(ok && number >= 0) {
			w.addFault(contract.NumberFromZero, rule.Field)
		}
	case contract.AnyNumber:
		if fault := typeFault(rule.attribute.Kind, n); !isMissing(n) && fault != 0 {
			w.addFault(fault, messageValue(n), rule.Field)
		}
	}
}

// isIgnoredList reports whether the original accepts a list or record in place of a
// value, and stores nothing (products 5.2). It does not where it checks the entries of a
// list one by one, and an empty list does not count as a required value.
func isIgnoredList(rule *productRule, n *codec.Node) bool {
	switch {
	case len(n.Members) == 0:
		return !rule.Required && rule.OptionStorage != contract.CastOption
	default:
		return rule.Check == contract.AnyText
	}
}

// checkPriceList checks that a price list applies to the product's type and, in the
// documented dialect, that it is not a boolean (products 5.3, step 8, and wire 6.6).
func (w *productWrite) checkPriceList(list *priceList) {
	n, sent := w.sentValue(list.field)
	switch {
	case !sent:
	case w.productType != nil && slices.Contains(w.productType.Inapplicable, list.field):
		w.addFault(contract.NotApplicable, list.field, w.productType.Label)
	case (n.Kind == codec.False || n.Kind == codec.True) && w.dialect.RejectsNonScalars:
		w.addFault(contract.ValueOfOtherKind, list.field)
	}
}

// isNotApplicable reports whether the field does not apply to the product's type. All
// fields apply to an unknown type.
func (w *productWrite) isNotApplicable(rule *productRule) bool {
	return w.productType != nil && slices.Contains(w.productType.Inapplicable, rule.Field)
}

// requiredByType returns the fields that the type of a new product requires in addition.
func (w *productWrite) requiredByType() []string {
	if w.current != nil {
		return nil
	}
	return w.productType.Requires
}

// checkOption checks the value of an option field, or each value of a list (products
// 5.2).
func (w *productWrite) checkOption(rule *productRule, n *codec.Node) {
	switch {
	case n.Kind != codec.Struct:
		if !w.isValidOption(rule, n) {
			w.addFault(contract.OptionInvalid, n.String(), rule.Field)
		}
		return
	case rule.OptionStorage == contract.CastOption:
		w.addFault(contract.OptionInvalid, listPlaceholder, rule.Field)
		return
	case len(n.Members) == 0: // checkRequired handles it
		return
	}
	known := len(w.faults)
	for i := range n.Members {
		value := &n.Members[i].Value
		_, ok := w.optionCode(rule, value)
		switch {
		case value.Kind == codec.Struct:
			w.addFault(contract.OptionInvalid, listPlaceholder, rule.Field)
		case !ok && !(isEmptyValue(value) && !rule.Required && !rule.RejectsEmptyText):
			w.addFault(contract.OptionInvalid, value.String(), rule.Field)
		}
	}
	if len(w.faults) == known && w.dialect.RejectsNonScalars {
		w.addFault(contract.ValueOfOtherKind, rule.Field)
	}
}

// isValidOption reports whether a value is valid for an option field. An empty value is
// valid here if checkRequired handles it.
func (w *productWrite) isValidOption(rule *productRule, n *codec.Node) bool {
	switch {
	case n.Kind == codec.False:
		return rule.Required
	case isMissing(n):
		return rule.Required || !rule.RejectsEmptyText
	case rule.Required && w.dialect.UncheckedZero && (n.Kind == codec.Number && numberLiteral(n) == 0 || n.Kind == codec.Text && n.Text == "0"):
		return true
	}
	_, ok := w.optionCode(rule, n)
	return ok
}

// optionCode returns the option that a value stands for (products 5.2). It compares
// numbers by value and texts exactly.
func (w *productWrite) optionCode(rule *productRule, n *codec.Node) (code string, ok bool) {
	switch {
	case n.Kind == codec.True && rule.OptionStorage == contract.CastOption && !w.dialect.RejectsNonScalars:
		return n.String(), true
	case n.Kind != codec.Number && n.Kind != codec.Text:
		return "", false
	}
	codes := rule.Options
	switch rule.From {
	case contract.TaxClasses:
		codes = w.settings.Products.TaxClasses
	case contract.Themes:
		codes = w.settings.Products.Themes
	case contract.Countries:
		return n.String(), w.countryCodes[n.String()]
	}
	number, isNumber := numericValue(n)
	for _, code := range codes {
		if option, ok := numeric.Parse(code); isNumber && ok && option == number || code == n.String() {
			if rule.OptionStorage != contract.CanonicalOption && w.dialect.PreservesSpelling {
				return n.String(), true
			}
			return code, true
		}
	}
	return "", false
}

// checkRequired checks that a required field is present in a new product, and not empty
// if sent (products 5.3, step 9).
func (w *productWrite) checkRequired(rule *productRule) {
	if !rule.Required || w.isNotApplicable(rule) {
		return
	}
	n, sent := w.body.Get(rule.Field)
	switch {
	case !sent && w.current == nil:
		w.addFault(contract.MissingValue, rule.Field)
	case sent && (isMissing(n) || isStoredEmpty(n)):
		w.addFault(contract.EmptyRequired, rule.Field)
	}
}

// isStoredEmpty reports whether a text would be stored as an empty one.
func isStoredEmpty(n *codec.Node) bool {
	text, ok := storedText(n)
	return ok && n.Kind == codec.Text && text == ""
}

// satisfies reports whether a value inside price lists or stock_data satisfies its rule.
func (w *productWrite) satisfies(rule *contract.SetRule, n *codec.Node) bool {
	number, ok := numericValue(n)
	switch rule.Check {
	case contract.SetNumber:
		return ok
	case contract.SetFromZero:
		return ok && number >= 0
	case contract.SetAboveZero:
		return ok && number > 0
	case contract.SetOption:
		return ok && slices.ContainsFunc(rule.Options, func(code string) bool { return numeric.Leading(code) == number })
	case contract.SetGroup:
		whole, ok := wholeNumber(n)
		return ok && w.groups[whole]
	default:
		return true
	}
}
