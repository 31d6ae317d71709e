-- +goose Up

-- The SQLite migration documents this column.
ALTER TABLE write_lock ADD COLUMN taken BIGINT NOT NULL DEFAULT 0;
