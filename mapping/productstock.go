package mapping

import (
	"math"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// stockDataName is the name of stock_data in messages.
const stockDataName = "stock_data"

// productStock parses stock_data (products 7). The side effects of saving it are those of
// a stock item.
type productStock struct {
	*stockRules
	stockFields []stockField
}

// A stockField is a member of stock_data, with the position of its attribute in the
// schema.
type stockField struct {
	contract.StockDatum
	attributeIndex int
	configIndex    int // position of its use_config flag, -1 without one
}

func newProductStock(rules *stockRules) productStock {
	p := productStock{stockRules: rules}
	places := map[string]int{}
	for _, d := range contract.StockData() {
		if d.Attribute == "" {
			d.Attribute = d.Field
		}
		places[d.Field] = rules.attribute(d.Attribute)
		p.stockFields = append(p.stockFields, stockField{StockDatum: d, attributeIndex: places[d.Field], configIndex: -1})
	}
	for i := range p.stockFields {
		if at, ok := places[p.stockFields[i].Config]; ok {
			p.stockFields[i].configIndex = at
		}
	}
	return p
}

// checkStock checks the members of stock_data that were sent (products 7.1).
func (w *productWrite) checkStock() {
	data, sent := w.sentValue(stockDataName)
	if !sent {
		return
	}
	p := &w.stock
	managed := isFlagSet(data, "manage_stock")
	if isFlagSet(data, "use_config_manage_stock") {
		managed = p.settings.ManageStock
	}
	managed = managed || w.current == nil && p.managedByOmission(data)
	for i := range p.stockFields {
		d := &p.stockFields[i]
		n, sent := presentMember(data, d.Field)
		switch {
		case sent && w.dialect.RejectsNonScalars && isWrongKind(d, n):
			if d.Fault == 0 {
				w.addFault(contract.ValueOfOtherKind, d.Field)
			} else {
				w.addFault(d.Fault, d.Field, stockDataName)
			}
		case !sent, !managed && !d.Unmanaged, d.If != "" && !isFlagSet(data, d.If), d.Config != "" && isFlagSet(data, d.Config):
		case !w.satisfies(&d.SetRule, n):
			w.addFault(d.Fault, d.Field, stockDataName)
		}
	}
}

// isWrongKind reports whether a list was sent in place of any value, or a boolean in
// place of a number or an option.
func isWrongKind(d *stockField, n *codec.Node) bool {
	boolean := n.Kind == codec.True || n.Kind == codec.False
	return n.Kind == codec.Struct || boolean && d.Check != contract.Unchecked
}

// managedByOmission reports whether stock_data does not say whether the stock is managed,
// in a dialect where that means yes.
func (p *productStock) managedByOmission(data *codec.Node) bool {
	_, manages := presentMember(data, "manage_stock")
	_, asStore := presentMember(data, "use_config_manage_stock")
	return p.dialect.AssumesManagedStock && !manages && !asStore
}

// changesStock reports whether an update of the product can change its stock item.
func (w *productWrite) changesStock() bool {
	data, sent := w.sentValue(stockDataName)
	return sent && len(data.Members) > 0 || w.dialect.StockReset
}

// stockItem returns what a save of the product changes in its stock item. ok is false if
// nothing changes.
func (w *productWrite) stockItem(product adapter.Record) (item adapter.Record, ok bool) {
	p := &w.stock
	var current *adapter.Record
	if items := product.Get("stock_item").Records(); len(items) > 0 {
		current = &items[0]
	}
	data, sent := w.sentValue(stockDataName)
	switch {
	case w.current == nil && sent && len(data.Members) > 0:
		return p.newItem(p.parse(data, nil)), true
	case w.current == nil:
		return p.newItem(stockChange{}), true
	case current == nil || !w.changesStock():
		return adapter.Record{}, false
	case !sent:
		return p.apply(p.resetChange(), *current), true
	default:
		return p.apply(p.parse(data, current), *current), true
	}
}

// newItem returns the stock item of a new product.
func (p *productStock) newItem(change stockChange) adapter.Record {
	item := p.defaultItem()
	change.isNewProduct = true
	for i, v := range p.apply(change, item).Values {
		if v.Kind() != adapter.Absent {
			item.Values[i] = v
		}
	}
	return item
}

// defaultItem returns the stock item of a new product without stock_data (products 7.2).
func (p *productStock) defaultItem() adapter.Record {
	item := adapter.NewRecord(p.schema)
	for i := range p.stockFields {
		d := &p.stockFields[i]
		switch {
		case p.schema.Attributes[d.attributeIndex].Kind == adapter.KindDecimal:
			item.Values[d.attributeIndex] = adapter.TextValue(numeric.Decimal(0))
		case d.Check == contract.Unchecked:
			item.Values[d.attributeIndex] = adapter.IntegerValue(1)
		default:
			item.Values[d.attributeIndex] = adapter.IntegerValue(0)
		}
	}
	item.Set("min_sale_qty", adapter.TextValue(numeric.Decimal(1)))
	item.Set("notify_stock_qty", adapter.NullValue())
	return item
}

// resetChange returns the change by an update without stock_data, in the dialects where
// that resets some flags.
func (p *productStock) resetChange() stockChange {
	change := stockChange{values: map[int]*codec.Node{}}
	for i := range p.stockFields {
		if d := &p.stockFields[i]; d.Unmanaged && d.Check == contract.Unchecked {
			change.values[d.attributeIndex] = integerNode(1)
		}
	}
	return change
}

// parse returns what stock_data changes in the item current, which is nil for a new
// product (products 7.2, rules 1 to 5).
func (p *productStock) parse(data *codec.Node, current *adapter.Record) stockChange {
	values := map[int]*codec.Node{}
	for i := range p.stockFields {
		d := &p.stockFields[i]
		if n, sent := presentMember(data, d.Field); sent && !(d.Config != "" && isFlagSet(data, d.Config)) {
			values[d.attributeIndex] = p.canonicalNode(d, n)
		}
	}
	managed := p.isManaged(data, current, values)
	for i := range p.stockFields {
		if d := &p.stockFields[i]; !managed && !d.Unmanaged {
			delete(values, d.attributeIndex)
		}
	}
	if managed && len(data.Members) > 0 {
		p.setDecimalDivided(data, current, values)
	}
	for i := range p.stockFields {
		d := &p.stockFields[i]
		if _, stored := values[d.attributeIndex]; stored && d.configIndex >= 0 && !d.KeepsConfig && values[d.configIndex] == nil {
			values[d.configIndex] = integerNode(0)
		}
	}
	return stockChange{values: values}
}

// isManaged reports whether the save manages the stock. If stock_data does not say so, an
// update takes over the effective setting of the item and adds it to values, to be stored
// (rule 2).
func (p *productStock) isManaged(data *codec.Node, current *adapter.Record, values map[int]*codec.Node) bool {
	if isFlagSet(data, "use_config_manage_stock") {
		return p.settings.ManageStock
	}
	if n, sent := presentMember(data, "manage_stock"); sent || current == nil {
		return sent && truthy(n) || p.managedByOmission(data)
	}
	holds := current.Get("manage_stock").Int() != 0
	if current.Get("use_config_manage_stock").Int() != 0 {
		holds = p.settings.ManageStock
	}
	values[p.attribute("manage_stock")] = integerNode(0)
	if holds {
		values[p.attribute("manage_stock")] = integerNode(1)
	}
	return holds || p.managedByOmission(data)
}

// setDecimalDivided determines is_decimal_divided (rule 4).
func (p *productStock) setDecimalDivided(data *codec.Node, current *adapter.Record, values map[int]*codec.Node) {
	divided := p.attribute("is_decimal_divided")
	decimal := isFlagSet(data, "is_qty_decimal")
	if _, sent := presentMember(data, "is_qty_decimal"); !sent && !p.dialect.DividedReset && current != nil {
		decimal = current.Get("is_qty_decimal").Int() == 1
	}
	if decimal && (!p.dialect.DividedReset || values[divided] != nil) {
		return
	}
	values[divided] = integerNode(0)
}

// canonicalNode returns the node whose value is stored: 0 or 1 for a use_config flag; any
// other integer clamped to the range that the original stores.
func (p *productStock) canonicalNode(d *stockField, n *codec.Node) *codec.Node {
	switch {
	case d.Check == contract.Unchecked:
		return integerNode(flagValue(n))
	case p.schema.Attributes[d.attributeIndex].Kind == adapter.KindInteger:
		return integerNode(toInt64(max(0, min(leadingNumber(n), math.MaxUint16))))
	default:
		return n
	}
}

func integerNode(i int64) *codec.Node {
	n := codec.NumberNode(strconv.FormatInt(i, 10))
	return &n
}
