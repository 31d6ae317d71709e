-- +goose Up

-- The SQLite migration documents this table.
CREATE TABLE evidence (
    name TEXT NOT NULL PRIMARY KEY,
    content TEXT NOT NULL,
    noted_ms BIGINT NOT NULL
);
