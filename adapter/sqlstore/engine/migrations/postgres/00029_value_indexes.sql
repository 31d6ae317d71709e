-- +goose NO TRANSACTION
-- +goose Up

-- The indexes of migration 28 begin with the columns of these, so that each write of a value need
-- not enter it into both. Dropping them waits for transactions that run, for as long as they take.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS product_default_value_attribute;
DROP INDEX CONCURRENTLY IF EXISTS product_value_attribute;
SET lock_timeout = '5s';
