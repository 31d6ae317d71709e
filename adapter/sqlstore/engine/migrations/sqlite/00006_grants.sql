-- +goose Up

-- Where a user is sent after granting or refusing access: the registered URLs of a
-- consumer, and the URL for which its request token was requested, or oob.
ALTER TABLE oauth_consumer ADD COLUMN callback TEXT;
ALTER TABLE oauth_consumer ADD COLUMN rejected_callback TEXT;
ALTER TABLE oauth_token ADD COLUMN callback TEXT;
CREATE INDEX oauth_token_type ON oauth_token (type, created_at);

-- API keys, which clients send unencoded, by their SHA-256 in hexadecimal. A key
-- without a customer is for administrators.
CREATE TABLE api_key (
    key_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    customer_id INTEGER REFERENCES customer(entity_id) ON DELETE CASCADE,
    revoked INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL
);
CREATE INDEX api_key_customer_id ON api_key (customer_id);
