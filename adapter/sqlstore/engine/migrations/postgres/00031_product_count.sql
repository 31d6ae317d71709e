-- +goose NO TRANSACTION
-- +goose Up

-- The number of products in each block of 1,024 ids: of all products in the rows of store_id -1, and
-- of the products that each store view lists. The rows of a block add up to its number. A deep page of a
-- list begins at the block in which it begins, so that the entries of an index before the block need
-- not be skipped one by one. Triggers keep the rows, so that other programs and earlier versions may write.
CREATE TABLE IF NOT EXISTS product_count (store_id BIGINT NOT NULL, block BIGINT NOT NULL, products BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS product_count_block ON product_count (store_id, block);

-- The triggers have the rights of their owner, so that whoever writes products needs no right to this table. They find
-- tables in this schema alone: unless it is named, pg_temp, where anyone can create tables, would come first.
-- Whoever may create functions in this schema could create array_agg(BIGINT), which PostgreSQL would prefer to its own
-- array_agg(ANYNONARRAY), and which would run with the rights of the owner. So calls name pg_catalog, and arguments of
-- operators have exactly their types. unnest of several arrays is always that of PostgreSQL.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', false);

-- add_product_counts adds numbers of products to blocks, and merges the rows of these blocks. It skips rows that another
-- transaction is merging, so that no transaction waits for another one. With an older snapshot, a transaction would
-- fail at rows that others have merged since: it only adds rows.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION add_product_counts(store_ids BIGINT[], blocks BIGINT[], numbers BIGINT[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        INSERT INTO product_count (store_id, block, products) SELECT * FROM unnest(store_ids, blocks, numbers);
        RETURN;
    END IF;
    WITH added AS (
        SELECT a.store_id, a.block, SUM(a.products) AS products
        FROM unnest(store_ids, blocks, numbers) AS a (store_id, block, products) GROUP BY 1, 2
    ), present AS (
        SELECT c.ctid AS place, c.* FROM product_count c JOIN added a ON a.store_id = c.store_id AND a.block = c.block
        FOR UPDATE OF c SKIP LOCKED
    ), removed AS (
        DELETE FROM product_count WHERE ctid = ANY (ARRAY(SELECT place FROM present))
    )
    INSERT INTO product_count (store_id, block, products)
    SELECT store_id, block, SUM(products)
    FROM (SELECT store_id, block, products FROM added UNION ALL SELECT store_id, block, products FROM present) AS every
    GROUP BY store_id, block HAVING SUM(products) <> 0.0;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION add_product_counts(BIGINT[], BIGINT[], BIGINT[]) FROM PUBLIC;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_product() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    CASE TG_OP
    WHEN 'TRUNCATE' THEN
        DELETE FROM product_count WHERE store_id = -1;
    WHEN 'UPDATE' THEN
        PERFORM add_product_counts(CAST('{-1,-1}' AS BIGINT[]), ARRAY[OLD.entity_id >> 10, NEW.entity_id >> 10], CAST('{-1,1}' AS BIGINT[]));
    ELSE
        PERFORM add_product_counts(pg_catalog.array_agg(CAST(-1 AS BIGINT)), pg_catalog.array_agg(block), pg_catalog.array_agg(products))
        FROM (SELECT entity_id >> 10 AS block, COUNT(*) * CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END AS products FROM changed GROUP BY 1) AS blocks;
    END CASE;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_product_listing() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    CASE TG_OP
    WHEN 'TRUNCATE' THEN
        DELETE FROM product_count WHERE store_id <> -1;
    WHEN 'UPDATE' THEN
        PERFORM add_product_counts(ARRAY[OLD.store_id, NEW.store_id], ARRAY[OLD.product_id >> 10, NEW.product_id >> 10], CAST('{-1,1}' AS BIGINT[]));
    ELSE
        PERFORM add_product_counts(pg_catalog.array_agg(store_id), pg_catalog.array_agg(block), pg_catalog.array_agg(products))
        FROM (SELECT store_id, product_id >> 10 AS block, COUNT(*) * CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END AS products FROM changed GROUP BY 1, 2) AS blocks;
    END CASE;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- recount_products corrects the counts, whatever has changed products without triggers. Writers need not wait: one
-- statement sees the products and the counts of the same moment. It takes a lock, and needs a snapshot that is younger
-- than the lock, because two corrections at a time would both add the difference.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION recount_products() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'recount_products needs a transaction at the isolation level read committed';
    END IF;
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('product_count'));
    INSERT INTO product_count (store_id, block, products)
    SELECT store_id, block, SUM(products)
    FROM (
        SELECT -1 AS store_id, entity_id >> 10 AS block, COUNT(*) AS products FROM product GROUP BY 2
        UNION ALL SELECT store_id, product_id >> 10, COUNT(*) FROM product_listing GROUP BY 1, 2
        UNION ALL SELECT store_id, block, -SUM(products) FROM product_count GROUP BY 1, 2
    ) AS every
    GROUP BY store_id, block HAVING SUM(products) <> 0.0;
END $$;
-- +goose StatementEnd

REVOKE EXECUTE ON FUNCTION count_product(), count_product_listing() FROM PUBLIC; -- so that nobody else creates triggers with them

-- A view in the place of a table gets no triggers, and its lists use no counts.
-- +goose StatementBegin
DO $$
DECLARE
    counted RECORD;
BEGIN
    FOR counted IN SELECT relname FROM pg_class
        WHERE relkind = 'r' AND oid IN (to_regclass('product'), to_regclass('product_listing')) ORDER BY relname
    LOOP
        EXECUTE format(replace('
            DROP TRIGGER IF EXISTS product_counted_insert ON @;
            DROP TRIGGER IF EXISTS product_counted_delete ON @;
            DROP TRIGGER IF EXISTS product_counted_update ON @;
            DROP TRIGGER IF EXISTS product_counted_truncate ON @;
            CREATE TRIGGER product_counted_insert AFTER INSERT ON @ REFERENCING NEW TABLE AS changed
                FOR EACH STATEMENT EXECUTE PROCEDURE count_@();
            CREATE TRIGGER product_counted_delete AFTER DELETE ON @ REFERENCING OLD TABLE AS changed
                FOR EACH STATEMENT EXECUTE PROCEDURE count_@();
            CREATE TRIGGER product_counted_truncate AFTER TRUNCATE ON @
                FOR EACH STATEMENT EXECUTE PROCEDURE count_@();
            CREATE TRIGGER product_counted_update AFTER UPDATE ON @
                FOR EACH ROW WHEN (%s) EXECUTE PROCEDURE count_@();', '@', counted.relname),
            CASE counted.relname WHEN 'product' THEN 'OLD.entity_id <> NEW.entity_id'
                ELSE 'OLD.store_id <> NEW.store_id OR OLD.product_id <> NEW.product_id' END);
    END LOOP;
END $$;
-- +goose StatementEnd

SELECT recount_products();
RESET search_path;
