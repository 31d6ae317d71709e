package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// The kinds of rows in the statement that reads the parts of products.
const (
	tierPart = iota
	valuePart
	groupPart
	defaultPart
	rulePart
)

// AddParts sets the values at the store view of p, the added attributes, and the
// requested prices, pointers to images and stock items of the records.
func (s products) AddParts(ctx context.Context, query engine.QueryFunc, records []adapter.Record, wanted recordParts, p *adapter.ListParams) error {
	for len(records) > 0 {
		n := min(partsBatch, len(records))
		if s.hasParts(&wanted, p.StoreID) {
			if err := s.addPartsBatch(ctx, query, records[:n], wanted, p); err != nil {
				return err
			}
		}
		if wanted.pointers {
			if err := s.addPointers(ctx, query, records[:n], imageLevel(p)); err != nil {
				return err
			}
		}
		if wanted.StockItem {
			if err := s.AddStock(ctx, query, records[:n], ""); err != nil {
				return err
			}
		}
		records = records[n:]
	}
	return nil
}

// addPartsBatch is AddParts, without stock items, for at most partsBatch records.
func (s products) addPartsBatch(ctx context.Context, query engine.QueryFunc, records []adapter.Record, wanted recordParts, p *adapter.ListParams) error {
	byID := make(map[int64]*adapter.Record, len(records))
	ids := make([]any, 0, partsBatch)
	key, _ := s.Table.Schema.Index(s.Table.Schema.Key)
	for i := range records {
		id := records[i].Values[key].Int()
		byID[id] = &records[i]
		ids = append(ids, id)
		for _, list := range []struct {
			wanted bool
			at     int
		}{{wanted.groupPrices, s.groupPrice}, {wanted.tierPrices, s.tierPrice}, {wanted.rulePrices, s.rulePrice}} {
			if list.wanted {
				records[i].Values[list.at] = adapter.RecordsValue(nil)
			}
		}
	}
	var text string
	var arguments []any
	if wanted.inlined != nil {
		query = wanted.inlined.Query
	} else {
		text, arguments = s.partsStatement(ids, wanted, p)
	}
	var part productPart
	cells := part.cells(wanted.rulePrices)
	var overrides []override // set when all values of the default scope are known
	err := engine.EachRow(ctx, query, func(rows engine.Rows) error {
		if err := rows.Scan(cells...); err != nil {
			return err
		}
		r, ok := byID[part.product]
		if !ok { // a range of products may hold others
			return nil
		}
		if part.kind == valuePart && p.OverridesOnly {
			overrides = append(overrides, override{r, part.attribute.String, part.value})
			return nil
		}
		return s.addPart(r, &part, p)
	}, text, arguments...)
	if err != nil {
		return err
	}
	for _, o := range overrides {
		if err := s.setOwn(o.record, o.attribute, o.value, p); err != nil {
			return err
		}
	}
	for i := range records {
		for _, at := range []int{s.groupPrice, s.tierPrice, s.rulePrice} {
			slices.SortFunc(records[i].Values[at].Records(), compareKeys)
		}
	}
	return nil
}

// hasParts reports whether a call asks for anything that a parts statement reads.
func (s products) hasParts(wanted *recordParts, store int64) bool {
	return store != 0 || s.Table.Added || wanted.prices()
}

// A partsKey holds everything that determines the text of a parts statement.
type partsKey struct {
	ids                                                int  // number of arguments with ids, or inRange or inlined
	rulePrices, tierPrices, groupPrices, values, buyer bool // buyer: prices for one buyer
}

// Values of partsKey.ids without a list of ids.
const (
	inRange = 0  // all products from one id to another
	inlined = -1 // the product in the row of the outer statement
)

// newPartsKey returns the key of the parts statement for a call; ids is as in partsKey.
func newPartsKey(ids int, wanted recordParts, p *adapter.ListParams) partsKey {
	return partsKey{ids, wanted.rulePrices, wanted.tierPrices, wanted.groupPrices, p.StoreID != 0, p.Buyer != nil && wanted.prices()}
}

// arguments returns the arguments of the statement; products are the ids, or the ends of the range, or none.
func (k partsKey) arguments(products []any, p *adapter.ListParams, added bool) []any {
	all := make([]any, 0, 5*len(products)+7)
	for _, branch := range []bool{k.rulePrices, k.tierPrices, k.groupPrices} {
		if !branch {
			continue
		}
		if all = append(all, products...); k.buyer {
			all = append(all, p.Buyer.WebsiteID, p.Buyer.Group)
		}
	}
	if k.values {
		all = append(append(all, products...), p.StoreID)
	}
	if added {
		all = append(all, products...)
	}
	return all
}

// partsStatement returns the statement that reads the parts of the products ids, and its arguments. It caches the
// texts: there are few, and building one costs about as much as running it.
func (s products) partsStatement(ids []any, wanted recordParts, p *adapter.ListParams) (text string, arguments []any) {
	products, found := rangeOf(ids), inRange
	if products == nil {
		products = s.db.Engine.IDArguments(ids)
		found = len(products)
	}
	shape := newPartsKey(found, wanted, p)
	arguments = shape.arguments(products, p, s.Table.Added)
	if known, ok := s.db.ReadStatements.LookupBuilt(shape); ok {
		return known.Text, arguments
	}
	text, _ = s.partsBuilder(shape, p).Build()
	s.db.ReadStatements.AddBuilt(shape, engine.Built{Text: text})
	return text, arguments
}

// rangeOf returns the first and the last of some ids if most ids between them are among them, as on most
// pages, and otherwise nil. Reading a range takes a third of the time of a list of ids, for which SQLite makes a
// table in each branch. The parts of other products in the range are left out when they have been read.
func rangeOf(ids []any) []any {
	if len(ids) < 3 {
		return nil
	}
	first, last := ids[0].(int64), ids[0].(int64)
	for _, id := range ids {
		first, last = min(first, id.(int64)), max(last, id.(int64))
	}
	if last-first >= 2*int64(len(ids)) {
		return nil
	}
	return []any{first, last}
}

// compareKeys sorts records as they were stored. For a few prices that is faster than sorting in SQLite.
func compareKeys(a, b adapter.Record) int { return cmp.Compare(a.Key(), b.Key()) }

// partsBuilder returns the builder of a parts statement for the store view and the buyer of p. The branches with prices
// come first, since they fill most columns: some engines derive the types of the columns from the first branches, and
// would treat columns of NULL as texts. Only statements with prices of rules have the column of their days.
func (s products) partsBuilder(shape partsKey, p *adapter.ListParams) sqlbuilder.Builder {
	// The plus signs keep SQLite from looking the lists up in an index, for which it would make a table of each.
	ofBuyerOrAll := "+website_id IN (0, %s) AND +cust_group IN (%s, " + strconv.Itoa(adapter.AllGroupsID) + ")"
	var branches []sqlbuilder.Builder
	for _, b := range []struct {
		wanted               bool
		part                 int
		table, buyer, values string
	}{
		{shape.rulePrices, rulePart, "product_rule_price", "website_id = %s AND cust_group = %s", "NULL, NULL, rule_price_id AS value_id, website_id, cust_group, price, NULL AS price_qty, rule_date"},
		{shape.tierPrices, tierPart, "product_tier_price", ofBuyerOrAll, "NULL, NULL, value_id, website_id, cust_group, price, price_qty"},
		{shape.groupPrices, groupPart, "product_group_price", ofBuyerOrAll, "NULL, NULL, value_id, website_id, cust_group, price, NULL"},
		{shape.values, valuePart, "product_value", "", "attribute, value, NULL AS value_id, NULL, NULL, NULL, NULL"},
		{s.Table.Added, defaultPart, s.Table.Values.Name, "", "attribute, value, NULL AS value_id, NULL, NULL, NULL, NULL"},
	} {
		if !b.wanted {
			continue
		}
		sb := s.db.Engine.Flavor.NewSelectBuilder()
		sb.Select(strconv.Itoa(b.part)+" AS part", "product_id", b.values).From(b.table)
		if shape.rulePrices && b.part != rulePart {
			sb.SelectMore("NULL AS rule_date")
		}
		switch shape.ids {
		case inRange:
			sb.Where(sb.Between("product_id", nil, nil))
		case inlined:
			sb.Where("product_id = " + s.Table.KeyColumn())
		default:
			sb.Where(s.db.Engine.Among(sb, "product_id", make([]any, shape.ids)))
		}
		switch {
		case b.part == valuePart:
			sb.Where(sb.Equal("store_id", p.StoreID))
		case shape.buyer && b.buyer != "":
			sb.Where(fmt.Sprintf(b.buyer, sb.Var(p.Buyer.WebsiteID), sb.Var(p.Buyer.Group)))
		}
		branches = append(branches, sb)
	}
	if len(branches) == 1 {
		return branches[0]
	}
	return s.db.Engine.Flavor.NewUnionBuilder().UnionAll(branches...)
}

// A productPart is one row of the parts statement: a value or a price.
type productPart struct {
	kind               int
	product            int64
	attribute, value   sql.NullString
	id, website, group sql.NullInt64
	price, qty, day    adapter.Value
}

// cells returns the destinations of the columns of a parts statement; withDay is set for a statement
// with prices of rules.
func (p *productPart) cells(withDay bool) []any {
	cells := []any{&p.kind, &p.product, &p.attribute, &p.value, &p.id, &p.website, &p.group,
		engine.NewCell(adapter.KindDecimal, &p.price), engine.NewCell(adapter.KindDecimal, &p.qty)}
	if withDay {
		cells = append(cells, engine.NewCell(adapter.KindTime, &p.day))
	}
	return cells
}

// addPart adds a part to its product.
func (s products) addPart(r *adapter.Record, part *productPart, p *adapter.ListParams) error {
	switch part.kind {
	case tierPart:
		s.addPrice(r, s.tierPrice, part).Set("price_qty", part.qty)
	case groupPart:
		s.addPrice(r, s.groupPrice, part)
	case rulePart:
		s.addPrice(r, s.rulePrice, part).Set("rule_date", part.day)
	case defaultPart:
		return s.Table.SetAdded(*r, part.attribute.String, part.value)
	default:
		return s.setOwn(r, part.attribute.String, part.value, p)
	}
	return nil
}

// An override is the value of a product at a store view.
type override struct {
	record    *adapter.Record
	attribute string
	value     sql.NullString
}

// setOwn sets a value of the store view.
func (s products) setOwn(r *adapter.Record, attribute string, stored sql.NullString, p *adapter.ListParams) error {
	at, ok := s.Table.Schema.Index(attribute)
	if !ok || !hasLevels(&s.Table.Schema.Attributes[at]) {
		return nil // the attribute is no longer configured
	}
	reads := p.Reads(&s.Table.Schema.Attributes[at])
	if reads == adapter.ReadsNone || reads == adapter.ReadsOverrides && r.Values[at].Kind() == adapter.Absent {
		return nil
	}
	v, err := engine.ScopedValue(s.Table.Schema.Attributes[at].Kind, stored)
	if err != nil {
		return fmt.Errorf("%s of product %d: %w", attribute, r.Key(), err)
	}
	r.Values[at] = v
	return nil
}

func (s products) addPrice(r *adapter.Record, at int, part *productPart) adapter.Record {
	price := adapter.NewRecord(s.Table.Schema.Attributes[at].Nested)
	price.Set(price.Schema.Key, adapter.IntegerValue(part.id.Int64))
	price.Set("website_id", adapter.IntegerValue(part.website.Int64))
	price.Set("cust_group", adapter.IntegerValue(part.group.Int64))
	price.Set("price", part.price)
	r.Values[at] = adapter.RecordsValue(append(r.Values[at].Records(), price))
	return price
}
