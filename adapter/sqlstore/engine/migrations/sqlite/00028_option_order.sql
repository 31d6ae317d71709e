-- +goose Up
-- Lists in the order of the labels of options read the products of each option by these indexes, in the
-- order of their ids. The expression is the number with which a value begins: the id of its first option.
CREATE INDEX product_default_value_option ON product_default_value
    (attribute, CASE WHEN value GLOB '[0-9]*' THEN CAST(value AS INTEGER) END, product_id);
CREATE INDEX product_value_option ON product_value
    (attribute, store_id, CASE WHEN value GLOB '[0-9]*' THEN CAST(value AS INTEGER) END, product_id);
