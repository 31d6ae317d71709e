-- +goose Up

-- The SQLite migration documents these changes.
ALTER TABLE admin ADD COLUMN disabled BIGINT;

ALTER TABLE api_key ADD COLUMN kind TEXT, ADD COLUMN admin_id BIGINT;
UPDATE api_key SET kind = CASE WHEN customer_id IS NULL THEN 'admin' ELSE 'customer' END;
ALTER TABLE api_key ALTER COLUMN kind SET NOT NULL,
    ADD CHECK (kind = 'customer' AND customer_id IS NOT NULL AND admin_id IS NULL OR kind = 'admin' AND customer_id IS NULL);
CREATE INDEX api_key_admin_id ON api_key (admin_id);
CREATE INDEX oauth_token_admin_id ON oauth_token (admin_id);
