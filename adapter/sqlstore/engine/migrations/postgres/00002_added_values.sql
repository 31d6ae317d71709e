-- +goose Up

-- The tables of the SQLite migration, which documents them, with the types of
-- PostgreSQL. Indexes do not include the value, which may be too long for one.
CREATE TABLE customer_value (
    customer_id BIGINT NOT NULL REFERENCES customer(entity_id) ON DELETE CASCADE,
    attribute TEXT NOT NULL,
    value TEXT,
    value_folded TEXT COLLATE "C",
    PRIMARY KEY (customer_id, attribute)
);
CREATE INDEX customer_value_attribute ON customer_value (attribute);

CREATE TABLE customer_address_value (
    address_id BIGINT NOT NULL REFERENCES customer_address(entity_id) ON DELETE CASCADE,
    attribute TEXT NOT NULL,
    value TEXT,
    value_folded TEXT COLLATE "C",
    PRIMARY KEY (address_id, attribute)
);
CREATE INDEX customer_address_value_attribute ON customer_address_value (attribute);

CREATE TABLE product_default_value (
    product_id BIGINT NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    attribute TEXT NOT NULL,
    value TEXT,
    value_folded TEXT COLLATE "C",
    PRIMARY KEY (product_id, attribute)
);
CREATE INDEX product_default_value_attribute ON product_default_value (attribute);
