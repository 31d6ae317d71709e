-- +goose Up

-- Settings of taxes of websites and store views, base currencies of websites, and rules whose rates are calculated on the price alone, and
-- the tax classes of what a product groups.
ALTER TABLE website ADD COLUMN tax_based_on TEXT;
ALTER TABLE website ADD COLUMN prices_include_tax INTEGER;
ALTER TABLE website ADD COLUMN tax_cross_border INTEGER;
ALTER TABLE website ADD COLUMN origin_country TEXT;
ALTER TABLE website ADD COLUMN origin_region_id INTEGER;
ALTER TABLE website ADD COLUMN origin_postcode TEXT;
ALTER TABLE website ADD COLUMN tax_default_group INTEGER;
ALTER TABLE website ADD COLUMN base_currency TEXT;
ALTER TABLE website ADD COLUMN currency_rate TEXT;

ALTER TABLE store ADD COLUMN tax_country TEXT;
ALTER TABLE store ADD COLUMN tax_region_id INTEGER;
ALTER TABLE store ADD COLUMN tax_postcode TEXT;
ALTER TABLE store ADD COLUMN tax_based_on TEXT;
ALTER TABLE store ADD COLUMN prices_include_tax INTEGER;
ALTER TABLE store ADD COLUMN tax_cross_border INTEGER;
ALTER TABLE store ADD COLUMN origin_country TEXT;
ALTER TABLE store ADD COLUMN origin_region_id INTEGER;
ALTER TABLE store ADD COLUMN origin_postcode TEXT;
ALTER TABLE store ADD COLUMN tax_default_group INTEGER;

ALTER TABLE tax_rate ADD COLUMN calculate_subtotal INTEGER;

ALTER TABLE product ADD COLUMN parts_tax_class_id INTEGER;
