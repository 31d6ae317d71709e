-- +goose Up

-- The SQLite migration documents this table. It may exist already when a migration that
-- failed half-way runs again.
CREATE TABLE IF NOT EXISTS evidence (
    name VARCHAR(64) NOT NULL PRIMARY KEY,
    content TEXT NOT NULL,
    noted_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
