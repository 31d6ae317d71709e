-- +goose Up

-- What commands have found out about a migration, for other commands: the last result of
-- each name, as JSON, and when it was noted, in milliseconds since 1970.
CREATE TABLE evidence (
    name TEXT NOT NULL PRIMARY KEY,
    content TEXT NOT NULL,
    noted_ms INTEGER NOT NULL
);
