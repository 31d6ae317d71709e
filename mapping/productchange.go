package mapping

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// defaultScope is the level of values that hold where a store view has none.
const defaultScope = 0

// created returns the new product the body describes.
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

// changed returns what a checked body changes of a product at a level, with all
// that follows from it (products 5.6). It depends on nothing but current.
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

// value returns what a checked value is stored as (products 4 and 5.2): false
// takes away what the scope has of its own, and a list in place of a text stores
// nothing.
func (w *productWrite) storedValue(rule *productRule, n *codec.Node) adapter.Value {
	switch {
	case n.Kind == codec.Struct:
		return adapter.Value{}
	case n.Kind == codec.False:
		return adapter.UnsetValue()
	case isMissing(n), rule.Check == contract.Moment && !truthy(n):
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

// cutText cuts a text to what is stored of it.
func truncateForRule(text string, rule *contract.ProductRule) string {
	if rule.Characters > 0 {
		text = truncateRunes(text, rule.Characters)
	}
	if rule.Bytes > 0 {
		text = truncateBytes(text, rule.Bytes)
	}
	return text
}

// after returns a value as it will be.
func valueAfter(current, next adapter.Record, name string) adapter.Value {
	if v := next.Get(name); v.Kind() != adapter.Absent {
		return v
	}
	return current.Get(name)
}

// hasNone reports whether nothing is stored.
func isUnset(v adapter.Value) bool { return v.Empty() || v.Kind() == adapter.Unset }

// switchGiftMessage lets the store's setting take the place of
// gift_message_available, or ends that.
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

// makesURLKey reports whether the save of a product, nil for a new one, makes its
// url_key of its name: where none is sent and none is there.
func (w *productWrite) generatesURLKey(current *adapter.Record) bool {
	if sent, ok := w.body.Get("url_key"); ok {
		return isMissing(sent)
	}
	return current == nil || current.Get("url_key").Text() == ""
}

// sendsNoURLKey reports whether the url_key that is sent is a text of which nothing is
// left.
func (w *productWrite) sendsUnusableURLKey() bool {
	sent, ok := w.sentValue("url_key")
	return ok && !isMissing(sent) && w.urlKey(sent.String()).Kind() == adapter.Null
}

func (w *productWrite) generateURLKey(current, next adapter.Record) {
	if w.generatesURLKey(&current) || w.sendsUnusableURLKey() && !(w.dialect.URLKeyByWebsite && w.hasNoWebsite) {
		next.Set("url_key", w.urlKey(valueAfter(current, next, "name").Text()))
	}
}

// urlKey returns the url_key made of a text; one that gives none is stored as
// nothing.
func (w *productWrite) urlKey(text string) adapter.Value {
	key := w.urlKeys.generate(text)
	if key == "" {
		return adapter.NullValue()
	}
	return adapter.TextValue(key)
}

// toTheMinute is time.DateTime without the seconds.
const minuteFormat = "2006-01-02 15:04:00"

// beginSpecialPrice lets a special price begin now where nothing says when: in
// the default scope at every save, elsewhere when the beginning is taken away. A
// zero that is sent is no price to it yet, and one or false for the beginning no lack
// of it.
func (w *productWrite) defaultSpecialFromDate(current, next adapter.Record, storeID int64) {
	begins := next.Get("special_from_date")
	open := begins.Kind() == adapter.Null
	if storeID == defaultScope {
		open = isUnset(valueAfter(current, next, "special_from_date"))
	}
	sent, isSent := w.body.Get("special_price")
	priced := !current.Get("special_price").Empty()
	if isSent {
		priced = truthy(sent)
	}
	zero := false
	if sent, isSent := w.sentValue("special_from_date"); isSent {
		zero = !truthy(sent) && !isEmptyValue(sent) && sent.Kind != codec.Struct
	}
	if open && priced && !zero {
		next.Set("special_from_date", adapter.TextValue(w.settings.storeTime(w.now).Format(minuteFormat)))
	}
}
