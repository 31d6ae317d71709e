-- +goose Up

-- The systems from which records were imported: which server that was, and how far its
-- binary log had got before the first record was read. given_keys holds the greatest keys
-- that the system had given, as JSON by resource.
CREATE TABLE import_source (
    source TEXT NOT NULL PRIMARY KEY,
    server TEXT NOT NULL,
    server_version TEXT NOT NULL,
    database_name TEXT NOT NULL,
    table_prefix TEXT NOT NULL,
    log_file TEXT NOT NULL,
    log_position INTEGER NOT NULL,
    gtid TEXT NOT NULL,
    given_keys TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

-- Checksums of what the system had in ranges of keys when all records of the range were
-- imported. first_key is the key before the range. settings is a checksum of the options
-- of the import.
CREATE TABLE import_digest (
    source TEXT NOT NULL,
    part TEXT NOT NULL,
    first_key INTEGER NOT NULL,
    digest TEXT NOT NULL,
    settings TEXT NOT NULL,
    PRIMARY KEY (source, part, first_key)
);
