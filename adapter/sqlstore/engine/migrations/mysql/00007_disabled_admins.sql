-- +goose Up

-- The SQLite migration documents these changes. MySQL allows no CHECK on a column that
-- a foreign key may change.
ALTER TABLE admin ADD COLUMN disabled BIGINT;
ALTER TABLE oauth_token ADD KEY oauth_token_admin_id (admin_id);
ALTER TABLE api_key ADD COLUMN kind VARCHAR(16) NOT NULL DEFAULT 'admin', ADD COLUMN admin_id BIGINT, ADD KEY api_key_admin_id (admin_id);
UPDATE api_key SET kind = 'customer' WHERE customer_id IS NOT NULL;
ALTER TABLE api_key ALTER COLUMN kind DROP DEFAULT;
