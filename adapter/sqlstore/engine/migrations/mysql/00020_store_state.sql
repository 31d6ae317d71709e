-- +goose Up

-- The SQLite migration documents this table. It may exist already when a migration that failed half-way
-- runs again.
CREATE TABLE IF NOT EXISTS store_state (
    state_id BIGINT NOT NULL PRIMARY KEY,
    identity VARCHAR(64) NOT NULL,
    epoch VARCHAR(64) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT IGNORE INTO store_state (state_id, identity, epoch) VALUES (1, '', '');
