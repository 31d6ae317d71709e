-- +goose Up

-- The SQLite migration documents this table.
CREATE TABLE store_state (
    state_id BIGINT NOT NULL PRIMARY KEY,
    identity TEXT NOT NULL,
    epoch TEXT NOT NULL
);
INSERT INTO store_state (state_id, identity, epoch) VALUES (1, '', '');
