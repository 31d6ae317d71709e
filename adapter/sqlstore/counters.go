package sqlstore

import (
	"context"
	"database/sql"
)

// A counter is a column whose values the database counts up.
type counter struct{ table, column string }

// counting says how counters are moved. Each function returns a statement for
// one counter, and is nil when there is nothing to do.
type counterStatements struct {
	// restart makes a counter begin again, within a transaction that has emptied
	// the table.
	restart func(counter) string
	// advance moves a counter past the keys stored by others, within a
	// transaction.
	advance func(counter) string
	// pass returns a statement that finds a row when a counter has not come to a key
	// yet, and those that then move it there within a transaction, while nobody else
	// counts. It is nil for engines that do so by themselves.
	passKey func(c counter, key int64) (behind string, move []string)
	// settle makes a counter go on after the greatest key there is, outside a
	// transaction, for engines that cannot do so within one.
	resync func(counter) string
}

// counters returns all counters: those of the records, of the prices of
// products, and of the credentials.
func (db *DB) counters() []counter {
	all := []counter{
		{"product_group_price", "value_id"}, {"product_tier_price", "value_id"},
		{"oauth_consumer", "consumer_id"}, {"oauth_token", "token_id"}, {"oauth_nonce", "nonce_id"}, {"api_key", "key_id"},
	}
	for _, t := range db.tables {
		all = append(all, counter{t.name, t.schema.Key})
	}
	return all
}

// moveCounters runs a statement for every counter; statement nil does nothing.
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
