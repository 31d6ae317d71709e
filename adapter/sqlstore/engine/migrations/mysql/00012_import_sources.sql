-- +goose Up

-- The SQLite migration documents these tables. They may exist already when a migration
-- that failed half-way runs again.
CREATE TABLE IF NOT EXISTS import_source (
    source VARCHAR(64) NOT NULL PRIMARY KEY,
    server VARCHAR(255) NOT NULL,
    server_version VARCHAR(255) NOT NULL,
    database_name VARCHAR(255) NOT NULL,
    table_prefix VARCHAR(255) NOT NULL,
    log_file VARCHAR(255) NOT NULL,
    log_position BIGINT NOT NULL,
    gtid TEXT NOT NULL,
    given_keys TEXT NOT NULL,
    updated_at DATETIME NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS import_digest (
    source VARCHAR(64) NOT NULL,
    part VARCHAR(64) NOT NULL,
    first_key BIGINT NOT NULL,
    digest VARCHAR(255) NOT NULL,
    settings VARCHAR(255) NOT NULL,
    PRIMARY KEY (source, part, first_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
