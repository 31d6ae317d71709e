-- +goose Up

-- The rewritten address of a product's page: see the schema of products. Store views have it.
ALTER TABLE product ADD COLUMN request_path TEXT;
