-- +goose Up

-- The SQLite migration documents these changes.
ALTER TABLE website ADD COLUMN is_default BIGINT;
ALTER TABLE website ADD COLUMN tax_region_id BIGINT;
ALTER TABLE website ADD COLUMN timezone TEXT;
ALTER TABLE website ADD COLUMN timezone_folded TEXT COLLATE "C";
ALTER TABLE website ADD COLUMN tax_country TEXT;
ALTER TABLE website ADD COLUMN tax_country_folded TEXT COLLATE "C";
ALTER TABLE website ADD COLUMN tax_postcode TEXT;
ALTER TABLE website ADD COLUMN tax_postcode_folded TEXT COLLATE "C";

ALTER TABLE tax_rate ADD COLUMN region_id BIGINT;
ALTER TABLE tax_rate ADD COLUMN zip_from BIGINT;
ALTER TABLE tax_rate ADD COLUMN zip_to BIGINT;
ALTER TABLE tax_rate ADD COLUMN customer_tax_class_id BIGINT;
ALTER TABLE tax_rate ADD COLUMN rule_id BIGINT;
ALTER TABLE tax_rate ADD COLUMN priority BIGINT;
ALTER TABLE tax_rate ADD COLUMN postcode TEXT;
ALTER TABLE tax_rate ADD COLUMN postcode_folded TEXT COLLATE "C";

ALTER TABLE product ADD COLUMN price_type BIGINT;
ALTER TABLE product ADD COLUMN has_custom_options BIGINT;
ALTER TABLE product ADD COLUMN reviews_count BIGINT;
ALTER TABLE product ADD COLUMN stock_status BIGINT;
