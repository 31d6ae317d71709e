-- +goose Up

-- The SQLite migration documents this table.
CREATE TABLE product_rule_price (
    rule_price_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id BIGINT NOT NULL,
    website_id BIGINT NOT NULL,
    cust_group BIGINT NOT NULL,
    rule_date DATETIME NOT NULL,
    price DECIMAL(12,4) NOT NULL,
    UNIQUE KEY (product_id, website_id, cust_group, rule_date),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
