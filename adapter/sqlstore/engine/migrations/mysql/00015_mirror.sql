-- +goose Up

-- The SQLite migration documents these tables. They may exist already when a migration
-- that failed half-way runs again.
CREATE TABLE IF NOT EXISTS outbox_entry (
    entry_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    resource VARCHAR(64) NOT NULL,
    record_key BIGINT NOT NULL,
    store_id BIGINT NOT NULL,
    held BIGINT NOT NULL,
    root VARCHAR(64) NOT NULL,
    root_key BIGINT NOT NULL,
    agreed TEXT NOT NULL,
    sent TEXT NOT NULL,
    sending BIGINT NOT NULL,
    removed BIGINT NOT NULL,
    gone BIGINT NOT NULL,
    identity TEXT NOT NULL,
    version BIGINT NOT NULL,
    reason VARCHAR(255) NOT NULL,
    attempts BIGINT NOT NULL,
    parked BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    retry_ms BIGINT NOT NULL,
    UNIQUE KEY outbox_entry_record (resource, record_key, store_id, held),
    KEY outbox_entry_root (root, root_key, entry_id),
    KEY outbox_entry_parked (held, parked, entry_id),
    KEY outbox_entry_retry (held, parked, retry_ms, entry_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox_conflict (
    conflict_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    resource VARCHAR(64) NOT NULL,
    record_key BIGINT NOT NULL,
    store_id BIGINT NOT NULL,
    attribute VARCHAR(255) NOT NULL,
    ours TEXT NOT NULL,
    theirs TEXT NOT NULL,
    outcome VARCHAR(64) NOT NULL,
    noted_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outbox_create (
    create_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    resource VARCHAR(64) NOT NULL,
    root VARCHAR(64) NOT NULL,
    root_key BIGINT NOT NULL,
    natural_key VARCHAR(255) NOT NULL,
    reason VARCHAR(255) NOT NULL,
    created_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS write_owner (
    resource VARCHAR(64) NOT NULL PRIMARY KEY,
    mirrored BIGINT NOT NULL,
    turning BIGINT NOT NULL,
    epoch BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS write_process (
    process_id VARCHAR(64) NOT NULL PRIMARY KEY,
    wishes TEXT NOT NULL,
    known TEXT NOT NULL,
    expires_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
