-- +goose Up

-- How the page of a bundle shows its price: see the schema of products.
ALTER TABLE product ADD COLUMN price_view BIGINT;
