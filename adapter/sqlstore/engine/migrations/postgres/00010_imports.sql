-- +goose Up

-- The SQLite migration documents these tables.
CREATE TABLE category_value (
    category_id BIGINT NOT NULL REFERENCES category(category_id) ON DELETE CASCADE,
    store_id BIGINT NOT NULL REFERENCES store(store_id) ON DELETE CASCADE,
    name TEXT,
    name_folded TEXT COLLATE "C",
    PRIMARY KEY (category_id, store_id)
);

CREATE TABLE imported_record (
    source TEXT NOT NULL,
    resource TEXT NOT NULL,
    record_key BIGINT NOT NULL,
    PRIMARY KEY (source, resource, record_key)
);
CREATE INDEX imported_record_resource ON imported_record (resource, record_key);
