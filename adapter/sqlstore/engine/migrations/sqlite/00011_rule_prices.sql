-- +goose Up

-- Prices of the days on which rules of the catalog lower the price of a product.
CREATE TABLE product_rule_price (
    rule_price_id INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    website_id INTEGER NOT NULL,
    cust_group INTEGER NOT NULL,
    rule_date TEXT NOT NULL,
    price DECIMAL(12,4) NOT NULL,
    UNIQUE (product_id, website_id, cust_group, rule_date)
);
