-- +goose Up

-- The SQLite migration documents these tables.
CREATE TABLE lease (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    token BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);

CREATE TABLE import_position (
    source TEXT NOT NULL PRIMARY KEY,
    position TEXT NOT NULL
);

CREATE TABLE import_parked (
    source TEXT NOT NULL,
    part TEXT NOT NULL,
    record_key BIGINT NOT NULL,
    reason TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    parked_ms BIGINT NOT NULL,
    retry_ms BIGINT NOT NULL,
    PRIMARY KEY (source, part, record_key)
);
CREATE INDEX import_parked_retry ON import_parked (source, retry_ms);

CREATE TABLE import_state (
    state_id BIGINT NOT NULL PRIMARY KEY,
    generation BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL
);
INSERT INTO import_state (state_id, generation, changed_ms) VALUES (1, 0, 0);

CREATE TABLE import_change (
    resource TEXT NOT NULL,
    record_key BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    PRIMARY KEY (resource, record_key)
);
CREATE INDEX import_change_generation ON import_change (generation);

CREATE TABLE import_process (
    id TEXT NOT NULL PRIMARY KEY,
    imports BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
