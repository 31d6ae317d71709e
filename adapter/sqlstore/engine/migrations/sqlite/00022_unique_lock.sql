-- +goose Up

-- Writes of records whose values no other record may have take this lock, where a unique index cannot
-- decide because records may share the values already.
INSERT OR IGNORE INTO write_lock (name) VALUES ('unique');
