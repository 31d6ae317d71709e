//go:build linux

package speed

import (
	"database/sql"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// stockFields are the fields of a stock item, in order, and stockListFields the fields that
// lists show.
var (
	stockFields = []string{"item_id", "product_id", "stock_id", "qty", "min_qty", "use_config_min_qty", "is_qty_decimal",
		"backorders", "use_config_backorders", "min_sale_qty", "use_config_min_sale_qty", "max_sale_qty", "use_config_max_sale_qty",
		"is_in_stock", "low_stock_date", "notify_stock_qty", "use_config_notify_stock_qty", "manage_stock", "use_config_manage_stock",
		"stock_status_changed_auto", "use_config_qty_increments", "qty_increments", "use_config_enable_qty_inc",
		"enable_qty_increments", "is_decimal_divided"}
	stockListFields = []string{"item_id", "qty", "backorders", "min_sale_qty", "max_sale_qty", "low_stock_date", "manage_stock", "stock_status_changed_auto", "enable_qty_increments"}
)

// isStockDecimal reports whether a field of stock items is a decimal.
func isStockDecimal(name string) bool {
	return slices.Contains([]string{"qty", "min_qty", "min_sale_qty", "max_sale_qty", "notify_stock_qty", "qty_increments"}, name)
}

// A stockFloor answers reads of stock items.
type stockFloor struct{ get, page *floorStmt }

func newStockFloor(db *floorDatabase) (f *stockFloor, err error) {
	f = &stockFloor{}
	if f.get, err = db.prepare("SELECT " + columnList("", stockFields) + " FROM stock_item WHERE item_id = ?1"); err != nil {
		return nil, err
	}
	f.page, err = db.prepare("SELECT " + columnList("", stockListFields) + " FROM stock_item ORDER BY item_id LIMIT ?1")
	return f, err
}

// one answers GET /stockitems/:id.
func (f *stockFloor) one(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	values := make([]any, len(stockFields))
	var out []byte
	err := each(r.Context(), f.get, values, func() error {
		out = appendColumns(out, stockFields, values, isStockDecimal)
		return nil
	}, id)
	if err != nil || out == nil {
		http.NotFound(w, r)
		return
	}
	writeJSON(w, http.StatusOK, out)
}

// list answers GET /stockitems?limit=.
func (f *stockFloor) list(w http.ResponseWriter, r *http.Request) {
	limit, _ := strconv.Atoi(strings.TrimPrefix(r.URL.RawQuery, "limit="))
	values := make([]any, len(stockListFields))
	out := append(make([]byte, 0, 32<<10), '[')
	err := each(r.Context(), f.page, values, func() error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendColumns(out, stockListFields, values, isStockDecimal)
		return nil
	}, limit)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	writeJSON(w, http.StatusOK, append(out, ']'))
}

// orderFields are the fields of an order in a list, in order, before its parts.
var orderFields = []string{"entity_id", "status", "customer_id", "base_discount_amount", "base_shipping_amount", "base_shipping_tax_amount", "base_subtotal", "base_tax_amount",
	"base_total_paid", "base_total_refunded", "store_to_order_rate", "tax_amount", "total_paid", "total_refunded", "base_shipping_discount_amount",
	"base_subtotal_incl_tax", "base_total_due", "total_due", "increment_id", "base_currency_code", "store_currency_code", "store_name",
	"created_at", "updated_at", "tax_name", "tax_rate"}

// isOrderDecimal reports whether a field of orders or their parts is a decimal.
func isOrderDecimal(name string) bool {
	return strings.Contains(name, "amount") || strings.Contains(name, "subtotal") || strings.Contains(name, "total_") || strings.HasSuffix(name, "_rate") ||
		strings.Contains(name, "price") || strings.HasSuffix(name, "percent") || strings.Contains(name, "row_total")
}

// orderParts are the parts of an order, in order.
var orderParts = []struct {
	name, table, parent, key string
	fields                   []string
}{
	{"addresses", "order_address", "parent_id", "entity_id", []string{"region", "postcode", "lastname", "street", "city", "telephone", "country_id", "firstname", "address_type", "prefix", "middlename", "suffix", "company"}},
	{"order_items", "order_item", "order_id", "item_id", []string{"sku", "price", "base_price", "base_original_price", "tax_percent", "tax_amount", "base_tax_amount", "base_discount_amount", "base_row_total", "base_price_incl_tax", "base_row_total_incl_tax"}},
	{"order_comments", "order_comment", "parent_id", "entity_id", []string{"is_customer_notified", "is_visible_on_front", "comment", "status", "created_at"}},
}

// An orderFloor answers a list of ten orders.
type orderFloor struct {
	page  *floorStmt
	parts [3]*floorStmt
}

func newOrderFloor(db *floorDatabase) (f *orderFloor, err error) {
	f = &orderFloor{}
	if f.page, err = db.prepare("SELECT " + columnList("", orderFields) + " FROM sales_order ORDER BY entity_id LIMIT 10"); err != nil {
		return nil, err
	}
	for i, part := range orderParts {
		text := "SELECT " + part.parent + ", " + columnList("", part.fields) + " FROM " + part.table +
			" WHERE " + part.parent + " IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ORDER BY " + part.key
		if f.parts[i], err = db.prepare(text); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// A floorOrder is an order that is being rendered.
type floorOrder struct {
	id, own []byte
	parts   [3][]byte
}

// list answers GET /orders?limit=10.
func (f *orderFloor) list(w http.ResponseWriter, r *http.Request) {
	orders, ids := make([]floorOrder, 0, 10), make([]any, 0, 10)
	values := make([]any, len(orderFields))
	err := each(r.Context(), f.page, values, func() error {
		ids = append(ids, values[0])
		id, _ := values[0].(int64)
		orders = append(orders, floorOrder{id: strconv.AppendInt(nil, id, 10), own: appendColumns(make([]byte, 0, 1<<10), orderFields, values, isOrderDecimal)})
		return nil
	})
	for i := range orderParts {
		if err != nil {
			break
		}
		values := make([]any, len(orderParts[i].fields)+1)
		err = each(r.Context(), f.parts[i], values, func() error {
			at := slices.Index(ids, values[0])
			if at < 0 { // the client has gone, and the first statement was interrupted
				return sql.ErrNoRows
			}
			part := &orders[at].parts[i]
			*part = appendColumns(append(*part, ','), orderParts[i].fields, values[1:], isOrderDecimal)
			return nil
		}, ids...)
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	out := append(make([]byte, 0, 32<<10), '{')
	for i := range orders {
		o := &orders[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), o.id...), `":`...)
		out = append(out, o.own[:len(o.own)-1]...)
		for at, part := range o.parts {
			out = append(append(append(out, `,"`...), orderParts[at].name...), `":`...)
			if part == nil {
				out = append(out, "null"...)
				continue
			}
			out = append(append(append(out, '['), part[1:]...), ']')
		}
		out = append(out, '}')
	}
	writeJSON(w, http.StatusOK, append(out, '}'))
}

// A categoryFloor answers GET /products/:id/categories.
type categoryFloor struct{ list *floorStmt }

func newCategoryFloor(db *floorDatabase) (f *categoryFloor, err error) {
	f = &categoryFloor{}
	f.list, err = db.prepare("SELECT category_id FROM product_category WHERE product_id = ?1 ORDER BY category_id")
	return f, err
}

func (f *categoryFloor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	values := make([]any, 1)
	out := append(make([]byte, 0, 32<<10), '[')
	err := each(r.Context(), f.list, values, func() error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendColumns(out, []string{"category_id"}, values, func(string) bool { return false })
		return nil
	}, id)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	writeJSON(w, http.StatusOK, append(out, ']'))
}
