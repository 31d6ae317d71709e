-- +goose Up

-- The table of the SQLite migration, which documents it. Ids of the backend are bytes,
-- as the collations of both servers ignore trailing blanks. An id of 255 characters
-- takes up to four bytes for each.
CREATE TABLE backend_record (
    resource VARCHAR(64) NOT NULL,
    legacy_id BIGINT NOT NULL,
    backend_id VARBINARY(1020),
    root VARCHAR(64),
    owner_id BIGINT,
    tag VARCHAR(255) NOT NULL,
    base MEDIUMTEXT,
    note MEDIUMTEXT,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (resource, legacy_id),
    UNIQUE KEY backend_record_backend_id (resource, backend_id),
    KEY backend_record_owner (root, owner_id),
    KEY backend_record_note (note(1))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
