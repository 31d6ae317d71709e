-- +goose Up

-- The table of the SQLite migration, which documents it.
CREATE TABLE backend_record (
    resource TEXT COLLATE "C" NOT NULL,
    legacy_id BIGINT NOT NULL,
    backend_id TEXT COLLATE "C",
    root TEXT COLLATE "C",
    owner_id BIGINT,
    tag TEXT NOT NULL,
    base TEXT,
    note TEXT,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (resource, legacy_id),
    UNIQUE (resource, backend_id)
);
CREATE INDEX backend_record_owner ON backend_record (root, owner_id);
CREATE INDEX backend_record_note ON backend_record (changed_at) WHERE note IS NOT NULL;
