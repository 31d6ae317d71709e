package sqlstore

import (
	"context"
	"database/sql"
)

// A counter is a key column whose values the database generates.
type counter struct{ table, column string }

// counterStatements return the statements that move a counter; a field is nil if the
// engine needs no such statement.
type counterStatements struct {
	// restart makes a counter start again, within a transaction that has emptied the
	// table.
	restart func(counter) string
	// advance moves a counter past all stored keys, within a transaction.
	advance func(counter) string
	// passKey moves a counter past one key, within a transaction. The statement behind
	// finds a row if the counter is not there yet; the statements move then move it
	// while no other transaction can use the counter. It is nil for engines that do so
	// by themselves.
	passKey func(c counter, key int64) (behind string, move []string)
	// resync moves a counter to the greatest stored key, outside a transaction, for
	// engines that cannot do so within one.
	resync func(counter) string
}

// counters returns all counters: those of the records, of product prices, and of the
// credentials.
func (db *DB) counters() []counter {
	all := []counter{
		{"product_group_price", "value_id"}, {"product_tier_price", "value_id"}, {"product_rule_price", "rule_price_id"},
		{"oauth_consumer", "consumer_id"}, {"oauth_token", "token_id"}, {"oauth_nonce", "nonce_id"}, {"api_key", "key_id"},
	}
	for _, t := range db.tables {
		all = append(all, counter{t.name, t.schema.Key})
	}
	return all
}

// runForCounters runs the statement of every counter. It does nothing if statement is
// nil.
func (db *DB) runForCounters(ctx context.Context, run func(ctx context.Context, text string, arguments ...any) (sql.Result, error), statement func(counter) string) error {
	if statement == nil {
		return nil
	}
	for _, c := range db.counters() {
		if _, err := run(ctx, statement(c)); err != nil {
			return err
		}
	}
	return nil
}
