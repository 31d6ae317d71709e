-- +goose Up

-- The SQLite migration documents these changes.
ALTER TABLE website ADD COLUMN is_default BIGINT;
ALTER TABLE website ADD COLUMN tax_region_id BIGINT;
ALTER TABLE website ADD COLUMN timezone VARCHAR(255);
ALTER TABLE website ADD COLUMN timezone_folded VARBINARY(1020);
ALTER TABLE website ADD COLUMN tax_country VARCHAR(255);
ALTER TABLE website ADD COLUMN tax_country_folded VARBINARY(1020);
ALTER TABLE website ADD COLUMN tax_postcode VARCHAR(255);
ALTER TABLE website ADD COLUMN tax_postcode_folded VARBINARY(1020);

ALTER TABLE tax_rate ADD COLUMN region_id BIGINT;
ALTER TABLE tax_rate ADD COLUMN zip_from BIGINT;
ALTER TABLE tax_rate ADD COLUMN zip_to BIGINT;
ALTER TABLE tax_rate ADD COLUMN customer_tax_class_id BIGINT;
ALTER TABLE tax_rate ADD COLUMN rule_id BIGINT;
ALTER TABLE tax_rate ADD COLUMN priority BIGINT;
ALTER TABLE tax_rate ADD COLUMN postcode VARCHAR(255);
ALTER TABLE tax_rate ADD COLUMN postcode_folded VARBINARY(1020);

ALTER TABLE product ADD COLUMN price_type BIGINT;
ALTER TABLE product ADD COLUMN has_custom_options BIGINT;
ALTER TABLE product ADD COLUMN reviews_count BIGINT;
ALTER TABLE product ADD COLUMN stock_status BIGINT;
