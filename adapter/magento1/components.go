package magento1

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

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
