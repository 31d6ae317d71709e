package magento1

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// MaxKeys is the number of keys that RecordsOf and KeysOf accept at a time.
const MaxKeys = maxBatch

var errKeys = errors.New("too many keys at a time")

// RecordsOf returns the records of a part that have some keys, at most [MaxKeys], as they are in
// one snapshot: by ascending key, and without keys that do not exist. Of a part that RecordsAfter
// always reads as a whole it returns all records.
func (d *Database) RecordsOf(ctx context.Context, p Part, keys ...adapter.Key) (records []adapter.Aggregate, err error) {
	ids, err := idsOf(keys)
	if err != nil {
		return nil, err
	}
	w := window{after: -1, through: endless, limit: maxBatch}
	read, whole := d.wholeReaders()[p]
	if !whole {
		readers := d.readers(ids)
		if readers[p] == nil {
			return nil, fmt.Errorf("a shop has no part %q", p)
		}
		if len(ids) == 0 {
			return nil, nil
		}
		w = window{after: ids[0] - 1, through: ids[len(ids)-1], limit: len(ids), ids: ids}
		return d.readWindow(ctx, readers[p], w)
	}
	return d.readWindow(ctx, read, w)
}

// readWindow reads the records of a window in one transaction.
func (d *Database) readWindow(ctx context.Context, r batchReader[adapter.Aggregate], w window) (records []adapter.Aggregate, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		records = nil
		if err := r.prepare(ctx, tx); err != nil {
			return err
		}
		for next := w; ; {
			batch, last, err := r.next(ctx, tx, next)
			records = append(records, batch...)
			if err != nil || last == next.after || last >= w.through {
				return err
			}
			next.after = last
		}
	})
	if err == nil {
		d.conn.report()
	}
	return records, err
}

// idsOf returns keys as ids in ascending order, each once.
func idsOf(keys []adapter.Key) ([]int64, error) {
	if len(keys) > MaxKeys {
		return nil, errKeys
	}
	ids := make([]int64, 0, len(keys))
	for _, key := range keys {
		if key > 0 {
			ids = append(ids, int64(key))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// KeysOf returns the keys of the records of a part that the shop changes together with
// records of another one, without a trace in their own rows: the stock items of products and
// the products of stock items, the addresses of customers, one of which may have become the
// default address, the customers of addresses, and the products of orders. It returns nil for
// other parts. keys are at most [MaxKeys].
func (d *Database) KeysOf(ctx context.Context, p, of Part, keys ...adapter.Key) (found []adapter.Key, err error) {
	source, ok := map[[2]Part][3]string{
		{Stock, Products}:      {"cataloginventory_stock_item", "item_id", "product_id"},
		{Products, Stock}:      {"cataloginventory_stock_item", "product_id", "item_id"},
		{Addresses, Customers}: {"customer_address_entity", "entity_id", "parent_id"},
		{Customers, Addresses}: {"customer_address_entity", "parent_id", "entity_id"},
		{Products, Orders}:     {"sales_flat_order_item", "product_id", "order_id"},
	}[[2]Part{p, of}]
	ids, err := idsOf(keys)
	if err != nil || !ok || len(ids) == 0 {
		return nil, err
	}
	table, key, owner := source[0], source[1], source[2]
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		found = nil
		return d.conn.Each(ctx, tx, "SELECT DISTINCT "+key+" FROM "+d.conn.Table(table)+" WHERE "+window{ids: ids}.has(owner)+" ORDER BY "+key, func(r row) error {
			if id := r.ID(0); id > 0 {
				found = append(found, adapter.Key(id))
			}
			return nil
		})
	})
	return found, err
}
