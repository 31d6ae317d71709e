-- +goose Up

-- Values of the attributes that the configuration adds to customers, to addresses, and
-- to products in the default scope; those of store views are rows of product_value.
-- Without a row the value was never stored; value NULL is a stored null. Values are
-- texts: digits, a decimal with four decimal places, or a UTC time. value_folded is
-- the folded form of a text, and NULL for other kinds.
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
