-- +goose Up

-- Names of categories at store views. Without a row the store view shows the name in
-- category.
CREATE TABLE category_value (
    category_id INTEGER NOT NULL REFERENCES category(category_id) ON DELETE CASCADE,
    store_id INTEGER NOT NULL REFERENCES store(store_id) ON DELETE CASCADE,
    name TEXT,
    name_folded TEXT,
    PRIMARY KEY (category_id, store_id)
);

-- Which records imports from a source have stored or found. It has no foreign keys, as it
-- may outlive the record.
CREATE TABLE imported_record (
    source TEXT NOT NULL,
    resource TEXT NOT NULL,
    record_key INTEGER NOT NULL,
    PRIMARY KEY (source, resource, record_key)
) WITHOUT ROWID;
CREATE INDEX imported_record_resource ON imported_record (resource, record_key);
