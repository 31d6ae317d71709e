-- +goose Up

-- The number of products in each block of 1,024 ids: of all products in the rows of store_id -1, and
-- of the products that each store view lists. A deep page of a list begins at the block in which it
-- begins, so that the entries of an index before the block need not be skipped one by one. Triggers keep
-- the rows, so that other programs and earlier versions may write. Connections write different
-- rows (slot), so that they seldom wait for each other.
LOCK TABLE product, product_listing IN SHARE ROW EXCLUSIVE MODE;

CREATE TABLE product_count (
    store_id BIGINT NOT NULL,
    block BIGINT NOT NULL,
    slot BIGINT NOT NULL,
    products BIGINT NOT NULL,
    PRIMARY KEY (store_id, block, slot)
);

-- +goose StatementBegin
CREATE FUNCTION count_products() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM product_count WHERE store_id = -1;
        RETURN NULL;
    END IF;
    INSERT INTO product_count (store_id, block, slot, products)
    SELECT -1, entity_id >> 10, pg_backend_pid() % 16, COUNT(*) * CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END
    FROM changed GROUP BY 2 ORDER BY 2
    ON CONFLICT (store_id, block, slot) DO UPDATE SET products = product_count.products + excluded.products;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION count_listed_products() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM product_count WHERE store_id <> -1;
        RETURN NULL;
    END IF;
    INSERT INTO product_count (store_id, block, slot, products)
    SELECT store_id, product_id >> 10, pg_backend_pid() % 16, COUNT(*) * CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END
    FROM changed GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (store_id, block, slot) DO UPDATE SET products = product_count.products + excluded.products;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER product_counted_insert AFTER INSERT ON product
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE PROCEDURE count_products();
CREATE TRIGGER product_counted_delete AFTER DELETE ON product
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE PROCEDURE count_products();
CREATE TRIGGER product_counted_truncate AFTER TRUNCATE ON product
    FOR EACH STATEMENT EXECUTE PROCEDURE count_products();
CREATE TRIGGER product_counted_insert AFTER INSERT ON product_listing
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE PROCEDURE count_listed_products();
CREATE TRIGGER product_counted_delete AFTER DELETE ON product_listing
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE PROCEDURE count_listed_products();
CREATE TRIGGER product_counted_truncate AFTER TRUNCATE ON product_listing
    FOR EACH STATEMENT EXECUTE PROCEDURE count_listed_products();

INSERT INTO product_count (store_id, block, slot, products)
SELECT -1, entity_id >> 10, 0, COUNT(*) FROM product GROUP BY 2;
INSERT INTO product_count (store_id, block, slot, products)
SELECT store_id, product_id >> 10, 0, COUNT(*) FROM product_listing GROUP BY 1, 2;
