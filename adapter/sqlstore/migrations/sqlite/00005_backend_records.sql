-- +goose Up

-- The ledger: which record of a backend over HTTP each legacy id belongs to. It
-- refers to no table, as the entry of a record that is being removed outlives it.
-- backend_id: NULL while it is not known. It is compared byte by byte.
-- root, owner_id: the resource and key of the record whose part it is; NULL for one
-- that stands for itself.
-- tag, base: of the backend's document when both sides agreed last; base NULL: not
-- known.
-- note: a write that is not known to be done; NULL for none.
-- changed_at: when the entry was stored last, in microseconds of Unix time.
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
