-- +goose Up

-- What the prices, the taxes and the derived fields of a shop depend on besides: see the
-- schemas of package adapter.
ALTER TABLE website ADD COLUMN is_default INTEGER;
ALTER TABLE website ADD COLUMN tax_region_id INTEGER;
ALTER TABLE website ADD COLUMN timezone TEXT;
ALTER TABLE website ADD COLUMN timezone_folded TEXT;
ALTER TABLE website ADD COLUMN tax_country TEXT;
ALTER TABLE website ADD COLUMN tax_country_folded TEXT;
ALTER TABLE website ADD COLUMN tax_postcode TEXT;
ALTER TABLE website ADD COLUMN tax_postcode_folded TEXT;

ALTER TABLE tax_rate ADD COLUMN region_id INTEGER;
ALTER TABLE tax_rate ADD COLUMN zip_from INTEGER;
ALTER TABLE tax_rate ADD COLUMN zip_to INTEGER;
ALTER TABLE tax_rate ADD COLUMN customer_tax_class_id INTEGER;
ALTER TABLE tax_rate ADD COLUMN rule_id INTEGER;
ALTER TABLE tax_rate ADD COLUMN priority INTEGER;
ALTER TABLE tax_rate ADD COLUMN postcode TEXT;
ALTER TABLE tax_rate ADD COLUMN postcode_folded TEXT;

ALTER TABLE product ADD COLUMN price_type INTEGER;
ALTER TABLE product ADD COLUMN has_custom_options INTEGER;
ALTER TABLE product ADD COLUMN reviews_count INTEGER;
ALTER TABLE product ADD COLUMN stock_status INTEGER;
