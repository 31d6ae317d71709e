-- +goose NO TRANSACTION
-- +goose Up

-- The SQLite migration documents these indexes. Building them waits for transactions that run, for as
-- long as they take.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS product_default_value_option;
CREATE INDEX CONCURRENTLY product_default_value_option ON product_default_value
    (attribute, CAST(SUBSTRING(value FROM '^[0-9]{1,18}') AS BIGINT), product_id);
DROP INDEX CONCURRENTLY IF EXISTS product_value_option;
CREATE INDEX CONCURRENTLY product_value_option ON product_value
    (attribute, store_id, CAST(SUBSTRING(value FROM '^[0-9]{1,18}') AS BIGINT), product_id);
SET lock_timeout = '5s';
