package handlers

import (
	"context"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
)

// check returns nil if the product can be saved, otherwise its faults: all faults of the
// validation (products 5.3), or the first fault that the original only finds when it
// saves (products 5.5).
func (w *write) check(ctx context.Context) error {
	if field := w.crashingField(); field != "" {
		return w.Dialect.Crash(field)
	}
	if w.hasTooManyEntries() {
		return w.Dialect.Fault(contract.RequestInvalid)
	}
	if w.checkType() {
		if err := w.checkFields(ctx); err != nil {
			return err
		}
	}
	if err := w.Err(); err != nil {
		return err
	}
	if w.New && !w.Type.Creatable {
		return w.Dialect.Fault(contract.TypeNotCreatable, w.Type.Code)
	}
	for _, list := range w.priceLists {
		twice, err := w.hasDuplicates(ctx, w.priceRecords(list))
		if err != nil {
			return err
		}
		if twice {
			return w.Dialect.Fault(list.Twice)
		}
	}
	if layout, ok := w.Sent("custom_layout_update"); ok {
		if text, _ := input.StoredText(layout); text != "" {
			return w.checkLayout(text)
		}
	}
	return nil
}

// crashingField returns the field that holds a list where the original needs a text for its own purposes,
// or a text where it needs a list, or "" (products 2).
func (w *write) crashingField() string {
	data, ok := w.Sent(stockDataName)
	switch {
	case w.New && len(w.Entries("type_id")) > 0:
		return "type_id"
	case w.needsURLKey(w.current) && len(w.Entries("name")) > 0:
		return "name"
	case ok && data.Kind != codec.Struct && (data.Kind != codec.False || w.Dialect.RejectsNonScalars):
		return stockDataName
	}
	return w.CrashingList()
}

func (w *write) hasTooManyEntries() bool {
	return slices.ContainsFunc(w.Rules, func(r input.Rule) bool {
		switch r.Check {
		case contract.PriceList:
			return len(w.Entries(r.Field)) > maxPriceEntries
		case contract.Option:
			return len(w.Entries(r.Field)) > input.MaxOptionValues
		default:
			return false
		}
	})
}

// checkType checks the product type and the attribute set (products 5.3, steps 1 and 2),
// which an update ignores. It returns false if the validation ends here.
func (w *write) checkType() bool {
	if !w.New {
		return true
	}
	id, sent := w.Get("type_id")
	set, setSent := w.Get("attribute_set_id")
	switch {
	case !sent || !input.Truthy(id):
		w.Add(contract.MissingValue, "type_id")
	case w.Type == nil:
		w.Add(contract.ProductTypeInvalid)
	case !setSent || !input.Truthy(set):
		w.Add(contract.MissingValue, "attribute_set_id")
	case !slices.Contains(w.settings.AttributeSets, attributeSetID(set)):
		w.Add(contract.AttributeSetInvalid)
	}
	return len(w.Faults) == 0
}

// attributeSetID returns the id of an attribute set, from the leading digits of a value.
func attributeSetID(n *codec.Node) string {
	id, _ := codec.LeadingInteger(n.String())
	return strconv.FormatInt(id, 10)
}

// checkFields runs the steps that collect faults (products 5.3, steps 3 to 9).
func (w *write) checkFields(ctx context.Context) error {
	if sku, ok := w.Sent("sku"); ok && utf8.ValidString(sku.String()) && utf8.RuneCountInString(sku.String()) > contract.MaxSKU {
		w.Add(contract.SKUTooLong, contract.MaxSKU)
	}
	for _, list := range w.priceLists {
		if err := w.CheckEntries(ctx, list); err != nil {
			return err
		}
	}
	if err := w.checkStock(ctx); err != nil {
		return err
	}
	if weight, ok := w.Sent("weight"); ok && w.exceedsMaxWeight(weight) {
		w.Add(contract.WeightOutOfRange)
	}
	if err := w.Check(ctx); err != nil || !w.New {
		return err
	}
	for _, field := range w.Type.Requires {
		w.Add(contract.MissingValue, field)
	}
	return nil
}

// exceedsMaxWeight reports whether a weight is above input.MaxDecimal, the largest that can be
// stored. As in the original, a text that is not a number is compared with the digits of that
// limit byte by byte, or with 0, and a list that is not empty is always above it.
func (w *write) exceedsMaxWeight(n *codec.Node) bool {
	if number, ok := input.Number(n); ok {
		return number > input.MaxDecimal
	}
	limit := codec.DecimalText(input.MaxDecimal)
	if w.Dialect.RangeNeedsNumber {
		limit = "0"
	}
	return n.Kind == codec.Text && n.Text > limit || n.Kind == codec.Struct && len(n.Members) > 0 ||
		n.Kind == codec.True && w.Dialect.RangeNeedsNumber
}
