package magento1

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// groupedLink is the link_type_id of the links from a grouped product to its parts.
const groupedLink = 3

// setPartsTaxClass sets parts_tax_class_id of grouped products at the store views of each website that
// sells one of the parts. As in the original's index of prices, only parts that are enabled in the
// website's default store view count, with their tax class there.
func (b *productBatch) setPartsTaxClass(ctx context.Context) error {
	const table = "catalog_product_link"
	if there, err := b.d.conn.ColumnsOf(ctx, b.tx, table); err != nil || there == nil {
		return err
	}
	at := func(name string) string { return b.d.conn.Table(name) }
	value := func(alias string) string {
		return "IF(own_" + alias + ".value_id IS NULL, " + alias + ".value, own_" + alias + ".value)"
	}
	text := "SELECT l.product_id, w.website_id, MIN(COALESCE(" + value("tax") + ", 0)) FROM " + at(table) + " l JOIN " +
		at("catalog_product_website") + " w ON w.product_id = l.linked_product_id JOIN " +
		at("core_website") + " site ON site.website_id = w.website_id LEFT JOIN " +
		at("core_store_group") + " g ON g.group_id = site.default_group_id"
	for _, of := range []struct{ alias, code string }{{"tax", "tax_class_id"}, {"status", "status"}} {
		id := "(SELECT a.attribute_id FROM " + at("eav_attribute") + " a JOIN " + at("eav_entity_type") +
			" t ON t.entity_type_id = a.entity_type_id WHERE t.entity_type_code = 'catalog_product' AND a.attribute_code = '" + of.code + "')"
		for _, level := range []struct{ alias, store string }{{of.alias, "0"}, {"own_" + of.alias, "g.default_store_id"}} {
			text += " LEFT JOIN " + at("catalog_product_entity_int") + " " + level.alias + " ON " + level.alias + ".entity_id = l.linked_product_id AND " +
				level.alias + ".store_id = " + level.store + " AND " + level.alias + ".attribute_id = " + id
		}
	}
	text += " WHERE l.link_type_id = " + formatID(groupedLink) + " AND " + b.has("l.product_id") + " AND " + value("status") + " = 1 GROUP BY l.product_id, w.website_id"
	return b.eachRow(ctx, table, text, func(i int, r row) {
		b.aggregates[i].Record.Set("parts_tax_class_id", adapter.IntegerValue(0)) // lists show only values that replace another
		for _, store := range b.views.viewsOf[r.ID(1)] {
			b.at(i, store).Set("parts_tax_class_id", adapter.IntegerValue(r.ID(2)))
		}
	})
}

// setFixedTaxes sets the attributes of fixed product taxes, as lists in JSON, of the products whose
// attribute set has them.
func (b *productBatch) setFixedTaxes(ctx context.Context) error {
	const table = "weee_tax"
	if there, err := b.d.conn.ColumnsOf(ctx, b.tx, table); err != nil || there == nil {
		return err
	}
	schema := b.d.schemas.Of(adapter.Products)
	taxes, err := b.emptyFixedTaxes(ctx)
	if err != nil {
		return err
	}
	err = b.eachRow(ctx, table, "SELECT w.entity_id, a.attribute_code, w.website_id, w.country, w.state, w.value FROM "+b.d.conn.Table(table)+" w JOIN "+
		b.d.conn.Table("eav_attribute")+" a ON a.attribute_id = w.attribute_id AND a.frontend_input = '"+inputFixedTax+"' WHERE "+b.has("w.entity_id")+" ORDER BY w.value_id", func(i int, r row) {
		at, ok := schema.Index(b.d.conn.TextOf(r[1]))
		website := r.ID(2)
		if !ok || website != 0 && !b.isWebsite(website, table, "product "+string(r[0])) {
			return
		}
		value, problem := b.d.conn.valueOf(adapter.KindDecimal, r[5])
		if problem != "" {
			b.skip(table, "product "+string(r[0]), problem)
			return
		}
		key := fixedTaxKey{i, at}
		taxes[key] = append(taxes[key], adapter.FixedTax{Website: website, Country: b.d.conn.TextOf(r[3]), State: b.d.conn.TextOf(r[4]), Value: value.Text()})
	})
	if err != nil {
		return err
	}
	for key, list := range taxes {
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		b.aggregates[key.product].Record.Values[key.attribute] = adapter.TextValue(string(text))
	}
	return nil
}

// A fixedTaxKey is the indexes of a product of a batch and of an attribute of products.
type fixedTaxKey struct{ product, attribute int }

// emptyFixedTaxes returns empty lists for the products whose attribute set has an attribute of fixed
// product taxes.
func (b *productBatch) emptyFixedTaxes(ctx context.Context) (map[fixedTaxKey][]adapter.FixedTax, error) {
	const table = "eav_entity_attribute"
	schema, empty := b.d.schemas.Of(adapter.Products), map[fixedTaxKey][]adapter.FixedTax{}
	return empty, b.d.conn.eachIfTable(ctx, b.tx, table, "SELECT s.attribute_set_id, a.attribute_code FROM "+b.d.conn.Table(table)+" s JOIN "+
		b.d.conn.Table("eav_attribute")+" a ON a.attribute_id = s.attribute_id AND a.frontend_input = '"+inputFixedTax+"'", func(r row) error {
		at, ok := schema.Index(b.d.conn.TextOf(r[1]))
		for i := range b.aggregates {
			if ok && b.aggregates[i].Record.Get("attribute_set_id").Int() == r.ID(0) {
				empty[fixedTaxKey{i, at}] = []adapter.FixedTax{}
			}
		}
		return nil
	})
}

// setComponents sets components of composite products, and component_of of the products that they
// are composed of. A configurable or grouped product needs one component in stock, and a bundle one
// in each option that is required.
func (b *productBatch) setComponents(ctx context.Context) error {
	groups := make([]componentGroups, len(b.aggregates))
	for _, of := range []struct{ kind, table, text string }{
		{"grouped", "catalog_product_link", "SELECT t.product_id, 0, t.linked_product_id FROM " + b.d.conn.Table("catalog_product_link") +
			" t WHERE t.link_type_id = " + formatID(groupedLink) + " AND " + b.has("t.product_id") + " ORDER BY t.linked_product_id"},
		{"configurable", "catalog_product_super_link", "SELECT t.parent_id, 0, t.product_id FROM " + b.d.conn.Table("catalog_product_super_link") +
			" t WHERE " + b.has("t.parent_id") + " ORDER BY t.product_id"},
		{"bundle", "catalog_product_bundle_option", "SELECT t.parent_id, t.option_id, s.product_id FROM " + b.d.conn.Table("catalog_product_bundle_option") +
			" t LEFT JOIN " + b.d.conn.Table("catalog_product_bundle_selection") + " s ON s.option_id = t.option_id" +
			" WHERE t.required = 1 AND " + b.has("t.parent_id") + " ORDER BY t.option_id, s.product_id"},
	} {
		err := b.eachRow(ctx, of.table, of.text, func(i int, r row) {
			if b.aggregates[i].Record.Get("type_id").Text() == of.kind {
				groups[i].add(r.ID(1), r.ID(2))
			}
		})
		if err != nil {
			return err
		}
	}
	for i, g := range groups {
		kind := b.aggregates[i].Record.Get("type_id").Text()
		if len(g.order) == 0 && (kind == "grouped" || kind == "configurable") {
			g.add(0, 0)
		}
		b.setText(i, "components", g.text())
	}
	const table = "catalog_product_relation"
	composites := make([][]string, len(b.aggregates))
	err := b.eachRow(ctx, table, "SELECT child_id, parent_id FROM "+b.d.conn.Table(table)+" WHERE "+b.has("child_id")+" ORDER BY child_id, parent_id", func(i int, r row) {
		composites[i] = append(composites[i], formatID(r.ID(1)))
	})
	for i, list := range composites {
		b.setText(i, "component_of", strings.Join(list, ","))
	}
	return err
}

// setText sets an attribute of a product that the store has, unless the text is empty.
func (b *productBatch) setText(i int, attribute, text string) {
	if text != "" {
		b.aggregates[i].Record.Set(attribute, adapter.TextValue(text))
	}
}

// componentGroups are the components of a product by group, in the order in which they were added.
type componentGroups struct {
	order []int64
	ids   map[int64][]string
}

// add adds a component to a group; 0 stands for none.
func (g *componentGroups) add(group, component int64) {
	if g.ids == nil {
		g.ids = map[int64][]string{}
	}
	if g.ids[group] == nil {
		g.order = append(g.order, group)
	}
	if id := strconv.FormatInt(component, 10); !slices.Contains(g.ids[group], id) {
		g.ids[group] = append(g.ids[group], id)
	}
}

// text returns the groups as the attribute components has them.
func (g *componentGroups) text() string {
	all := make([]string, len(g.order))
	for i, group := range g.order {
		all[i] = strings.Join(g.ids[group], ",")
	}
	return strings.Join(all, " ")
}
