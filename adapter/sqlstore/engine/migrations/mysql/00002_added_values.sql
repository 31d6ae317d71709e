-- +goose Up

-- The tables of the SQLite migration, which documents them, with the types of MySQL
-- and MariaDB. The server commits the transaction at every CREATE TABLE, so existing
-- tables are left alone and a migration that failed half-way can run again.
CREATE TABLE IF NOT EXISTS customer_value (
    customer_id BIGINT NOT NULL,
    attribute VARCHAR(255) NOT NULL,
    value MEDIUMTEXT,
    value_folded MEDIUMBLOB,
    PRIMARY KEY (customer_id, attribute),
    KEY customer_value_attribute (attribute, value_folded(255)),
    FOREIGN KEY (customer_id) REFERENCES customer (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS customer_address_value (
    address_id BIGINT NOT NULL,
    attribute VARCHAR(255) NOT NULL,
    value MEDIUMTEXT,
    value_folded MEDIUMBLOB,
    PRIMARY KEY (address_id, attribute),
    KEY customer_address_value_attribute (attribute, value_folded(255)),
    FOREIGN KEY (address_id) REFERENCES customer_address (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS product_default_value (
    product_id BIGINT NOT NULL,
    attribute VARCHAR(255) NOT NULL,
    value MEDIUMTEXT,
    value_folded MEDIUMBLOB,
    PRIMARY KEY (product_id, attribute),
    KEY product_default_value_attribute (attribute, value_folded(255)),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
