-- +goose Up

-- Which process does what only one of several may do. token grows with every new holder,
-- and stays when nobody holds the lease: then holder is empty. expires_ms is the time of
-- the database's clock, in milliseconds since 1970.
CREATE TABLE lease (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
);

-- How far the changes of a source of imports have come, in a text of the follower's.
CREATE TABLE import_position (
    source TEXT NOT NULL PRIMARY KEY,
    position TEXT NOT NULL
);

-- Records of sources that could not be imported, and are tried again at retry_ms. Times are
-- in milliseconds since 1970. record_key 0 stands for all records of the part.
CREATE TABLE import_parked (
    source TEXT NOT NULL,
    part TEXT NOT NULL,
    record_key INTEGER NOT NULL,
    reason TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    parked_ms INTEGER NOT NULL,
    retry_ms INTEGER NOT NULL,
    PRIMARY KEY (source, part, record_key)
);
CREATE INDEX import_parked_retry ON import_parked (source, retry_ms);

-- How often imports have changed records, in its only row, and when they did so last.
CREATE TABLE import_state (
    state_id INTEGER NOT NULL PRIMARY KEY,
    generation INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL
);
INSERT INTO import_state (state_id, generation, changed_ms) VALUES (1, 0, 0);

-- Which records they were in the last generations. record_key 0 stands for all records of
-- the resource.
CREATE TABLE import_change (
    resource TEXT NOT NULL,
    record_key INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (resource, record_key)
);
CREATE INDEX import_change_generation ON import_change (generation);

-- The processes that import (imports is 1), and those that cache records (0).
CREATE TABLE import_process (
    id TEXT NOT NULL PRIMARY KEY,
    imports INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
);
