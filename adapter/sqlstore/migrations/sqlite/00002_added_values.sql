-- +goose Up

-- The values of attributes that a store adds by its configuration: of customers,
-- of addresses, and of products in the default scope; those of store views are
-- rows of product_value. No row: never stored; value NULL: stored as "nothing".
-- Every value is its text: digits, a decimal with four places, a UTC time.
-- value_folded is the folded form of a text, and NULL for other kinds.
CREATE TABLE customer_value (
    customer_id INTEGER NOT NULL REFERENCES customer(entity_id) ON DELETE CASCADE,
    attribute TEXT NOT NULL,
    value TEXT,
    value_folded TEXT,
    PRIMARY KEY (customer_id, attribute)
);
CREATE INDEX customer_value_attribute ON customer_value (attribute, value_folded);

CREATE TABLE customer_address_value (
    address_id INTEGER NOT NULL REFERENCES customer_address(entity_id) ON DELETE CASCADE,
    attribute TEXT NOT NULL,
    value TEXT,
    value_folded TEXT,
    PRIMARY KEY (address_id, attribute)
);
CREATE INDEX customer_address_value_attribute ON customer_address_value (attribute, value_folded);

CREATE TABLE product_default_value (
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    attribute TEXT NOT NULL,
    value TEXT,
    value_folded TEXT,
    PRIMARY KEY (product_id, attribute)
);
CREATE INDEX product_default_value_attribute ON product_default_value (attribute, value_folded);
