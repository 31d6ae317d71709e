-- +goose Up
-- Nothing changes on MariaDB, where the indexes on attribute hold the value, too.
SELECT 1;
