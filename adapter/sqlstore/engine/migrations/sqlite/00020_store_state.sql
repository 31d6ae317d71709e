-- +goose Up

-- What this database is, in its only row; backups leave it out. epoch is a random text that changes
-- whenever records are replaced by something that notes no changes, such as a restored backup: what
-- processes have cached before is then no longer used. identity is another one that never changes,
-- so that a folder or bucket of images can say which database it belongs to. Both are empty until the
-- program that runs the migrations has set them.
CREATE TABLE store_state (
    state_id INTEGER NOT NULL PRIMARY KEY,
    identity TEXT NOT NULL,
    epoch TEXT NOT NULL
);
INSERT INTO store_state (state_id, identity, epoch) VALUES (1, '', '');
