package magento1test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// An OrderLine is a line of an order to place.
type OrderLine struct{ Product, Quantity int64 }

// ErrOutOfStock means that a product of an order cannot be bought in this quantity.
var ErrOutOfStock = errors.New("a product is out of stock")

// PlaceOrder places an order of a customer as the checkout does, in one transaction: the
// order with its lines, addresses, payment and status, and less in stock. The lines must
// be of different products. The error is ErrOutOfStock, with nothing stored but the number
// that the order would have had, if a product is gone or has less in stock.
func (s *LiveShop) PlaceOrder(ctx context.Context, customer int64, lines ...OrderLine) (order int64, err error) {
	by, err := s.reserveNumber(ctx, customer)
	if err != nil {
		return 0, err
	}
	err = s.inTx(ctx, func(tx transaction) error {
		for _, line := range lines {
			if err := tx.take(ctx, line); err != nil {
				return err
			}
		}
		if order, err = tx.addOrder(ctx, by); err != nil {
			return err
		}
		products, err := tx.entity(ctx, product)
		if err != nil {
			return err
		}
		for _, line := range lines {
			if err := products.addLine(ctx, order, line); err != nil {
				return err
			}
		}
		return tx.finishOrder(ctx, order)
	})
	return order, err
}

// A buyer is a customer who places an order, with the number that it gets.
type buyer struct {
	id, view, group int64
	email, number   string
}

// reserveNumber returns a customer with the next number of an order of the customer's store
// view. As in the original, it has a transaction of its own, so that orders do not wait for
// each other.
func (s *LiveShop) reserveNumber(ctx context.Context, customer int64) (by buyer, err error) {
	err = s.inTx(ctx, func(tx transaction) error {
		by = buyer{}
		if err := tx.each(ctx, func(scan func(...any) error) error { return scan(&by.id, &by.view, &by.group, &by.email) },
			"SELECT entity_id, GREATEST(COALESCE(store_id, 1), 1), group_id, email FROM {p}customer_entity WHERE entity_id = ?", customer); err != nil {
			return err
		}
		if by.id == 0 {
			return fmt.Errorf("there is no customer %d", customer)
		}
		types, err := tx.ids(ctx, "SELECT entity_type_id FROM {p}eav_entity_type WHERE entity_type_code = 'order'")
		if err != nil {
			return err
		}
		const last = "SELECT increment_last_id FROM {p}eav_entity_store WHERE entity_type_id = ? AND store_id = ? FOR UPDATE"
		known, err := tx.ids(ctx, last, types[0], by.view)
		if err == nil && len(known) == 0 { // the store view has no orders, or they were stored by other means
			if err = tx.exec(ctx, "INSERT INTO {p}eav_entity_store (entity_type_id, store_id, increment_prefix, increment_last_id)"+
				" SELECT ?, ?, ?, COALESCE(MAX(increment_id), ? * 100000000) FROM {p}sales_flat_order WHERE increment_id LIKE CONCAT(?, '________')",
				types[0], by.view, by.view, by.view, by.view); err == nil {
				known, err = tx.ids(ctx, last, types[0], by.view)
			}
		}
		if err != nil {
			return err
		}
		by.number = strconv.FormatInt(known[0]+1, 10)
		return tx.exec(ctx, "UPDATE {p}eav_entity_store SET increment_last_id = ? WHERE entity_type_id = ? AND store_id = ?", by.number, types[0], by.view)
	})
	return by, err
}

// take takes a quantity of a product out of its stock.
func (x transaction) take(ctx context.Context, line OrderLine) error {
	there, err := x.ids(ctx, "SELECT item_id FROM {p}cataloginventory_stock_item WHERE product_id = ? AND qty >= ? AND is_in_stock = 1 FOR UPDATE", line.Product, line.Quantity)
	if err != nil {
		return err
	}
	if len(there) == 0 {
		return ErrOutOfStock
	}
	if err := x.execAll(ctx, []string{
		"UPDATE {p}cataloginventory_stock_item SET qty = qty - " + strconv.FormatInt(line.Quantity, 10) + " WHERE item_id = ?",
		"UPDATE {p}cataloginventory_stock_item SET low_stock_date = UTC_TIMESTAMP() WHERE item_id = ? AND qty < 1",
		"UPDATE {p}cataloginventory_stock_item SET is_in_stock = 0, stock_status_changed_auto = 1 WHERE item_id = ? AND qty <= 0 AND (backorders = 0 OR use_config_backorders = 1)",
	}, there[0]); err != nil {
		return err
	}
	return x.indexStock(ctx, line.Product)
}

// addOrder adds an order without lines.
func (x transaction) addOrder(ctx context.Context, by buyer) (order int64, err error) {
	customers, err := x.entity(ctx, customer)
	if err != nil {
		return 0, err
	}
	name := func(code string) string {
		return fmt.Sprintf("(SELECT value FROM {p}customer_entity_varchar WHERE entity_id = %d AND attribute_id = %d)", by.id, customers.attributes[code].id)
	}
	order, err = x.insert(ctx, `INSERT INTO {p}sales_flat_order (state, status, store_id, customer_id, customer_group_id, customer_is_guest, customer_email, customer_firstname, customer_lastname,
			increment_id, base_currency_code, global_currency_code, order_currency_code, store_currency_code, base_to_global_rate, base_to_order_rate, store_to_base_rate, store_to_order_rate,
			shipping_method, shipping_description, base_shipping_amount, shipping_amount, remote_ip, is_virtual, store_name, created_at, updated_at)
		SELECT 'new', 'pending', s.store_id, ?, ?, 0, ?, `+name("firstname")+", "+name("lastname")+`, ?, 'USD', 'USD', 'USD', 'USD', 1, 1, 1, 1,
			'flatrate_flatrate', 'Flat Rate - Fixed', 5, 5, '203.0.113.9', 0, s.name, ?, ? FROM {p}core_store s WHERE s.store_id = ?`,
		by.id, by.group, by.email, by.number, now(), now(), by.view)
	if err != nil {
		return 0, err
	}
	for _, kind := range []string{"billing", "shipping"} {
		id, err := x.insert(ctx, "INSERT INTO {p}sales_flat_order_address (parent_id, customer_id, address_type, email, firstname, lastname, street, city, region_id, region, postcode, country_id, telephone)"+
			" SELECT entity_id, customer_id, ?, customer_email, customer_firstname, customer_lastname, '1 Engine Way', 'San Francisco', 12, 'California', '94105', 'US', '415-555-0100' FROM {p}sales_flat_order WHERE entity_id = ?", kind, order)
		if err != nil {
			return 0, err
		}
		if err := x.exec(ctx, "UPDATE {p}sales_flat_order SET "+kind+"_address_id = ? WHERE entity_id = ?", id, order); err != nil {
			return 0, err
		}
	}
	return order, x.execAll(ctx, []string{
		"INSERT INTO {p}sales_flat_order_payment (parent_id, method) VALUES (?, 'checkmo')",
		"INSERT INTO {p}sales_flat_order_status_history (parent_id, is_customer_notified, is_visible_on_front, comment, status, created_at, entity_name) VALUES (?, 1, 0, NULL, 'pending', UTC_TIMESTAMP(), 'order')",
	}, order)
}

// addLine adds a line to an order, at the present price of the product and with its name at
// the default scope.
func (t entityTable) addLine(ctx context.Context, order int64, line OrderLine) error {
	value := func(code string) string {
		a := t.attributes[code]
		return fmt.Sprintf("(SELECT value FROM %s_%s WHERE entity_id = e.entity_id AND attribute_id = %d AND store_id = 0)", t.table(), a.backend, a.id)
	}
	return t.exec(ctx, `INSERT INTO {p}sales_flat_order_item (order_id, store_id, created_at, updated_at, product_id, product_type, product_options, sku, name, weight, qty_ordered,
			price, base_price, original_price, base_original_price, row_total, base_row_total, price_incl_tax, base_price_incl_tax, row_total_incl_tax, base_row_total_incl_tax)
		SELECT o.entity_id, o.store_id, o.created_at, o.created_at, p.entity_id, p.type_id, 'a:0:{}', p.sku, p.name, p.weight, p.quantity,
			p.price, p.price, p.price, p.price, p.price * p.quantity, p.price * p.quantity, p.price, p.price, p.price * p.quantity, p.price * p.quantity
		FROM {p}sales_flat_order o JOIN (SELECT e.entity_id, e.type_id, e.sku, `+value("name")+" AS name, "+value("weight")+" AS weight, COALESCE("+value("price")+`, 0) AS price, ? AS quantity
			FROM {p}catalog_product_entity e WHERE e.entity_id = ?) p WHERE o.entity_id = ?`, line.Quantity, line.Product, order)
}

// finishOrder computes the totals of an order from its lines.
func (x transaction) finishOrder(ctx context.Context, order int64) error {
	return x.exec(ctx, `UPDATE {p}sales_flat_order o JOIN (SELECT order_id, COUNT(*) AS n, SUM(qty_ordered) AS quantity, SUM(row_total) AS total FROM {p}sales_flat_order_item GROUP BY order_id) l
		ON l.order_id = o.entity_id SET o.total_item_count = l.n, o.total_qty_ordered = l.quantity, o.subtotal = l.total, o.base_subtotal = l.total, o.subtotal_incl_tax = l.total,
		o.base_subtotal_incl_tax = l.total, o.grand_total = l.total + o.shipping_amount, o.base_grand_total = l.total + o.shipping_amount, o.total_due = l.total + o.shipping_amount,
		o.base_total_due = l.total + o.shipping_amount, o.tax_amount = 0, o.base_tax_amount = 0, o.discount_amount = 0, o.base_discount_amount = 0 WHERE o.entity_id = ?`, order)
}

// CancelOrder cancels an order that is new or being processed, and puts the quantities that are not
// canceled yet back into stock. It does nothing to other orders.
func (s *LiveShop) CancelOrder(ctx context.Context, order int64) error {
	return s.inTx(ctx, func(tx transaction) error {
		open, err := tx.ids(ctx, "SELECT entity_id FROM {p}sales_flat_order WHERE entity_id = ? AND state IN ('new', 'processing') FOR UPDATE", order)
		if err != nil || len(open) == 0 {
			return err
		}
		products, err := tx.ids(ctx, "SELECT DISTINCT product_id FROM {p}sales_flat_order_item WHERE order_id = ? AND product_id IS NOT NULL ORDER BY product_id", order)
		if err != nil {
			return err
		}
		if err := tx.execAll(ctx, []string{
			`UPDATE {p}cataloginventory_stock_item s JOIN (SELECT product_id, SUM(qty_ordered - qty_canceled) AS quantity FROM {p}sales_flat_order_item WHERE order_id = ? GROUP BY product_id) l
				ON l.product_id = s.product_id SET s.qty = s.qty + l.quantity, s.is_in_stock = IF(s.stock_status_changed_auto = 1 AND s.qty + l.quantity > 0, 1, s.is_in_stock)`,
			"UPDATE {p}sales_flat_order_item SET qty_canceled = qty_ordered, updated_at = UTC_TIMESTAMP() WHERE order_id = ?",
			`UPDATE {p}sales_flat_order SET state = 'canceled', status = 'canceled', total_canceled = grand_total, base_total_canceled = base_grand_total, subtotal_canceled = subtotal,
				base_subtotal_canceled = base_subtotal, shipping_canceled = shipping_amount, base_shipping_canceled = base_shipping_amount, updated_at = UTC_TIMESTAMP() WHERE entity_id = ?`,
			"INSERT INTO {p}sales_flat_order_status_history (parent_id, is_customer_notified, is_visible_on_front, comment, status, created_at, entity_name) VALUES (?, 2, 0, NULL, 'canceled', UTC_TIMESTAMP(), 'order')",
		}, order); err != nil {
			return err
		}
		for _, id := range products {
			if err := tx.indexStock(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
}
