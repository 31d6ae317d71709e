-- +goose Up

-- The ID map: which record of a backend over HTTP belongs to which legacy id. It has
-- no foreign keys, as the entry of a record that is being removed outlives it.
-- backend_id: NULL while unknown. It is compared byte by byte.
-- root, owner_id: the resource and key of the record that this is a part of; NULL for
-- a record that is not a part.
-- tag, base: tag and content of the backend's document when it last agreed with the
-- local replica; base is NULL if unknown.
-- note: the write intent, a write that may not be finished; NULL for none.
-- changed_at: when the entry was last stored, in microseconds of Unix time.
CREATE TABLE backend_record (
    resource TEXT NOT NULL,
    legacy_id INTEGER NOT NULL,
    backend_id TEXT,
    root TEXT,
    owner_id INTEGER,
    tag TEXT NOT NULL,
    base TEXT,
    note TEXT,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (resource, legacy_id),
    UNIQUE (resource, backend_id)
);
CREATE INDEX backend_record_owner ON backend_record (root, owner_id);
CREATE INDEX backend_record_note ON backend_record (changed_at) WHERE note IS NOT NULL;
