-- +goose Up

-- The SQLite migration documents these changes.
ALTER TABLE website ADD COLUMN tax_based_on TEXT;
ALTER TABLE website ADD COLUMN prices_include_tax BIGINT;
ALTER TABLE website ADD COLUMN tax_cross_border BIGINT;
ALTER TABLE website ADD COLUMN origin_country TEXT;
ALTER TABLE website ADD COLUMN origin_region_id BIGINT;
ALTER TABLE website ADD COLUMN origin_postcode TEXT;
ALTER TABLE website ADD COLUMN tax_default_group BIGINT;
ALTER TABLE website ADD COLUMN base_currency TEXT;
ALTER TABLE website ADD COLUMN currency_rate TEXT;

ALTER TABLE store ADD COLUMN tax_country TEXT;
ALTER TABLE store ADD COLUMN tax_region_id BIGINT;
ALTER TABLE store ADD COLUMN tax_postcode TEXT;
ALTER TABLE store ADD COLUMN tax_based_on TEXT;
ALTER TABLE store ADD COLUMN prices_include_tax BIGINT;
ALTER TABLE store ADD COLUMN tax_cross_border BIGINT;
ALTER TABLE store ADD COLUMN origin_country TEXT;
ALTER TABLE store ADD COLUMN origin_region_id BIGINT;
ALTER TABLE store ADD COLUMN origin_postcode TEXT;
ALTER TABLE store ADD COLUMN tax_default_group BIGINT;

ALTER TABLE tax_rate ADD COLUMN calculate_subtotal BIGINT;

ALTER TABLE product ADD COLUMN parts_tax_class_id BIGINT;
