-- +goose Up

-- What another system still has to repeat of the writes of clients, one row for each record
-- and store view. Rows of the same root are delivered in the order of entry_id. Those with held
-- are not, as the other system's interface has no form for them: they only keep what clients
-- have written. agreed, sent and identity are JSON. sending: a delivery is in progress. Times are
-- in milliseconds since 1970.
CREATE TABLE outbox_entry (
    entry_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    resource TEXT NOT NULL,
    record_key INTEGER NOT NULL,
    store_id INTEGER NOT NULL,
    held INTEGER NOT NULL,
    root TEXT NOT NULL,
    root_key INTEGER NOT NULL,
    agreed TEXT NOT NULL,
    sent TEXT NOT NULL,
    sending INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    identity TEXT NOT NULL,
    version INTEGER NOT NULL,
    reason TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    parked INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    retry_ms INTEGER NOT NULL,
    UNIQUE (resource, record_key, store_id, held)
);
CREATE INDEX outbox_entry_root ON outbox_entry (root, root_key, entry_id);
CREATE INDEX outbox_entry_parked ON outbox_entry (held, parked, entry_id);
CREATE INDEX outbox_entry_retry ON outbox_entry (held, parked, retry_ms, entry_id);

-- Attributes that clients here and somebody in the other system have changed.
CREATE TABLE outbox_conflict (
    conflict_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    resource TEXT NOT NULL,
    record_key INTEGER NOT NULL,
    store_id INTEGER NOT NULL,
    attribute TEXT NOT NULL,
    ours TEXT NOT NULL,
    theirs TEXT NOT NULL,
    outcome TEXT NOT NULL,
    noted_ms INTEGER NOT NULL
);

-- Records that were to be created in the other system: what became of it is unknown while
-- there is a row. natural_key finds the record there; it is empty if nothing does.
CREATE TABLE outbox_create (
    create_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    resource TEXT NOT NULL,
    root TEXT NOT NULL,
    root_key INTEGER NOT NULL,
    natural_key TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_ms INTEGER NOT NULL
);

-- Which system has the writes of a resource, for those whose writes have ever been mirrored.
-- mirrored: clients write here, and the other system repeats it. While turning is 1, nobody
-- writes. epoch grows with every change.
CREATE TABLE write_owner (
    resource TEXT NOT NULL PRIMARY KEY,
    mirrored INTEGER NOT NULL,
    turning INTEGER NOT NULL,
    epoch INTEGER NOT NULL
);

-- The processes that clients write through. wishes and known are JSON: for each resource
-- whether the process is configured to mirror its writes, and the last epoch that it knows
-- and has no older writes of. expires_ms is of the database's clock.
CREATE TABLE write_process (
    process_id TEXT NOT NULL PRIMARY KEY,
    wishes TEXT NOT NULL,
    known TEXT NOT NULL,
    expires_ms INTEGER NOT NULL
);
