-- +goose Up
-- The SQLite migration documents these indexes. MariaDB has no index of an expression, so the
-- expression is a virtual column, which takes no space in the table, and no place in SELECT *.
ALTER TABLE product_default_value ADD COLUMN option_id BIGINT AS (CAST(NULLIF(REGEXP_SUBSTR(LEFT(value, 18), '^[0-9]+'), '') AS SIGNED)) VIRTUAL /*!80023 INVISIBLE */ /*M!100303 INVISIBLE */;
ALTER TABLE product_default_value ADD KEY product_default_value_option (attribute, option_id, product_id);
ALTER TABLE product_value ADD COLUMN option_id BIGINT AS (CAST(NULLIF(REGEXP_SUBSTR(LEFT(value, 18), '^[0-9]+'), '') AS SIGNED)) VIRTUAL /*!80023 INVISIBLE */ /*M!100303 INVISIBLE */;
ALTER TABLE product_value ADD KEY product_value_option (attribute, store_id, option_id, product_id);
