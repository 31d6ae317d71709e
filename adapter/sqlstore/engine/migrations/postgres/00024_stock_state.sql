-- +goose NO TRANSACTION
-- +goose Up

-- What decides whether a product that is composed of others is in stock: see the schema of products.
ALTER TABLE product ADD COLUMN IF NOT EXISTS components TEXT;
ALTER TABLE product ADD COLUMN IF NOT EXISTS component_of TEXT;

-- Whether a listed product is in stock: 0 no, 1 yes, 2 only where stock is not managed by
-- default. It is derived as the rest of the listing is, so that a list without sold-out
-- products can be paged and counted like one with them.
ALTER TABLE product_listing ADD COLUMN IF NOT EXISTS stock_state BIGINT NOT NULL DEFAULT 1;

UPDATE product_listing SET stock_state = derived.state FROM (
    SELECT listed.store_id, listed.product_id, CASE
        WHEN own.value IS NOT NULL THEN CASE own.value WHEN '1' THEN 1 WHEN '2' THEN 2 ELSE 0 END
        WHEN stock_item.is_in_stock = 1 THEN 1
        WHEN stock_item.use_config_manage_stock <> 0 THEN 2
        WHEN stock_item.manage_stock = 0 THEN 1
        ELSE 0 END AS state
    FROM product_listing AS listed
    LEFT JOIN product_value AS own ON own.product_id = listed.product_id
        AND own.store_id = listed.store_id AND own.attribute = 'stock_status'
    LEFT JOIN stock_item ON stock_item.product_id = listed.product_id
) AS derived
WHERE derived.state <> 1 AND product_listing.store_id = derived.store_id AND product_listing.product_id = derived.product_id;

-- Building the index waits for transactions that run, for as long as they take.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS product_listing_stock_state;
CREATE INDEX CONCURRENTLY product_listing_stock_state ON product_listing (store_id, stock_state, product_id);
SET lock_timeout = '5s';
