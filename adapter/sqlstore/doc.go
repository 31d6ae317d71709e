// Package sqlstore is the reference adapter. It stores a whole shop, and the credentials
// for it, in an SQL database: SQLite, PostgreSQL, MySQL or MariaDB.
//
// # Principles
//
//  1. The tables follow the schemas of package adapter: one table for each resource,
//     with columns named as the attributes (layout.go). Attributes that the
//     configuration adds have no columns but rows in value tables (added.go); no
//     statement refers to those tables unless there are such attributes. The
//     migrations of SQLite document the columns; the other engines have the same
//     tables with types of their own.
//  2. Text is compared and sorted by columns that hold adapter.Fold of it, byte by
//     byte, so all engines agree with adapter.Apply. A condition that SQL cannot
//     evaluate exactly as Apply does is left out of the statement and evaluated while
//     the rows are read (find.go). A list is Partial only if the statement cannot
//     produce its order or the prices that its conditions concern.
//  3. Values are always bound as arguments, never written into a statement. Prepared
//     statements are cached by their text, up to a limit.
//  4. A write locks what it depends on before it reads it. SQLite has one connection
//     that writes, in transactions that lock the database at their start; on servers a
//     transaction locks the record, at read committed. A transaction that fails because
//     of concurrent ones (a deadlock, a serialization failure) is retried a few times.
//     So is one that a unique index has stopped: the retry finds the other record and
//     reports it. What belongs to a customer is locked after the customer. The pool of
//     readers cannot write.
//  5. Each difference between engines is a field of engine, and each engine is one file
//     (sqlite.go, postgres.go, mysql.go). No other code asks which engine it is.
//  6. Derived data is stored only if no index can provide it: the product listing
//     (listing.go), which is updated in the transaction that changes its sources.
//  7. What a write entails is decided by package rules, whose transactions writetx.go,
//     storewrite.go, productwrite.go, media.go and importtx.go implement. On servers its
//     named locks are rows of write_lock.
//  8. The bytes of images are files (blobs.go). A file is complete on disk, under its
//     name, before the transaction commits that refers to it. Only files listed in the
//     table media_file are served.
//  9. Replica makes the database the local replica of a backend over HTTP, for package
//     replica. One more table holds the ID map. A record imported from the backend and
//     its mapping are stored in one transaction.
//  10. Secrets are encrypted under the configured key. Errors contain neither secrets nor
//     the password of a DSN.
//  11. Data of another system is stored under its ids and unchanged: records by Import,
//     with a transaction for each batch, and credentials by Credentials.Import, in one
//     transaction. Existing data is left alone unless the caller asks to replace it, so
//     both can be repeated. A dry run executes the same queries as a real run. [Imports]
//     notes from which systems records came and what these had, so that a later import can
//     leave out what has not changed; how far the changes of such a system have come; and
//     which of its records wait to be tried again.
//  12. [Leases] elect one of several processes. A lease expires by the clock of the
//     database, and each new holder gets a greater token. Whoever writes by a lease compares
//     the token at the end of each transaction, with the lease locked: a process that was
//     paused while another one took over stores nothing.
//  13. A process that caches records answers with nothing older than a committed import of
//     another process. Each import starts a generation, and notes under it what it has
//     changed. While somebody imports, a [Watch] reads the generation before the process
//     answers from its cache; otherwise it looks once a second, and an importer waits until
//     all have noticed it ([DB.AnnounceImports]). The protocol is in changes.go.
//
// # A database with another schema
//
// Without Options.Migrate, sqlstore uses an existing database through views that have the
// names and columns of the tables in the migrations. Only the views that calls reach must
// exist: stock_item for stock items, and product with entity_id, created_at and updated_at
// for lists of stock items by the dates of their products. A view needs
//
//   - a column for every attribute of the schema, named as the attribute. The key must be
//     a number that never changes for a record;
//   - for every text a second column, <attribute>_folded, with the form that adapter.Fold
//     returns. Without it the attribute can be read, but queries can neither filter nor
//     sort by it. For plain Latin text, UPPER without accents will do. The column must
//     compare byte by byte: COLLATE "C" on PostgreSQL, BINARY on SQLite, a binary string
//     on MySQL;
//   - for customer, customer_address and product a column nulls, which may be empty in
//     every row;
//   - no column for attributes that the configuration adds. Only such attributes require
//     views with a row for each value: customer_value with customer_id,
//     customer_address_value with address_id, and product_default_value with product_id,
//     each with attribute, value and value_folded. Values are texts: digits, a decimal, a
//     time in the form below. A stored null has a row with the value NULL; a value that
//     was never stored has no row. Values of store views are rows of product_value, which
//     also has a store_id. Names of categories at store views are rows of category_value,
//     with category_id, store_id, name and name_folded;
//   - the types of the attributes' kinds: BIGINT for integers, flags included (1 and 0,
//     no booleans), DECIMAL with at most four decimal places in use for decimals, and
//     TIMESTAMP(0) or DATETIME in UTC for times (on SQLite TEXT, "2006-01-02 15:04:05").
//
// A view provides what the backend does not store as a constant, and what the backend
// stores in another form as an expression, both with the right type:
//
//	CREATE VIEW stock_item AS SELECT
//	  bin AS item_id,
//	  (SELECT article_no FROM article WHERE sku = article_sku) AS product_id,
//	  CAST(1 AS BIGINT) AS stock_id,
//	  on_hand AS qty,
//	  …
//	FROM inventory
//
// One table holds no resource: product_listing, with store_id and product_id, says which
// products shoppers may list at which store view. A backend without such a table derives it
// by a view:
//
//	CREATE VIEW product_listing AS SELECT store.store_id, product.entity_id AS product_id
//	FROM product
//	JOIN product_website ON product_website.product_id = product.entity_id
//	JOIN store ON store.website_id = product_website.website_id
//	WHERE product.status = 1 AND product.visibility <> 1
//
// An attribute can be changed if the engine can update its column: a plain column of a view
// over one table, such as qty above, or a column that an INSTEAD OF trigger handles
// (PostgreSQL, SQLite). Changing any other fails with kind Unsupported; on SQLite the
// trigger decides. A write of a text also writes its folded column, and every change of a
// customer or an address writes updated_at. Records can be created and deleted if the engine
// can insert and delete rows of the view; it must generate the keys. Triggers must handle
// everything else that goes with a customer or a product.
//
// Products are written and assigned by statements on product, product_value,
// product_group_price, product_tier_price, product_rule_price, product_image, product_image_value,
// product_image_pointer, product_website, product_category and stock_item, each on one view,
// and by reading store. Imports also write category_value. write_lock and media_file must be
// tables as in the migrations; for imports import_state, import_change and import_process, too;
// for imports with a source imported_record, import_source, import_position, import_parked and
// import_digest; lease for whoever takes one,
// and evidence for NoteEvidence. A new
// comment inserts a row of order_comment, and updates status and updated_at of its
// sales_order and updated_at of its rows of order_item. Records are locked by
// SELECT … FOR UPDATE on the view, so the view must not group, and an outer join must be
// written as a subquery as above.
//
// # How it is tested
//
// All tests use real databases; the tests start the servers (package sqltest). They run the
// conformance suite of package adaptertest, compare every table with its schema and with the
// tables of the other engines, and use views over another schema. Further tests cover what
// the suite cannot see: migrations, loading, resets during reads and writes, credentials,
// nonces, deadlocks, and kinds of errors. Benchmarks compare Get and Update with bare
// prepared statements, and measure Load and Reset.
package sqlstore
