-- +goose Up

-- The SQLite migration documents these tables.
CREATE TABLE IF NOT EXISTS access_role (
    role_id BIGINT NOT NULL PRIMARY KEY,
    name VARCHAR(255) NOT NULL,
    name_folded VARCHAR(255) NOT NULL UNIQUE,
    everything BIGINT NOT NULL,
    imported BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS access_rule (
    role_id BIGINT NOT NULL,
    resource VARCHAR(64) NOT NULL,
    privilege VARCHAR(64) NOT NULL,
    PRIMARY KEY (role_id, resource, privilege)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS admin_role (
    admin_id BIGINT NOT NULL PRIMARY KEY,
    role_id BIGINT,
    everything BIGINT NOT NULL,
    imported BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
