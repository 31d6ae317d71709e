-- +goose Up

-- The SQLite migration documents these tables.
CREATE TABLE access_role (
    role_id BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL UNIQUE,
    everything BIGINT NOT NULL,
    imported BIGINT NOT NULL
);

CREATE TABLE access_rule (
    role_id BIGINT NOT NULL,
    resource TEXT NOT NULL,
    privilege TEXT NOT NULL,
    PRIMARY KEY (role_id, resource, privilege)
);

CREATE TABLE admin_role (
    admin_id BIGINT NOT NULL PRIMARY KEY,
    role_id BIGINT,
    everything BIGINT NOT NULL,
    imported BIGINT NOT NULL
);
