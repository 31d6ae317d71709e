package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// RangeSize is the number of ids that a caller of Digests should ask for at a time.
const RangeSize = 1000

// Digests returns one text for everything from which Records makes the records of a part
// with keys in (after, through]: if it is the same as before, so are the records, as long
// as no checksum of 32 bits collides. The server computes it, in one statement. It covers
// the rows of all tables of the part, and the store views and attributes on which all
// records of it depend, but not the time of customers' last log-in. Of parts that
// RecordsBetween always reads as a whole it covers everything, whatever the keys are.
func (d *Database) Digests(ctx context.Context, p Part, after, through adapter.Key) (digest string, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		statement, err := digester{d}.statement(ctx, tx, p)
		if err != nil {
			return err
		}
		return d.conn.Each(ctx, tx, statement(int64(max(after, 0)), int64(through)), func(r row) error {
			digest = string(r[0])
			d.conn.rows += rowsOf(digest) // which the server has read and not sent
			return nil
		})
	})
	return digest, err
}

// rowsOf returns the number of rows from which a digest was computed: reading them counts
// towards Options.Rate as if the server had sent them.
func rowsOf(digest string) (rows int) {
	for source := range strings.SplitSeq(digest, "/") {
		count, _, _ := strings.Cut(source, ".")
		n, _ := strconv.Atoi(count) // digest has made it
		rows += n
	}
	return rows
}

// A rangeStatement returns a statement for the records with ids in (after, last].
type rangeStatement func(after, last int64) string

// A digester knows from which tables the records of each part are made.
type digester struct{ d *Database }

// statement returns the statement for a part. It is made once, so that each range
// takes one statement.
func (g digester) statement(ctx context.Context, tx *sql.Tx, p Part) (rangeStatement, error) {
	if known, ok := g.d.digests[p]; ok {
		return known, nil
	}
	parts := map[Part]func(context.Context, *sql.Tx) ([]digestSource, error){
		Websites: websiteSources, Directory: wholeSources("directory_country", "directory_country_region", "eav_attribute_option", "eav_attribute_option_value"),
		CustomerGroups: wholeSources("customer_group"), Taxes: wholeSources("tax_calculation", "tax_calculation_rate", "tax_calculation_rule", "directory_country_region"),
		Categories: g.categorySources, Products: g.productSources, Images: g.imageSources, Stock: g.stockSources,
		Customers: g.customerSources, Addresses: g.addressSources, Orders: g.orderSources,
	}
	list, ok := parts[p]
	if !ok {
		return nil, fmt.Errorf("a shop has no part %q", p)
	}
	sources, err := list(ctx, tx)
	if err != nil {
		return nil, err
	}
	if sources, err = g.existing(ctx, tx, sources); err != nil {
		return nil, err
	}
	statement := func(after, last int64) string {
		digests := make([]string, len(sources))
		for i, s := range sources {
			digests[i] = s.digest(g.d.conn, after, last)
		}
		return "SELECT CONCAT_WS('/', " + strings.Join(digests, ", ") + ")"
	}
	g.d.digests[p] = statement
	return statement, nil
}

// A digestSource is a table from which records are made.
type digestSource struct {
	table   string   // without the prefix; its alias is t
	ids     []string // SQL expressions that are integers and never NULL
	columns []string // other expressions; without these and ids, all columns
	join    string   // further tables, with their conditions
	needs   string   // the one of these that may be missing, so that there are no rows; "" for none
	key     string   // the column that holds the id of the record; "" if all records depend on all rows
	where   string   // a further condition; "" for none
}

// existing returns the sources whose tables exist, with their columns.
func (g digester) existing(ctx context.Context, tx *sql.Tx, all []digestSource) (there []digestSource, err error) {
	for _, s := range all {
		columns, err := g.d.conn.ColumnsOf(ctx, tx, s.table)
		if err != nil {
			return nil, err
		}
		if s.needs != "" && columns != nil {
			needed, err := g.d.conn.ColumnsOf(ctx, tx, s.needs)
			if err != nil {
				return nil, err
			}
			if needed == nil {
				columns = nil
			}
		}
		if columns == nil {
			continue
		}
		if s.columns == nil && s.ids == nil {
			for _, name := range slices.Sorted(maps.Keys(columns)) {
				s.columns = append(s.columns, "t."+quoteName(name))
			}
		}
		there = append(there, s)
	}
	return there, nil
}

// digest returns an expression for the number of rows and the sum of their checksums. QUOTE
// tells NULL from texts, and one column from the next. A single column behind ids needs none:
// NULL lacks the comma before it.
func (s digestSource) digest(conn *connection, after, last int64) string {
	columns := slices.Clone(s.ids)
	for _, column := range s.columns {
		if len(s.columns) > 1 || len(s.ids) == 0 {
			column = "QUOTE(" + column + ")"
		}
		columns = append(columns, column)
	}
	text := "(SELECT CONCAT(COUNT(*), '.', COALESCE(SUM(CRC32(CONCAT_WS(',', " + strings.Join(columns, ", ") + "))), 0)) FROM " + conn.Table(s.table) + " t " + s.join
	var conditions []string
	if s.key != "" {
		conditions = append(conditions, between(s.key, after, last))
	}
	if s.where != "" {
		conditions = append(conditions, s.where)
	}
	if len(conditions) > 0 {
		text += " WHERE " + strings.Join(conditions, " AND ")
	}
	return text + ")"
}

// wholeSources returns the sources of a part all of whose records are made from all rows.
func wholeSources(tables ...string) func(context.Context, *sql.Tx) ([]digestSource, error) {
	return func(context.Context, *sql.Tx) (all []digestSource, err error) {
		for _, table := range tables {
			all = append(all, digestSource{table: table})
		}
		return all, nil
	}
}

// websiteSources returns the sources of the websites and store views.
func websiteSources(ctx context.Context, tx *sql.Tx) ([]digestSource, error) {
	all, err := wholeSources("core_website", "core_store_group", "core_store", "directory_currency_rate")(ctx, tx)
	return append(all, digestSource{
		table: "core_config_data", columns: []string{"t.scope", "t.scope_id", "t.path", "t.value"},
		where: "t.path IN ('" + strings.Join(append(taxPaths(), pathTimezone, pathCurrency), "', '") + "')",
	}), err
}

// source returns the source of the rows of a reader. key is the column of the record's id.
func (s *tableReader) source(key string) digestSource {
	source := digestSource{table: s.table, key: "t." + key}
	for _, column := range s.columns {
		source.columns = append(source.columns, "t."+column)
	}
	return source
}

// digestSources returns the sources of the values that an eavReader reads.
func (e *eavReader) digestSources() (all []digestSource) {
	for _, s := range e.sources {
		source := digestSource{table: strings.TrimPrefix(s.table, e.conn.Prefix), key: "t.entity_id", ids: []string{"t.entity_id", "t.attribute_id"}, columns: []string{"t.value"}}
		if s.hasStore {
			source.ids = append(source.ids, "t.store_id")
		}
		if len(s.unwanted) > 0 {
			source.where = "t.attribute_id NOT IN (" + joinIDs(s.unwanted) + ")"
		}
		all = append(all, source)
	}
	return append(all, digestSource{
		table: "eav_attribute", columns: []string{"t.attribute_id", "t.attribute_code", "t.backend_type", "t.backend_table"},
		join: "JOIN " + e.conn.Table("eav_entity_type") + " y ON y.entity_type_id = t.entity_type_id", where: "y.entity_type_code = '" + e.code + "'",
	})
}

// viewSources returns the sources of the store views.
func viewSources() []digestSource {
	return []digestSource{{table: "core_store", ids: []string{"t.store_id", "t.website_id"}}, {table: "core_website", ids: []string{"t.website_id"}}}
}

// digestSources returns the sources of the records of an entity, and more.
func (r *entityReader) digestSources(more ...digestSource) []digestSource {
	all := append(r.values.digestSources(), r.rows.source(r.rows.keyColumn))
	if r.views != nil {
		all = append(all, viewSources()...)
	}
	return append(all, more...)
}

func (g digester) categorySources(ctx context.Context, tx *sql.Tx) ([]digestSource, error) {
	r := &categoryReader{entityReader: entityReader{d: g.d}}
	if err := r.prepare(ctx, tx); err != nil {
		return nil, err
	}
	return r.digestSources(), nil
}

func (g digester) productSources(ctx context.Context, tx *sql.Tx) ([]digestSource, error) {
	r := &productReader{entityReader: entityReader{d: g.d}}
	if err := r.prepare(ctx, tx); err != nil {
		return nil, err
	}
	columns, err := g.d.conn.ColumnsOf(ctx, tx, r.rows.table)
	if err != nil {
		return nil, err
	}
	product := "JOIN " + g.d.conn.Table("review_entity") + " e ON e.entity_id = t.entity_id AND e.entity_code = 'product'"
	all := r.digestSources(
		digestSource{table: "catalog_product_website", key: "t.product_id"},
		digestSource{table: "catalog_category_product", key: "t.product_id"},
		digestSource{table: "catalog_product_entity_group_price", key: "t.entity_id"},
		digestSource{table: "catalog_product_entity_tier_price", key: "t.entity_id"},
		digestSource{table: "catalogrule_product_price", key: "t.product_id"},
		digestSource{table: "catalog_product_option", key: "t.product_id", ids: []string{"t.product_id"}},
		digestSource{table: "review", key: "t.entity_pk_value", ids: []string{"t.review_id", "t.entity_pk_value"}, join: product, where: "t.status_id = 1"},
		digestSource{table: "review", key: "t.entity_pk_value", ids: []string{"t.review_id", "s.store_id"}, where: "t.status_id = 1",
			needs: "review_store", join: product + " JOIN " + g.d.conn.Table("review_store") + " s ON s.review_id = t.review_id"},
		digestSource{table: "catalog_product_link", key: "t.product_id", ids: []string{"t.link_id", "t.product_id", "t.linked_product_id"}, where: "t.link_type_id = " + formatID(groupedLink)},
		digestSource{table: "weee_tax", key: "t.entity_id"},
		digestSource{table: "cataloginventory_stock_status", key: "t.product_id", ids: []string{"t.product_id", "t.website_id", "t.stock_id", "t.stock_status"}},
		digestSource{table: "core_url_rewrite", key: "t.product_id", columns: []string{"t.product_id", "t.store_id", "t.is_system", "t.request_path"}, where: "t.id_path = " + productIDPath("t.product_id")},
		digestSource{table: "catalog_product_relation", key: "t.child_id", ids: []string{"t.child_id", "t.parent_id"}},
		digestSource{table: "catalog_product_super_link", key: "t.parent_id", ids: []string{"t.parent_id", "t.product_id"}},
		digestSource{table: "catalog_product_bundle_option", key: "t.parent_id", ids: []string{"t.parent_id", "t.option_id", "t.required"}},
		digestSource{table: "catalog_product_bundle_selection", key: "t.parent_product_id", ids: []string{"t.parent_product_id", "t.option_id", "t.product_id"}})
	if columns["has_options"] {
		all = append(all, digestSource{table: r.rows.table, key: "t.entity_id", ids: []string{"t.entity_id", "t.has_options"}})
	}
	return all, nil
}

func (g digester) imageSources(ctx context.Context, tx *sql.Tx) ([]digestSource, error) {
	r := &imageReader{d: g.d}
	if err := r.prepare(ctx, tx); err != nil {
		return nil, err
	}
	const gallery = "catalog_product_entity_media_gallery"
	return slices.Concat([]digestSource{
		{table: "catalog_product_entity", key: "t.entity_id", ids: []string{"t.entity_id"}},
		{table: gallery, key: "t.entity_id"},
		{table: gallery, key: "t.entity_id", columns: []string{"v.value_id", "v.store_id", "v.label", "v.position", "v.disabled"},
			needs: gallery + "_value", join: "JOIN " + g.d.conn.Table(gallery+"_value") + " v ON v.value_id = t.value_id"},
	}, r.roles.digestSources(), viewSources()), nil
}

func (g digester) stockSources(ctx context.Context, tx *sql.Tx) ([]digestSource, error) {
	r := &stockReader{d: g.d}
	if err := r.prepare(ctx, tx); err != nil {
		return nil, err
	}
	return []digestSource{r.rows.source("item_id")}, nil
}

func (g digester) customerSources(ctx context.Context, tx *sql.Tx) ([]digestSource, error) {
	r := &entityReader{d: g.d}
	if err := r.prepare(ctx, tx, customerEntity(), customerTable()); err != nil {
		return nil, err
	}
	return r.digestSources(digestSource{
		table: "eav_attribute_option", ids: []string{"t.option_id", "t.sort_order"},
		join: "JOIN " + g.d.conn.Table("eav_attribute") + " a ON a.attribute_id = t.attribute_id AND a.attribute_code = 'gender'",
	}), nil
}

func (g digester) addressSources(ctx context.Context, tx *sql.Tx) ([]digestSource, error) {
	r := &addressReader{entityReader: entityReader{d: g.d}}
	if err := r.prepare(ctx, tx); err != nil {
		return nil, err
	}
	defaults := slices.Sorted(maps.Keys(r.defaults))
	if len(defaults) == 0 {
		return r.digestSources(), nil
	}
	return r.digestSources(digestSource{
		table: r.rows.table, key: "t.entity_id", ids: []string{"t.entity_id", "v.attribute_id"}, where: "v.attribute_id IN (" + joinIDs(defaults) + ")",
		join: "JOIN " + g.d.conn.Table("customer_entity_int") + " v ON v.entity_id = t.parent_id AND v.value = t.entity_id",
	}), nil
}

func (g digester) orderSources(ctx context.Context, tx *sql.Tx) ([]digestSource, error) {
	r := &orderReader{d: g.d}
	if err := r.prepare(ctx, tx); err != nil {
		return nil, err
	}
	all := []digestSource{
		r.rows.source("entity_id"),
		{table: r.rows.table, key: "t.entity_id", ids: []string{"t.entity_id", "c.entity_id"}, join: "JOIN " + g.d.conn.Table("customer_entity") + " c ON c.entity_id = t.customer_id"},
		{table: "sales_flat_order_payment", key: "t.parent_id", columns: []string{"t.entity_id", "t.parent_id", "t.method"}},
		{table: "sales_order_tax", key: "t.order_id", columns: []string{"t.tax_id", "t.order_id", "t.title", "t.percent"}},
	}
	for _, part := range r.parts {
		all = append(all, part.source(part.ownerColumn))
	}
	if r.hasGiftMessages {
		all = append(all, digestSource{
			table: r.rows.table, key: "t.entity_id", columns: []string{"t.entity_id", "m.sender", "m.recipient", "m.message"},
			needs: "gift_message", join: "JOIN " + g.d.conn.Table("gift_message") + " m ON m.gift_message_id = t.gift_message_id",
		})
	}
	return all, nil
}
