-- +goose Up

-- The SQLite migration documents this row.
INSERT IGNORE INTO write_lock (name) VALUES ('unique');
