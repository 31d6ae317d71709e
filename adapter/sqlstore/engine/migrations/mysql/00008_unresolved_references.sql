-- +goose Up

-- The SQLite migration documents this change.
UPDATE backend_record SET tag = '' WHERE tag <> '';
