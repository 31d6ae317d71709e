-- +goose Up
-- Nothing changes on SQLite, where the indexes on attribute hold the value, too.
SELECT 1;
