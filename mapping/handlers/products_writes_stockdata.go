package handlers

import (
	"cmp"
	"math"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
)

// stockDataName is the name of stock_data in messages.
const stockDataName = "stock_data"

// productStock parses stock_data (products 7). The side effects of saving it are the same
// as for a stock item.
type productStock struct {
	*stockRules
	stockFields []stockField
}

// A stockField is a member of stock_data, with the position of its attribute in the
// schema.
type stockField struct {
	contract.Rule
	attributeIndex int
	configIndex    int // position of its use_config flag, -1 without one
}

func newProductStock(rules *stockRules, data *input.Rule) productStock {
	p := productStock{stockRules: rules}
	places := map[string]int{}
	for _, d := range data.Members {
		d.Attribute = cmp.Or(d.Attribute, d.Field)
		places[d.Field] = rules.Attribute(d.Attribute)
		p.stockFields = append(p.stockFields, stockField{Rule: d, attributeIndex: places[d.Field], configIndex: -1})
	}
	for i := range p.stockFields {
		if at, ok := places[p.stockFields[i].Config]; ok {
			p.stockFields[i].configIndex = at
		}
	}
	return p
}

// isWrongKind reports whether a list was sent in place of any value, or a boolean in
// place of a number or an option.
func isWrongKind(d *stockField, n *codec.Node) bool {
	boolean := n.Kind == codec.True || n.Kind == codec.False
	return n.Kind == codec.Struct || boolean && d.Check != contract.Flag
}

// managedByOmission reports whether stock_data leaves open whether the stock is managed,
// in a dialect where that means yes.
func (p *productStock) managedByOmission(data *codec.Node) bool {
	_, manages := input.Present(data, "manage_stock")
	_, asStore := input.Present(data, "use_config_manage_stock")
	return p.Dialect.AssumesManagedStock && !manages && !asStore
}

// newItem returns the stock item of a new product.
func (p *productStock) newItem(change stockChange) adapter.Record {
	item := p.defaultItem()
	change.IsNewProduct = true
	for i, v := range p.Apply(change, item).Values {
		if v.Kind() != adapter.Absent {
			item.Values[i] = v
		}
	}
	return item
}

// defaultItem returns the stock item of a new product without stock_data (products 7.2).
func (p *productStock) defaultItem() adapter.Record {
	item := adapter.NewRecord(p.Schema)
	for i := range p.stockFields {
		d := &p.stockFields[i]
		switch {
		case p.Schema.Attributes[d.attributeIndex].Kind == adapter.KindDecimal:
			item.Values[d.attributeIndex] = adapter.TextValue(codec.DecimalText(0))
		case d.Check == contract.Flag:
			item.Values[d.attributeIndex] = adapter.IntegerValue(1)
		default:
			item.Values[d.attributeIndex] = adapter.IntegerValue(0)
		}
	}
	item.Set("min_sale_qty", adapter.TextValue(codec.DecimalText(1)))
	item.Set("notify_stock_qty", adapter.NullValue())
	return item
}

// resetChange returns the change by an update without stock_data, in the dialects where
// that resets some flags.
func (p *productStock) resetChange() stockChange {
	change := stockChange{Values: map[int]*codec.Node{}}
	for i := range p.stockFields {
		if d := &p.stockFields[i]; d.Unmanaged && d.Check == contract.Flag {
			change.Values[d.attributeIndex] = integerNode(1)
		}
	}
	return change
}

// parse returns the changes of stock_data to the item current, which is nil for a new
// product (products 7.2, rules 1 to 5).
func (p *productStock) parse(data *codec.Node, current *adapter.Record) stockChange {
	values := map[int]*codec.Node{}
	for i := range p.stockFields {
		d := &p.stockFields[i]
		if n, sent := input.Present(data, d.Field); sent && !(d.Config != "" && input.IsSet(data, d.Config)) {
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
	return stockChange{Values: values}
}

// isManaged reports whether the save manages the stock. If stock_data leaves that open,
// an update uses the effective setting of the item and adds it to values, to be stored
// (rule 2).
func (p *productStock) isManaged(data *codec.Node, current *adapter.Record, values map[int]*codec.Node) bool {
	if input.IsSet(data, "use_config_manage_stock") {
		return p.Settings.ManageStock
	}
	if n, sent := input.Present(data, "manage_stock"); sent || current == nil {
		return sent && input.Truthy(n) || p.managedByOmission(data)
	}
	holds := current.Get("manage_stock").Int() != 0
	if current.Get("use_config_manage_stock").Int() != 0 {
		holds = p.Settings.ManageStock
	}
	values[p.Attribute("manage_stock")] = integerNode(0)
	if holds {
		values[p.Attribute("manage_stock")] = integerNode(1)
	}
	return holds || p.managedByOmission(data)
}

// setDecimalDivided determines is_decimal_divided (rule 4).
func (p *productStock) setDecimalDivided(data *codec.Node, current *adapter.Record, values map[int]*codec.Node) {
	divided := p.Attribute("is_decimal_divided")
	decimal := input.IsSet(data, "is_qty_decimal")
	if _, sent := input.Present(data, "is_qty_decimal"); !sent && !p.Dialect.DividedReset && current != nil {
		decimal = current.Get("is_qty_decimal").Int() == 1
	}
	if decimal && (!p.Dialect.DividedReset || values[divided] != nil) {
		return
	}
	values[divided] = integerNode(0)
}

// canonicalNode returns the node whose value is stored: 0 or 1 for a use_config flag; any
// other integer clamped to the range that the original stores.
func (p *productStock) canonicalNode(d *stockField, n *codec.Node) *codec.Node {
	switch {
	case d.Check == contract.Flag:
		return integerNode(input.FlagValue(n))
	case p.Schema.Attributes[d.attributeIndex].Kind == adapter.KindInteger:
		return integerNode(input.Int64(max(0, min(input.LeadingNumber(n), math.MaxUint16))))
	default:
		return n
	}
}

func integerNode(i int64) *codec.Node {
	n := codec.NumberNode(strconv.FormatInt(i, 10))
	return &n
}
