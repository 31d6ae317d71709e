-- +goose Up

-- An administrator with the value 1 cannot log in, and no token or key can act for
-- them.
ALTER TABLE admin ADD COLUMN disabled INTEGER;

-- Whom a key acts for, 'admin' or 'customer'. admin_id is the administrator to whom
-- the key belongs, if any: disabling the administrator revokes it.
CREATE TABLE api_key_kind (
    key_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    admin_id INTEGER,
    customer_id INTEGER REFERENCES customer(entity_id) ON DELETE CASCADE,
    revoked INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    CHECK (kind = 'customer' AND customer_id IS NOT NULL AND admin_id IS NULL OR kind = 'admin' AND customer_id IS NULL)
);
INSERT INTO api_key_kind (key_id, name, key_hash, kind, customer_id, revoked, created_at)
SELECT key_id, name, key_hash, CASE WHEN customer_id IS NULL THEN 'admin' ELSE 'customer' END, customer_id, revoked, created_at FROM api_key;
DROP TABLE api_key;
ALTER TABLE api_key_kind RENAME TO api_key;
CREATE INDEX api_key_customer_id ON api_key (customer_id);
CREATE INDEX api_key_admin_id ON api_key (admin_id);
CREATE INDEX oauth_token_admin_id ON oauth_token (admin_id);
