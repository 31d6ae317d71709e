-- +goose Up

-- The tables of the SQLite migration, which documents them.

CREATE TABLE media_file (
    file TEXT COLLATE "C" PRIMARY KEY,
    media_type TEXT NOT NULL,
    series TEXT COLLATE "C",
    number BIGINT
);
CREATE INDEX media_file_series ON media_file (series, number);

CREATE TABLE write_lock (
    name TEXT PRIMARY KEY
);
INSERT INTO write_lock (name) VALUES ('sku'), ('media');
