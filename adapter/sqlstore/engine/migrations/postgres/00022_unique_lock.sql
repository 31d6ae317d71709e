-- +goose Up

-- The SQLite migration documents this row.
INSERT INTO write_lock (name) VALUES ('unique') ON CONFLICT DO NOTHING;
