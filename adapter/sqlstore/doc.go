// Package sqlstore is the reference adapter. It stores a whole shop, and the credentials for it, in
// an SQL database: SQLite, PostgreSQL, MySQL or MariaDB.
//
// # Principles
//
//  1. This package queries, reads and writes records, erases customers, and opens all other parts,
//     which are packages below it: the database and the differences between engines (engine), the
//     ID map, the outbox, leases, and the log and the changes of imports (coordination), the bytes
//     of images (media), credentials (credentials) and backups (backups).
//  2. Package rules decides the consequences of a write; [Tx] implements its transactions. A write
//     locks the records that it depends on before it reads them. Records that belong to a customer
//     are locked after the customer.
//  3. SQLite has one connection that writes, in transactions that lock the database at their start;
//     on servers a transaction locks the record, at read committed. The named locks of servers are
//     rows of write_lock. Each node of a Galera cluster locks rows for itself: transactions of
//     several nodes exclude each other by a row that each of them writes (LockName and LockOnNodes
//     of package engine).
//  4. A transaction that fails because of concurrent ones (a deadlock, a serialization failure) is
//     repeated a few times. So is a transaction that a unique index has stopped: the next attempt
//     finds the other record and reports it.
//  5. Text is compared and sorted by columns that hold adapter.Fold of it, byte by byte, so all
//     engines agree with adapter.Apply. A condition that SQL cannot evaluate exactly as Apply does
//     is evaluated while the rows are read (find.go). A list is Partial only if the statement
//     cannot produce its order or the prices that its conditions concern.
//  6. A list takes few statements: one statement reads the parts of many products
//     (productparts.go). Derived data is stored only if no index can provide it: the product
//     listing (listing.go), which is updated in the transaction that changes its sources.
//  7. [DB.Replica] makes the database the local replica of a backend over HTTP, for package
//     replica. A record imported from the backend and its mapping are stored in one transaction.
//  8. Imported records are stored under their ids and unchanged, with a transaction for each batch.
//     Imports can be repeated. A dry run executes the same queries as a real run.
//  9. [DB.EraseCustomer] deletes, in one transaction, the customer, the addresses, the tokens and
//     API keys, and their data in an outbox, an ID map and logs of imports. Orders are records of
//     the store's books: their numbers, times, lines, amounts and countries stay, and other values
//     that identify the person are overwritten with NULL, also in orders that were placed as a
//     guest with the same e-mail address. Notes in free text that have the address are deleted. The
//     receipt counts rows and contains no names; the caller can note it in the same transaction.
//  10. Errors contain neither secrets nor the password of a DSN.
//
// # A database with another schema
//
// Without Options.Migrate, sqlstore uses an existing database through views that have the names and
// columns of the tables in the migrations. Only the views that calls reach must exist: stock_item
// for stock items, and product with entity_id, created_at and updated_at for lists of stock items
// by the dates of their products. A view needs
//
//   - a column for every attribute of the schema, named as the attribute. The key must be a number
//     that never changes for a record;
//   - for every text a second column, <attribute>_folded, with the form that adapter.Fold returns.
//     Without it the attribute can be read, but queries can neither filter nor sort by it. For
//     plain Latin text, UPPER without accents will do. The column must compare byte by byte:
//     COLLATE "C" on PostgreSQL, BINARY on SQLite, a binary string on MySQL;
//   - for customer, customer_address and product a column nulls, which may be empty in every row;
//   - no column for attributes that the configuration adds. Only such attributes require views with
//     a row for each value: customer_value with customer_id, customer_address_value with
//     address_id, and product_default_value with product_id, each with attribute, value and
//     value_folded. Values are texts: digits, a decimal, a time in the form below. A stored null
//     has a row with the value NULL; a value that was never stored has no row. Values of store
//     views are rows of product_value, which also has a store_id. Names of categories at store
//     views are rows of category_value, with category_id, store_id, name and name_folded;
//   - the types of the attributes' kinds: BIGINT for integers, flags included (1 and 0, no
//     booleans), DECIMAL with at most four decimal places in use for decimals, and TIMESTAMP(0) or
//     DATETIME in UTC for times (on SQLite TEXT, "2006-01-02 15:04:05").
//
// A view provides values that the backend does not store as a constant, and values that it stores
// in another form as an expression, both with the right type:
//
//	CREATE VIEW stock_item AS SELECT
//	  bin AS item_id,
//	  (SELECT article_no FROM article WHERE sku = article_sku) AS product_id,
//	  CAST(1 AS BIGINT) AS stock_id,
//	  on_hand AS qty,
//	  …
//	FROM inventory
//
// One table holds no resource: product_listing, with store_id and product_id, holds the products
// that shoppers may list at each store view. A backend without such a table derives it by a view:
//
//	CREATE VIEW product_listing AS SELECT store.store_id, product.entity_id AS product_id
//	FROM product
//	JOIN product_website ON product_website.product_id = product.entity_id
//	JOIN store ON store.website_id = product_website.website_id
//	WHERE product.status = 1 AND product.visibility <> 1
//
// With stock.hide_sold_out it needs a third column, stock_state: 1 for a product that is in stock at
// the store view, 0 for one that is sold out, and 2 for one that is in stock only where stock is not
// managed by default.
//
// On PostgreSQL, triggers on the tables product and product_listing count the products of each block of
// ids, for pages deep in long lists. If one of them is a view, lists are read without counts.
//
// An attribute can be changed if the engine can update its column: a plain column of a view over
// one table, such as qty above, or a column that an INSTEAD OF trigger handles (PostgreSQL,
// SQLite). Changing any other attribute fails with kind Unsupported; on SQLite the trigger decides.
// A write of a text also writes its folded column, and every change of a customer or an address
// writes updated_at. Records can be created and deleted if the engine can insert and delete rows of
// the view; it must generate the keys. Triggers must handle everything else that belongs to a
// customer or a product.
//
// Products are written and assigned by statements on product, product_value, product_group_price,
// product_tier_price, product_rule_price, product_image, product_image_value,
// product_image_pointer, product_website, product_category and stock_item, each on one view, and by
// reading store. Imports also write category_value. write_lock and media_file must be tables as in
// the migrations; for imports import_state, import_change, import_process and store_state, too; for
// imports with a source imported_record, import_source, import_position, import_parked and
// import_digest; for leases the table lease; and for Evidence and EraseCustomer the table
// evidence. A new comment inserts a row of order_comment, and updates status and updated_at of its
// sales_order and updated_at of its rows of order_item. Records are locked by SELECT … FOR UPDATE
// on the view, so the view must not group, and an outer join must be written as a subquery as
// above.
//
// # How it is tested
//
// All tests use real databases; the tests start the servers (package sqltest). They run the
// conformance suite of package adaptertest, compare every table with its schema and with the tables
// of the other engines, compare queries with adapter.Apply, and use views over another schema.
// Further tests cover behavior that the suite cannot see: migrations, loading, resets during reads
// and writes, credentials, nonces, deadlocks, kinds of errors, and cached statements. A customer
// with data in every table is erased, and then no column of any table may have the e-mail address,
// the names or the address. A benchmark compares Update with bare prepared statements.
package sqlstore
