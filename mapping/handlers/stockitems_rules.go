package handlers

import (
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// StockSettings are the shop's stock settings. They replace the settings of an item while its
// use_config flag is set.
type StockSettings struct {
	MinQty      float64
	NotifyQty   float64
	Backorders  int64
	ManageStock bool
	// HideSoldOut: public lists leave out products that are not in stock (configurations 5).
	HideSoldOut bool
}

// stockRules validates the fields of a stock item and computes the side effects of a save
// (stock_orders 2.3).
type stockRules struct {
	*resource.Resource
	parser   *input.Parser
	Settings StockSettings
	now      func() time.Time

	// positions of attributes in the schema
	qty, minQty, useConfigMinQty          int
	backorders, useConfigBackorders       int
	notifyQty, useConfigNotifyQty         int
	isInStock, changedAuto, lowStockSince int
}

// newStockRules returns the rules of a shop for the stock items of r. now returns the current
// time.
func newStockRules(r *resource.Resource, settings StockSettings, now func() time.Time) stockRules {
	return stockRules{
		Resource: r, parser: input.NewParser(r.Dialect, r.Fields, r.Schema, nil, r.Locale), Settings: settings, now: now,
		qty:    r.Attribute("qty"),
		minQty: r.Attribute("min_qty"), useConfigMinQty: r.Attribute("use_config_min_qty"),
		backorders: r.Attribute("backorders"), useConfigBackorders: r.Attribute("use_config_backorders"),
		notifyQty: r.Attribute("notify_stock_qty"), useConfigNotifyQty: r.Attribute("use_config_notify_stock_qty"),
		isInStock: r.Attribute("is_in_stock"), changedAuto: r.Attribute("stock_status_changed_auto"),
		lowStockSince: r.Attribute("low_stock_date"),
	}
}

// A stockChange is the change that a body requests: the values of writable fields, or the
// faults that prevent it.
type stockChange struct {
	input.Body
	Values map[int]*codec.Node // by position of the attribute
	// isNewProduct reports that the item belongs to a new product. Until its next save,
	// the shop's setting does not decide when its quantity is low (products 7.2).
	IsNewProduct bool
}

// parseRecord parses the body of a single update, which holds only writable fields.
func (rules *stockRules) parseRecord(body *codec.Node) stockChange {
	change := rules.newChange(body)
	for i := range body.Members {
		m := &body.Members[i]
		if m.Key == "item_id" && rules.Dialect.EmptyValues && m.Value.Kind == codec.Struct {
			change.Add(contract.ItemIDInvalid)
			continue
		}
		rules.parseField(&change, m)
	}
	return change
}

// parseBatchEntry parses one entry of a batch update, except its item_id.
func (rules *stockRules) parseBatchEntry(entry *codec.Node) stockChange {
	change := rules.newChange(entry)
	for i := range entry.Members {
		if m := &entry.Members[i]; m.Key != "item_id" {
			rules.parseField(&change, m)
		}
	}
	return change
}

// newChange checks the required fields.
func (rules *stockRules) newChange(body *codec.Node) stockChange {
	change := stockChange{Body: input.Body{Parser: rules.parser, Node: body}, Values: make(map[int]*codec.Node, len(body.Members))}
	if !rules.Dialect.PartialUpdates {
		change.CheckDemanded()
	}
	return change
}

// parseField checks one member and adds its value or its faults to change.
func (rules *stockRules) parseField(change *stockChange, m *codec.Member) {
	at, known := rules.Fields.Index(m.Key)
	if !known {
		return
	}
	field := &rules.Fields.Fields[at]
	readOnly := field.Write == 0
	if readOnly && !field.RejectsEmpty {
		return
	}
	if rules.Dialect.EmptyValues && input.IsEmpty(&m.Value) {
		change.Add(contract.EmptyValue, field.Name)
		return
	}
	if readOnly || field.Name == rules.Schema.Key {
		return
	}
	change.CheckAll(field.Name, &m.Value)
	change.Values[rules.Attributes[at]] = &m.Value
}

// Apply returns the values that a save writes over current, including its side effects.
func (rules *stockRules) Apply(change stockChange, current adapter.Record) adapter.Record {
	next := adapter.NewRecord(current.Schema)
	if rules.Dialect.OwnRecords && len(change.Values) == 0 && !change.IsNewProduct {
		return next
	}
	for at, node := range change.Values {
		next.Values[at] = change.stored(&current.Schema.Attributes[at], node)
	}
	level := stockLevel{rules: rules, change: change, current: current}
	next.Values[rules.changedAuto] = adapter.IntegerValue(0)
	if level.backorders() == 0 && level.isOutOfStock() {
		next.Values[rules.isInStock] = adapter.IntegerValue(0)
		next.Values[rules.changedAuto] = adapter.IntegerValue(1)
	}
	next.Values[rules.lowStockSince] = adapter.NullValue()
	if level.isLow() {
		next.Values[rules.lowStockSince] = adapter.TextValue(rules.now().UTC().Format(time.DateTime))
	}
	return next
}

// stored returns the value that a node stores. A change that comes with a product has no rules, and its
// nulls store 0.
func (change *stockChange) stored(a *adapter.Attribute, node *codec.Node) adapter.Value {
	if node.Kind == codec.Null && change.Parser != nil {
		if rule := change.Rule(a.Name); rule != nil && rule.Check.AcceptsNull() {
			return nullValue(a.Kind, rule.Null)
		}
	}
	if a.Kind == adapter.KindDecimal {
		return input.Decimal(parseDecimal(node))
	}
	return adapter.IntegerValue(parseFlag(node))
}

// parseDecimal returns the number that a value of a decimal field is stored as. In a
// text, spaces and apostrophes group digits; the last comma or point is the decimal
// separator, and so is a comma alone.
func parseDecimal(n *codec.Node) float64 {
	switch n.Kind {
	case codec.Number:
		return input.NumberLiteral(n)
	case codec.True:
		return 1
	}
	text := strings.NewReplacer(" ", "", "'", "").Replace(n.Text)
	comma, point := strings.IndexByte(text, ','), strings.IndexByte(text, '.')
	switch {
	case comma >= 0 && point >= 0 && comma > point:
		text = strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", ".")
	case comma >= 0 && point >= 0:
		text = strings.ReplaceAll(text, ",", "")
	case comma >= 0:
		text = strings.ReplaceAll(text, ",", ".")
	}
	return codec.LeadingNumber(text)
}

// parseFlag returns the number that a flag is stored as. A comma is 0.
func parseFlag(n *codec.Node) int64 {
	i, _ := strconv.ParseInt(strings.TrimSuffix(n.String(), "\n"), 10, 64)
	return i
}

// A stockLevel computes the side effects of a save from the values that the item will
// have, before they are rounded for storage.
type stockLevel struct {
	rules   *stockRules
	change  stockChange
	current adapter.Record
}

// isOutOfStock reports whether the quantity has reached the out-of-stock threshold.
func (l stockLevel) isOutOfStock() bool {
	limit := l.rules.Settings.MinQty
	if !l.flag(l.rules.useConfigMinQty) {
		limit = l.amount(l.rules.minQty)
	}
	if sent, ok := l.change.Values[l.rules.qty]; ok && l.rules.Dialect.TextComparison && sent.Kind == codec.Text {
		if _, plain := codec.ParseNumber(sent.Text); !plain {
			return sent.Text <= codec.NumberText(limit)
		}
	}
	return l.amount(l.rules.qty) <= limit
}

// isLow reports whether the quantity is below the notification threshold.
func (l stockLevel) isLow() bool {
	limit := l.rules.Settings.NotifyQty
	if l.change.IsNewProduct || !l.flag(l.rules.useConfigNotifyQty) {
		limit = l.amount(l.rules.notifyQty)
	}
	return l.amount(l.rules.qty) < limit
}

// backorders returns the effective backorders setting.
func (l stockLevel) backorders() int64 {
	if l.flag(l.rules.useConfigBackorders) {
		return l.rules.Settings.Backorders
	}
	return l.integer(l.rules.backorders)
}

// flag reports whether a flag will be set; at is the position of its attribute.
func (l stockLevel) flag(at int) bool { return l.integer(at) != 0 }

// integer returns the value that an integer attribute will have.
func (l stockLevel) integer(at int) int64 {
	if sent, ok := l.change.Values[at]; ok {
		return parseFlag(sent)
	}
	return l.current.Values[at].Int()
}

// amount returns the value that a decimal attribute will have.
func (l stockLevel) amount(at int) float64 {
	sent, ok := l.change.Values[at]
	switch {
	case !ok:
		return codec.LeadingNumber(l.current.Values[at].Text())
	case l.rules.Dialect.TextComparison && sent.Kind == codec.Text:
		return codec.LeadingNumber(sent.Text)
	default:
		return parseDecimal(sent)
	}
}

// nullValue returns the value of a kind that a null stores: a number, or null for "" (openmage 1).
func nullValue(kind adapter.Kind, number string) adapter.Value {
	switch {
	case number == "":
		return adapter.NullValue()
	case kind == adapter.KindDecimal:
		return input.Decimal(codec.LeadingNumber(number))
	}
	return adapter.IntegerValue(int64(codec.LeadingNumber(number)))
}
