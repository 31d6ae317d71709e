-- +goose Up
-- Sets of attributes that products have.
CREATE TABLE attribute_set (
    attribute_set_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    name_folded TEXT
);
