-- +goose Up
-- Sets of attributes that products have.
CREATE TABLE attribute_set (
    attribute_set_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(255) NOT NULL,
    name_folded VARBINARY(1020)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
