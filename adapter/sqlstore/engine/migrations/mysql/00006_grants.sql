-- +goose Up

-- The SQLite migration documents these changes. The new table comes first: it may
-- exist already when a migration that failed half-way runs again.
CREATE TABLE IF NOT EXISTS api_key (
    key_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(255) NOT NULL,
    key_hash VARBINARY(255) NOT NULL,
    customer_id BIGINT,
    revoked BIGINT NOT NULL DEFAULT 0,
    created_at DATETIME NOT NULL,
    UNIQUE KEY (key_hash),
    KEY api_key_customer_id (customer_id),
    FOREIGN KEY (customer_id) REFERENCES customer (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

ALTER TABLE oauth_consumer ADD COLUMN callback TEXT, ADD COLUMN rejected_callback TEXT;
ALTER TABLE oauth_token ADD COLUMN callback TEXT, ADD KEY oauth_token_type (type, created_at);
