-- +goose Up

-- How often each lock was taken. Transactions take a lock by incrementing this, because the nodes of a
-- Galera cluster compare what transactions have written, and not which rows they have locked.
-- SQLite does not use it.
ALTER TABLE write_lock ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;
