-- +goose Up

-- The products that shoppers may list at each store view: those that the website
-- sells, that are enabled, by default and in the website, and that are visible
-- individually by default. The table is derived from others and updated with them, so
-- that a list can be paged and counted without reading every product before the page.
CREATE TABLE product_listing (
    store_id INTEGER NOT NULL REFERENCES store(store_id) ON DELETE CASCADE,
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    PRIMARY KEY (store_id, product_id)
) WITHOUT ROWID;

INSERT INTO product_listing (store_id, product_id)
SELECT store.store_id, product.entity_id
FROM product
JOIN product_website ON product_website.product_id = product.entity_id
JOIN store ON store.website_id = product_website.website_id
LEFT JOIN product_value ON product_value.product_id = product.entity_id
    AND product_value.store_id = store.store_id AND product_value.attribute = 'status'
WHERE product.status = 1 AND product.visibility <> 1
    AND (product_value.product_id IS NULL OR product_value.value = '1');

CREATE INDEX product_listing_product_id ON product_listing (product_id);
