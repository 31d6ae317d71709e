-- +goose Up

-- The SQLite migration documents these tables. They may exist already when a migration
-- that failed half-way runs again.
CREATE TABLE IF NOT EXISTS lease (
    name VARCHAR(64) NOT NULL PRIMARY KEY,
    holder VARCHAR(255) NOT NULL,
    token BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS import_position (
    source VARCHAR(64) NOT NULL PRIMARY KEY,
    position MEDIUMTEXT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS import_parked (
    source VARCHAR(64) NOT NULL,
    part VARCHAR(64) NOT NULL,
    record_key BIGINT NOT NULL,
    reason VARCHAR(255) NOT NULL,
    attempts BIGINT NOT NULL,
    parked_ms BIGINT NOT NULL,
    retry_ms BIGINT NOT NULL,
    PRIMARY KEY (source, part, record_key),
    KEY import_parked_retry (source, retry_ms)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS import_state (
    state_id BIGINT NOT NULL PRIMARY KEY,
    generation BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT IGNORE INTO import_state (state_id, generation, changed_ms) VALUES (1, 0, 0);

CREATE TABLE IF NOT EXISTS import_change (
    resource VARCHAR(64) NOT NULL,
    record_key BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    PRIMARY KEY (resource, record_key),
    KEY import_change_generation (generation)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS import_process (
    id VARCHAR(64) NOT NULL PRIMARY KEY,
    imports BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
