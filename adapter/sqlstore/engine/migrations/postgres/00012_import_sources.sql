-- +goose Up

-- The SQLite migration documents these tables.
CREATE TABLE import_source (
    source TEXT NOT NULL PRIMARY KEY,
    server TEXT NOT NULL,
    server_version TEXT NOT NULL,
    database_name TEXT NOT NULL,
    table_prefix TEXT NOT NULL,
    log_file TEXT NOT NULL,
    log_position BIGINT NOT NULL,
    gtid TEXT NOT NULL,
    given_keys TEXT NOT NULL,
    updated_at TIMESTAMP(0) NOT NULL
);

CREATE TABLE import_digest (
    source TEXT NOT NULL,
    part TEXT NOT NULL,
    first_key BIGINT NOT NULL,
    digest TEXT NOT NULL,
    settings TEXT NOT NULL,
    PRIMARY KEY (source, part, first_key)
);
