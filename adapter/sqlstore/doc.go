// Package sqlstore is the reference adapter: it keeps the whole shop, and the
// credentials that open it, in an SQL database: SQLite, PostgreSQL, or MySQL and
// MariaDB.
//
// # Principles
//
//  1. The tables are the schemas of package adapter: one table for each
//     resource, columns named as the attributes (layout.go). Attributes that the
//     store's configuration adds have no columns but rows in tables of values
//     (added.go), which no statement names without them. What the columns mean
//     beyond that is said in the migrations of SQLite; the other engines'
//     have the same tables, with the types of the engine.
//  2. Text is compared and sorted through columns that hold adapter.Fold of it,
//     byte by byte, so every engine agrees with adapter.Apply. What SQL cannot
//     do exactly as Apply does is left out of the statement and done as its rows
//     go by (find.go); a list is Partial only where its order, or prices it is
//     bound by, cannot be had from the statement.
//  3. Statements are built with bound arguments only and kept prepared by their
//     text, up to a limit.
//  4. A write locks what it decides on before it reads it: SQLite has one
//     connection that writes, in transactions that take the write lock at once;
//     servers lock the record, at read committed. A transaction that others
//     ended (a deadlock, a serialization failure) runs again, a few times, and
//     so does one that only a unique index kept from storing a value twice: it
//     then sees whose value that is. What belongs to a customer is locked after
//     the customer. The pool that reads cannot write.
//  5. Where engines differ is a field of engine, and each engine is one file
//     (sqlite.go, postgres.go, mysql.go). Nothing else asks which one it is.
//  6. What follows from other tables is stored only where no index can give it:
//     the listing of products (listing.go), which changes with what it follows
//     from, in the same transaction.
//  7. All writes of a product, of its images and of its assignments are saves of
//     the product (productsave.go): they lock it first, so they come one after
//     the other, and what follows from every save follows from them. What no
//     index can decide, whether a SKU or a file name is free, transactions decide
//     in turn, by a row of write_lock.
//  8. The bytes of images are files (blobs.go). A file is whole on the disk, under
//     its name, before the transaction is committed that says so; only names that
//     the table media_file holds are served.
//  9. Where a backend over HTTP keeps part of the records, this is the side of package
//     sidestore (Side): one more table is its ledger, whose entries change in one
//     transaction with a record that is taken over from the backend.
//  10. Secrets are sealed under the configured key and stand in no error, and
//     neither do passwords of a DSN.
//  11. What comes from another system comes under its ids and as it is: records by
//     Insert, a batch in each transaction, credentials by Credentials.Import, all in
//     one. What is here already is left alone unless the caller says otherwise, so that
//     both can be repeated, and a dry run asks what the real one asks.
//
// # A database of another shape
//
// Without Options.Migrate an existing database is used as it is, through views
// that are named and shaped as the tables of the migrations. Only those that
// calls reach need be there: stock_item for stock items, and product with
// entity_id, created_at and updated_at for lists of them by a product's dates.
// A view has
//
//   - a column for every attribute of the schema, called as the attribute, whose
//     key is a number that stays with the record;
//   - for every text a second column, <attribute>_folded, with the form that
//     adapter.Fold makes: without it the attribute can be read, but neither
//     searched nor sorted by. UPPER without accents does for plain Latin text.
//     It is compared byte by byte: COLLATE "C" on PostgreSQL, BINARY on SQLite,
//     a binary string on MySQL;
//   - for customer, customer_address and product a column nulls, which may be
//     empty everywhere;
//   - no column for attributes that the store's configuration adds. Only with such
//     attributes views are needed that have a row for each value: customer_value
//     with customer_id, customer_address_value with address_id and
//     product_default_value with product_id, each with attribute, value and
//     value_folded. Values are texts: digits, a decimal, a time as above. A value
//     NULL is stored as "nothing", a value that was never stored has no row. Those
//     of store views are rows of product_value, which has a store_id, too;
//   - the types of the attributes' kinds: BIGINT for integers, flags included (1
//     and 0, no booleans), DECIMAL for decimals, with no more than four places
//     in use, TIMESTAMP(0) or DATETIME in UTC for times (on SQLite TEXT,
//     "2006-01-02 15:04:05").
//
// What the backend does not keep is a constant, what it keeps otherwise an
// expression, both with their type:
//
//	CREATE VIEW stock_item AS SELECT
//	  bin AS item_id,
//	  (SELECT article_no FROM article WHERE sku = article_sku) AS product_id,
//	  CAST(1 AS BIGINT) AS stock_id,
//	  on_hand AS qty,
//	  …
//	FROM inventory
//
// One table is no resource's: product_listing, store_id and product_id, which
// tells which products shoppers may list at which store view. Of a
// backend that has no such table the view says what decides it:
//
//	CREATE VIEW product_listing AS SELECT store.store_id, product.entity_id AS product_id
//	FROM product
//	JOIN product_website ON product_website.product_id = product.entity_id
//	JOIN store ON store.website_id = product_website.website_id
//	WHERE product.status = 1 AND product.visibility <> 1
//
// An attribute can be changed where the engine lets its column be updated: a
// plain column of a view over one table, as qty above, or a column an INSTEAD OF
// trigger takes care of (PostgreSQL, SQLite). Changing any other fails with kind
// Unsupported; on SQLite the trigger decides. A text's folded column is written
// with it, and updated_at with every change of a customer or an address. Records
// are created and removed where the engine lets the rows of the view be, under
// keys it gives out itself; what goes with a customer or a product is for its
// triggers. Products are written and assigned by statements on product,
// product_value, product_group_price, product_tier_price, product_image,
// product_image_value, product_image_pointer, product_website, product_category
// and stock_item, one of them at a time, and store is read; write_lock and
// media_file have to be tables as in the migrations. A new comment is a row of
// order_comment, and changes status and updated_at of its sales_order and updated_at
// of the rows of order_item. A record is locked by SELECT … FOR UPDATE on the view,
// so the view must not group, and an outer join must be a subquery as above.
//
// # How it is tested
//
// On real databases, of servers that the tests start (package sqltest): the
// conformance suite of package adaptertest, a comparison of every table with its
// schema and with the other engines', views over a foreign schema, and tests of
// what the suite cannot see: migrations, loading, resets under readers and
// writers, credentials, nonces, deadlocks, kinds of errors. Benchmarks hold Get
// and Update against bare prepared statements, and time Load and Reset.
package sqlstore
