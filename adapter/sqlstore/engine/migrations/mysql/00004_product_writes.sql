-- +goose Up

-- The tables of the SQLite migration, which documents them.

CREATE TABLE media_file (
    file VARCHAR(255) NOT NULL PRIMARY KEY,
    media_type VARCHAR(255) NOT NULL,
    series VARCHAR(255),
    number BIGINT,
    KEY media_file_series (series, number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE write_lock (
    name VARCHAR(255) NOT NULL PRIMARY KEY
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT INTO write_lock (name) VALUES ('sku'), ('media');
