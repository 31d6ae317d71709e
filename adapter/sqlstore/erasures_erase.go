package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// ErasureOptions select the data to erase.
type ErasureOptions struct {
	Customer adapter.Key
	// KeepOrders leaves the orders of the customer unchanged, apart from their link to the
	// customer.
	KeepOrders bool
	// Announcement is the announcement of the command to processes that cache records; nil if it was
	// not announced.
	Announcement *coordination.Announcement
	// DryRun counts the rows that would be erased, and changes nothing.
	DryRun bool
	// Last, unless nil, runs at the end of the transaction, which it may fail. A transaction that is
	// repeated runs it again.
	Last func(ctx context.Context, tx *engine.Tx, receipt *ErasureReceipt) error
}

// An ErasedPerson holds the data to search files and notes for.
type ErasedPerson struct{ Email, FirstName, LastName string }

// A erasedCount is the number of rows of a table that were erased or overwritten.
type erasedCount struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// An ErasureReceipt counts the erased data. It contains no names.
type ErasureReceipt struct {
	Deleted     []erasedCount `json:"deleted"`
	Overwritten []erasedCount `json:"overwritten"`
	Orders      int64         `json:"orders"` // of the customer, or of a guest with the same address
}

// errUndo ends the transaction of a dry run.
var errUndo = errors.New("a dry run")

// errBackend refuses a customer of a backend.
var errBackend = errors.New("the customer is a record of the backend, which would bring it back: erase it there, and the next scan removes it here; then erase what is left with adapter: sql")

// erase erases a customer. Kinds: NotFound, Unsupported for a customer of a backend, Unavailable,
// Internal.
func erase(ctx context.Context, db *engine.DB, o ErasureOptions) (*ErasureReceipt, ErasedPerson, error) {
	const op = "erase customer"
	e := &erasure{ErasureOptions: o}
	err := db.WriteAlone(ctx, op, func(tx *engine.Tx) error {
		e.tx, e.receipt = tx, &ErasureReceipt{}
		for _, step := range []func(context.Context) error{e.find, e.clearOrders, e.deleteNotes, e.deleteCustomer, e.noteChange} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		switch {
		case o.DryRun:
			return errUndo
		case o.Last != nil:
			return o.Last(ctx, tx, e.receipt)
		}
		return nil
	})
	if errors.Is(err, errUndo) {
		err = nil
	}
	if err == nil && !o.DryRun {
		err = scrub(ctx, db)
	}
	return e.receipt, e.person, err
}

// scrub removes the remains of deleted rows from the file of a database. It may be repeated. Kinds:
// Unavailable, Internal.
func scrub(ctx context.Context, db *engine.DB) error {
	for _, statement := range db.Engine.Scrub {
		if _, err := db.Writer.ExecContext(ctx, statement); err != nil {
			return db.WrapError(ctx, "remove what deleted rows have left in the file", err)
		}
	}
	return nil
}

// An erasure is an erasure in progress.
type erasure struct {
	ErasureOptions
	tx        *engine.Tx
	receipt   *ErasureReceipt
	person    ErasedPerson
	addresses []int64 // keys
	orders    []int64
}

// noteChange tells other processes to drop cached replies about the records.
func (e *erasure) noteChange(ctx context.Context) error {
	orders := make([]adapter.Key, len(e.orders))
	for i, key := range e.orders {
		orders[i] = adapter.Key(key)
	}
	changed := map[adapter.Resource][]adapter.Key{adapter.Customers: {e.Customer}}
	if len(orders) > 0 { // a resource without keys stands for all of its records
		changed[adapter.Orders] = orders
	}
	return coordination.NoteImport(ctx, e.tx, e.Announcement, changed)
}

// find locks the customer, and finds the data that belongs to it.
func (e *erasure) find(ctx context.Context) (err error) {
	var email, folded []byte
	var first, last sql.NullString
	row := e.tx.QueryRow(ctx, "SELECT email, email_folded, firstname, lastname FROM customer WHERE entity_id = ?"+e.tx.DB.Engine.LockClause, int64(e.Customer))
	if err := row.Scan(&email, &folded, &first, &last); err != nil {
		return err
	}
	e.person = ErasedPerson{string(email), first.String, last.String}
	backed, err := e.tx.RowExists(ctx, "SELECT 1 FROM backend_record WHERE resource = 'customers' AND legacy_id = ? AND backend_id IS NOT NULL", int64(e.Customer))
	if err == nil && backed {
		err = &adapter.Error{Kind: adapter.Unsupported, Op: "erase customer", Err: errBackend}
	}
	if err != nil {
		return err
	}
	if e.addresses, err = e.keys(ctx, "SELECT entity_id FROM customer_address WHERE customer_id = ?", int64(e.Customer)); err != nil {
		return err
	}
	e.orders, err = e.keys(ctx, "SELECT entity_id FROM sales_order WHERE customer_id = ? UNION SELECT o.entity_id FROM sales_order o JOIN order_address a ON a.parent_id = o.entity_id"+
		" WHERE o.customer_id IS NULL AND a.email_folded = ?", int64(e.Customer), folded)
	e.receipt.Orders = int64(len(e.orders))
	return err
}

// keys returns the keys that a statement selects.
func (e *erasure) keys(ctx context.Context, text string, arguments ...any) ([]int64, error) {
	return engine.SelectColumn[int64](ctx, e.tx.Query, text, e.texts(arguments)...)
}

// texts returns arguments with texts in place of bytes, for engines whose folded columns are texts.
func (e *erasure) texts(arguments []any) []any {
	arguments = slices.Clone(arguments)
	for i, a := range arguments {
		if raw, ok := a.([]byte); ok {
			arguments[i] = string(raw)
		}
	}
	return arguments
}

// run runs a statement that changes rows of a table, and counts them.
func (e *erasure) run(ctx context.Context, counts *[]erasedCount, table, text string, arguments ...any) error {
	rows, err := e.tx.Affect(ctx, text, arguments...)
	if err != nil || rows == 0 {
		return err
	}
	for i := range *counts {
		if (*counts)[i].Table == table {
			(*counts)[i].Rows += rows
			return nil
		}
	}
	*counts = append(*counts, erasedCount{table, rows})
	return nil
}

// remove deletes the rows of a table that meet a condition.
func (e *erasure) remove(ctx context.Context, table, condition string, arguments ...any) error {
	return e.run(ctx, &e.receipt.Deleted, table, "DELETE FROM "+table+" WHERE "+condition, arguments...)
}

// clear overwrites columns of a table with NULL, in rows that have any value there.
func (e *erasure) clear(ctx context.Context, table, key string, keys []int64, columns ...string) error {
	var assignments, filled []string
	for _, column := range columns {
		for _, name := range []string{column, column + "_folded"} {
			assignments = append(assignments, name+" = NULL")
		}
		filled = append(filled, column+" IS NOT NULL")
	}
	return e.each(keys, func(list string) error {
		return e.run(ctx, &e.receipt.Overwritten, table, "UPDATE "+table+" SET "+strings.Join(assignments, ", ")+" WHERE "+key+" IN ("+list+") AND ("+strings.Join(filled, " OR ")+")")
	})
}

// each calls f with lists of the keys, which are numbers.
func (e *erasure) each(keys []int64, f func(list string) error) error {
	for chunk := range slices.Chunk(keys, engine.IDsPerStatement) {
		texts := make([]string, len(chunk))
		for i, key := range chunk {
			texts[i] = strconv.FormatInt(key, 10)
		}
		if err := f(strings.Join(texts, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// clearOrders overwrites the values that identify the person who ordered.
func (e *erasure) clearOrders(ctx context.Context) error {
	if e.KeepOrders {
		return nil
	}
	return errors.Join(
		e.clear(ctx, "sales_order", "entity_id", e.orders, "remote_ip", "gift_message_from", "gift_message_to", "gift_message_body"),
		e.clear(ctx, "order_address", "parent_id", e.orders, "prefix", "firstname", "middlename", "lastname", "suffix", "company", "street", "city", "region", "postcode", "telephone", "email"),
		e.clear(ctx, "order_comment", "parent_id", e.orders, "comment"),
		e.each(e.orders, func(list string) error {
			return errors.Join(
				e.remove(ctx, "outbox_entry", "root = 'orders' AND root_key IN ("+list+")"),
				e.remove(ctx, "outbox_create", "root = 'orders' AND root_key IN ("+list+")"),
				e.remove(ctx, "outbox_conflict", "resource = 'orders' AND record_key IN ("+list+")"),
				e.run(ctx, &e.receipt.Overwritten, "backend_record", "UPDATE backend_record SET base = NULL, tag = '', note = NULL WHERE resource = 'orders' AND legacy_id IN ("+list+") OR root = 'orders' AND owner_id IN ("+list+")"),
			)
		}),
	)
}

// deleteNotes deletes the notes about the customer outside of the records.
func (e *erasure) deleteNotes(ctx context.Context) error {
	key := int64(e.Customer)
	err := errors.Join(
		e.remove(ctx, "outbox_entry", "root = 'customers' AND root_key = ? OR resource = 'customers' AND record_key = ?", key, key),
		e.remove(ctx, "outbox_create", "root = 'customers' AND root_key = ?", key),
		e.remove(ctx, "outbox_conflict", "resource = 'customers' AND record_key = ?", key),
		e.remove(ctx, "imported_record", "resource = 'customers' AND record_key = ?", key),
		e.remove(ctx, "import_parked", "part = 'customers' AND record_key = ?", key),
		e.remove(ctx, "backend_record", "resource = 'customers' AND legacy_id = ? OR root = 'customers' AND owner_id = ?", key, key),
		e.each(e.addresses, func(list string) error {
			return errors.Join(
				e.remove(ctx, "outbox_entry", "resource = 'customer_addresses' AND record_key IN ("+list+")"),
				e.remove(ctx, "outbox_conflict", "resource = 'customer_addresses' AND record_key IN ("+list+")"),
				e.remove(ctx, "imported_record", "resource = 'customer_addresses' AND record_key IN ("+list+")"),
				e.remove(ctx, "backend_record", "resource = 'customer_addresses' AND legacy_id IN ("+list+")"),
			)
		}),
	)
	if err != nil {
		return err
	}
	// Notes in free text, and in JSON.
	for _, note := range []struct{ table, column string }{
		{"outbox_entry", "agreed"}, {"outbox_entry", "sent"}, {"outbox_entry", "identity"}, {"outbox_entry", "reason"},
		{"outbox_create", "natural_key"}, {"outbox_create", "reason"}, {"outbox_conflict", "ours"}, {"outbox_conflict", "theirs"},
		{"evidence", "content"},
	} {
		if err := e.remove(ctx, note.table, "REPLACE(LOWER("+note.column+"), ?, '') <> LOWER("+note.column+")", strings.ToLower(e.person.Email)); err != nil {
			return err
		}
	}
	// Records that imports could not store are tried again, so only the reason is removed.
	return e.run(ctx, &e.receipt.Overwritten, "import_parked", "UPDATE import_parked SET reason = '' WHERE REPLACE(LOWER(reason), ?, '') <> LOWER(reason)", strings.ToLower(e.person.Email))
}

// deleteCustomer deletes the customer, with everything that refers to it.
func (e *erasure) deleteCustomer(ctx context.Context) error {
	key := int64(e.Customer)
	err := e.each(e.addresses, func(list string) error {
		return e.remove(ctx, "customer_address_value", "address_id IN ("+list+")")
	})
	return errors.Join(err,
		e.remove(ctx, "customer_address", "customer_id = ?", key),
		e.remove(ctx, "customer_value", "customer_id = ?", key),
		e.remove(ctx, "oauth_token", "customer_id = ?", key),
		e.remove(ctx, "api_key", "customer_id = ?", key),
		e.remove(ctx, "customer", "entity_id = ?", key),
	)
}
