package handlers

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/input"
)

// defaultScope is the store id of the values that apply where a store view has none of
// its own.
const defaultScope = 0

// newRecord returns the new product that the body describes.
func (w *write) newRecord() adapter.Record {
	r := w.changes(adapter.NewRecord(w.Schema), defaultScope)
	code := w.Type.Code
	set, _ := w.Get("attribute_set_id")
	id, _ := codec.LeadingInteger(set.String())
	r.Set("type_id", adapter.TextValue(code))
	r.Set("attribute_set_id", adapter.IntegerValue(id))
	if r.Get("special_from_date").Kind() == adapter.Absent {
		r.Set("special_from_date", adapter.NullValue())
	}
	for i := range w.Rules {
		if _, sent := w.Get(w.Rules[i].Field); !sent && w.Rules[i].Default != "" {
			r.Values[w.Rules[i].At] = adapter.TextValue(w.Rules[i].Default)
		}
	}
	input.DropUnset(r)
	return r
}

// changes returns the changes of a valid body to a product at a store view, with all derived
// changes (products 5.6). It is a pure function of current, as [adapter.UpdateParams]
// requires.
func (w *write) changes(current adapter.Record, storeID int64) adapter.Record {
	next := w.Change()
	if key := next.Get("url_key"); key.Kind() == adapter.Text {
		next.Set("url_key", w.urlKey(key.Text()))
	}
	for _, list := range w.priceLists {
		if n, sent := w.Get(list.Field); sent && n.Kind != codec.False {
			next.Values[list.At] = adapter.RecordsValue(w.priceRecords(list))
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
func (w *write) applyGiftMessageConfig(current, next adapter.Record) {
	if _, sent := w.Sent("use_config_gift_message_available"); !sent {
		return
	}
	if input.IsSet(w.Node, "use_config_gift_message_available") {
		next.Set("gift_message_available", adapter.NullValue())
	} else if isUnset(valueAfter(current, next, "gift_message_available")) {
		next.Set("gift_message_available", adapter.TextValue("0"))
	}
}

// needsURLKey reports whether a save generates the url_key from the name, which is so
// if the body holds none and the product has none. current is nil for a new product.
func (w *write) needsURLKey(current *adapter.Record) bool {
	if sent, ok := w.Get("url_key"); ok {
		return input.IsMissing(sent)
	}
	return current == nil || current.Get("url_key").Text() == ""
}

// sendsUnusableURLKey reports whether the body holds a url_key with no usable character.
func (w *write) sendsUnusableURLKey() bool {
	sent, ok := w.Sent("url_key")
	return ok && !input.IsMissing(sent) && w.urlKey(sent.String()).Kind() == adapter.Null
}

func (w *write) generateURLKey(current, next adapter.Record) {
	if w.needsURLKey(&current) || w.sendsUnusableURLKey() && !(w.Dialect.URLKeyByWebsite && w.hasNoWebsite) {
		next.Set("url_key", w.urlKey(valueAfter(current, next, "name").Text()))
	}
}

// urlKey returns the url_key for a text, or null if it has no usable character.
func (w *write) urlKey(text string) adapter.Value {
	key := w.urlKeys.Generate(text)
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
func (w *write) defaultSpecialFromDate(current, next adapter.Record, storeID int64) {
	from := next.Get("special_from_date")
	missing := from.Kind() == adapter.Null
	if storeID == defaultScope {
		missing = isUnset(valueAfter(current, next, "special_from_date"))
	}
	sent, isSent := w.Get("special_price")
	hasSpecialPrice := !current.Get("special_price").Empty()
	if isSent {
		hasSpecialPrice = input.Truthy(sent)
	}
	sentAsZero := false
	if sent, isSent := w.Sent("special_from_date"); isSent {
		sentAsZero = !input.Truthy(sent) && !input.IsEmpty(sent) && sent.Kind != codec.Struct
	}
	if missing && hasSpecialPrice && !sentAsZero {
		next.Set("special_from_date", adapter.TextValue(w.prices.StoreTime(w.now).Format(minuteFormat)))
	}
}
