package mapping

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// defaultScope is the store id of the values that apply where a store view has none of
// its own.
const defaultScope = 0

// newRecord returns the new product that the body describes.
func (w *productWrite) newRecord() adapter.Record {
	r := w.changes(adapter.NewRecord(w.schema), defaultScope)
	code := w.productType.Code
	set, _ := w.body.Get("attribute_set_id")
	id, _ := numeric.LeadingInteger(set.String())
	r.Set("type_id", adapter.TextValue(code))
	r.Set("attribute_set_id", adapter.IntegerValue(id))
	if r.Get("special_from_date").Kind() == adapter.Absent {
		r.Set("special_from_date", adapter.NullValue())
	}
	if _, sent := w.body.Get("options_container"); !sent {
		r.Set("options_container", adapter.TextValue("container1"))
	}
	dropUnset(r)
	return r
}

// changes returns what a valid body changes in a product at a store view, with all
// derived changes (products 5.6). It is a pure function of current, as
// [adapter.UpdateParams] requires.
func (w *productWrite) changes(current adapter.Record, storeID int64) adapter.Record {
	next := adapter.NewRecord(w.schema)
	for i := range w.rules {
		rule := &w.rules[i]
		if n, sent := w.body.Get(rule.Field); sent {
			next.Values[rule.attributeIndex] = w.storedValue(rule, n)
		}
	}
	for _, list := range []*priceList{&w.groupPrice, &w.tierPrice} {
		if n, sent := w.body.Get(list.field); sent && n.Kind != codec.False {
			next.Values[list.attributeIndex] = adapter.RecordsValue(w.priceRecords(list))
		}
	}
	w.applyGiftMessageConfig(current, next)
	w.generateURLKey(current, next)
	w.defaultSpecialFromDate(current, next, storeID)
	if item, ok := w.stockItem(current); ok {
		next.Set("stock_item", adapter.RecordsValue([]adapter.Record{item}))
	}
	return next
}

// storedValue returns what a valid value is stored as (products 4 and 5.2). False removes
// the scope's own value, and a list in place of a text stores nothing.
func (w *productWrite) storedValue(rule *productRule, n *codec.Node) adapter.Value {
	switch {
	case n.Kind == codec.Struct:
		return adapter.Value{}
	case n.Kind == codec.False:
		return adapter.UnsetValue()
	case isMissing(n), rule.Check == contract.DateTime && !truthy(n):
		return adapter.NullValue()
	}
	if rule.attribute.Kind != adapter.KindText {
		return typedValue(rule.attribute.Kind, n)
	}
	text, _ := storedText(n)
	if rule.Check == contract.Option {
		text, _ = w.optionCode(rule, n)
	}
	if text = truncateForRule(text, &rule.ProductRule); text == "" {
		return adapter.NullValue()
	}
	if rule.Field == "url_key" {
		return w.urlKey(text)
	}
	return adapter.TextValue(text)
}

// truncateForRule truncates a text to the length that the original stores.
func truncateForRule(text string, rule *contract.ProductRule) string {
	if rule.Characters > 0 {
		text = truncateRunes(text, rule.Characters)
	}
	if rule.Bytes > 0 {
		text = truncateBytes(text, rule.Bytes)
	}
	return text
}

// valueAfter returns the value of an attribute after the change.
func valueAfter(current, next adapter.Record, name string) adapter.Value {
	if v := next.Get(name); v.Kind() != adapter.Absent {
		return v
	}
	return current.Get(name)
}

// isUnset reports whether v stores no value.
func isUnset(v adapter.Value) bool { return v.Empty() || v.Kind() == adapter.Unset }

// applyGiftMessageConfig clears gift_message_available if the body says that the shop's
// setting applies. If the body says that it no longer applies, it gives the attribute a
// value.
func (w *productWrite) applyGiftMessageConfig(current, next adapter.Record) {
	if _, sent := w.sentValue("use_config_gift_message_available"); !sent {
		return
	}
	if isFlagSet(&w.body, "use_config_gift_message_available") {
		next.Set("gift_message_available", adapter.NullValue())
	} else if isUnset(valueAfter(current, next, "gift_message_available")) {
		next.Set("gift_message_available", adapter.TextValue("0"))
	}
}

// needsURLKey reports whether a save generates the url_key from the name, which is so
// if the body holds none and the product has none. current is nil for a new product.
func (w *productWrite) needsURLKey(current *adapter.Record) bool {
	if sent, ok := w.body.Get("url_key"); ok {
		return isMissing(sent)
	}
	return current == nil || current.Get("url_key").Text() == ""
}

// sendsUnusableURLKey reports whether the body holds a url_key with no usable character.
func (w *productWrite) sendsUnusableURLKey() bool {
	sent, ok := w.sentValue("url_key")
	return ok && !isMissing(sent) && w.urlKey(sent.String()).Kind() == adapter.Null
}

func (w *productWrite) generateURLKey(current, next adapter.Record) {
	if w.needsURLKey(&current) || w.sendsUnusableURLKey() && !(w.dialect.URLKeyByWebsite && w.hasNoWebsite) {
		next.Set("url_key", w.urlKey(valueAfter(current, next, "name").Text()))
	}
}

// urlKey returns the url_key for a text, or null if it has no usable character.
func (w *productWrite) urlKey(text string) adapter.Value {
	key := w.urlKeys.generate(text)
	if key == "" {
		return adapter.NullValue()
	}
	return adapter.TextValue(key)
}

// minuteFormat is time.DateTime with the seconds set to 0.
const minuteFormat = "2006-01-02 15:04:00"

// defaultSpecialFromDate sets special_from_date to the current time, in the time zone of the
// shop even where a website has its own (calls run in the scope of administrators), if there
// is a special price without a start: at every save of the default scope, and elsewhere when
// the save clears the date. A special price that is sent as zero does not count as one; a
// special_from_date that is sent as zero or false does not count as cleared.
func (w *productWrite) defaultSpecialFromDate(current, next adapter.Record, storeID int64) {
	from := next.Get("special_from_date")
	missing := from.Kind() == adapter.Null
	if storeID == defaultScope {
		missing = isUnset(valueAfter(current, next, "special_from_date"))
	}
	sent, isSent := w.body.Get("special_price")
	hasSpecialPrice := !current.Get("special_price").Empty()
	if isSent {
		hasSpecialPrice = truthy(sent)
	}
	sentAsZero := false
	if sent, isSent := w.sentValue("special_from_date"); isSent {
		sentAsZero = !truthy(sent) && !isEmptyValue(sent) && sent.Kind != codec.Struct
	}
	if missing && hasSpecialPrice && !sentAsZero {
		next.Set("special_from_date", adapter.TextValue(w.settings.storeTime(w.now).Format(minuteFormat)))
	}
}
