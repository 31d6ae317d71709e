package magento1

import (
	"context"
	"database/sql"

	"github.com/portico-commerce/portico/adapter"
)

// FindProduct returns the product with a SKU, 0 if there is none.
func (d *Database) FindProduct(ctx context.Context, sku string) (adapter.Key, error) {
	return d.find(ctx, "SELECT entity_id FROM "+d.conn.table("catalog_product_entity")+" WHERE sku = ? ORDER BY entity_id LIMIT 1", sku)
}

// FindCustomer returns the customer of a website with an e-mail address, 0 if there is none.
func (d *Database) FindCustomer(ctx context.Context, website int64, email string) (adapter.Key, error) {
	return d.find(ctx, "SELECT entity_id FROM "+d.conn.table("customer_entity")+" WHERE email = ? AND website_id = ? ORDER BY entity_id LIMIT 1", email, website)
}

// find returns the key that a statement selects, or 0.
func (d *Database) find(ctx context.Context, text string, arguments ...any) (key adapter.Key, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		key = 0
		return d.conn.each(ctx, tx, text, func(r row) error {
			key = adapter.Key(r.id(0))
			return nil
		}, arguments...)
	})
	return key, err
}
