-- +goose Up

-- The names of media files, including those of deleted images, as a name is never used
-- twice. Only listed files are served. A name that ends in a number, such as
-- f/r/front_2.png, belongs to the series of f/r/front.png.
CREATE TABLE media_file (
    file TEXT PRIMARY KEY,
    media_type TEXT NOT NULL,
    series TEXT,
    number INTEGER
);
CREATE INDEX media_file_series ON media_file (series, number);

-- Rows to lock, one for each decision that transactions must make one after the other.
-- SQLite does not need them, as it runs one writing transaction at a time.
CREATE TABLE write_lock (
    name TEXT PRIMARY KEY
);
INSERT INTO write_lock (name) VALUES ('sku'), ('media');
