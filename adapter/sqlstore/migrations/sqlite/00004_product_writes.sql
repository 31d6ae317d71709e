-- +goose Up

-- The names of media files, those of deleted images too: a name is never given
-- twice. Only what stands here is served. A name that ends in a number, as
-- f/r/front_2.png, is the second of the series f/r/front.png.
CREATE TABLE media_file (
    file TEXT PRIMARY KEY,
    media_type TEXT NOT NULL,
    series TEXT,
    number INTEGER
);
CREATE INDEX media_file_series ON media_file (series, number);

-- A row to lock for each thing that transactions can only decide in turn. SQLite
-- has no use for it: there a transaction that writes is alone.
CREATE TABLE write_lock (
    name TEXT PRIMARY KEY
);
INSERT INTO write_lock (name) VALUES ('sku'), ('media');
