-- +goose Up

-- The tables of the SQLite migration, which documents them.
CREATE TABLE category_value (
    category_id BIGINT NOT NULL,
    store_id BIGINT NOT NULL,
    name VARCHAR(255),
    name_folded VARBINARY(1020),
    PRIMARY KEY (category_id, store_id),
    FOREIGN KEY (category_id) REFERENCES category(category_id) ON DELETE CASCADE,
    FOREIGN KEY (store_id) REFERENCES store(store_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE imported_record (
    source VARCHAR(64) NOT NULL,
    resource VARCHAR(64) NOT NULL,
    record_key BIGINT NOT NULL,
    PRIMARY KEY (source, resource, record_key),
    KEY imported_record_resource (resource, record_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
