-- +goose Up

-- The SQLite migration documents this table.
CREATE TABLE IF NOT EXISTS attribute_option (
    option_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    resource VARCHAR(255) NOT NULL,
    attribute VARCHAR(255) NOT NULL,
    label VARCHAR(255) NOT NULL,
    labels MEDIUMTEXT,
    position BIGINT
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
