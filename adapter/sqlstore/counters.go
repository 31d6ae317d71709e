package sqlstore

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
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
	// describe and continueAt are for engines that can only pass keys that no record has
	// outside a transaction: describe finds a text with "AUTO_INCREMENT=" and the next
	// key, if it is not the first, and continueAt makes a key the next one.
	describe   func(counter) string
	continueAt func(c counter, next int64) string
	// resync moves a counter to the greatest stored key, outside a transaction, for
	// engines that cannot do so within one.
	resync func(counter) string
}

// keyCounters are the counters of a database.
type keyCounters struct{ db *DB }

// ofRecords returns the counters of the records and of the prices of products, by their
// resources, in an order that is always the same so that transactions that move them
// cannot deadlock.
func (k keyCounters) ofRecords() (resources []adapter.Resource, counters []counter) {
	for _, t := range k.db.tables {
		resources, counters = append(resources, t.schema.Resource), append(counters, counter{t.name, t.schema.Key})
	}
	products := k.db.schemas.Of(adapter.Products)
	for _, list := range rules.PriceLists() {
		at, _ := products.Index(list)
		nested := products.Attributes[at].Nested
		resources, counters = append(resources, nested.Resource), append(counters, counter{priceTable(list), nested.Key})
	}
	return resources, counters
}

// nextKeyPattern finds the next key in the text of counterStatements.describe.
var nextKeyPattern = regexp.MustCompile(` AUTO_INCREMENT=(\d+)`)

// passOutside makes the keys that the database chooses later greater than some, on an engine
// that cannot do so within a transaction.
func (k keyCounters) passOutside(ctx context.Context, passed map[adapter.Resource]adapter.Key) error {
	if k.db.engine.counters.describe == nil || len(passed) == 0 {
		return nil
	}
	resources, counters := k.ofRecords()
	for i, c := range counters {
		key := int64(passed[resources[i]])
		if key <= 0 {
			continue
		}
		var table, described string
		if err := k.db.writer.QueryRowContext(ctx, k.db.engine.counters.describe(c)).Scan(&table, &described); err != nil {
			return err
		}
		if next := nextKeyPattern.FindStringSubmatch(described); next != nil {
			if n, err := strconv.ParseInt(next[1], 10, 64); err != nil || n > key {
				continue
			}
		}
		if _, err := k.db.writer.ExecContext(ctx, k.db.engine.counters.continueAt(c, key+1)); err != nil {
			return err
		}
	}
	return nil
}

// all returns all counters: those of the records, of prices and of the credentials.
func (k keyCounters) all() []counter {
	_, counters := k.ofRecords()
	return append(counters, counter{"oauth_consumer", "consumer_id"}, counter{"oauth_token", "token_id"}, counter{"oauth_nonce", "nonce_id"}, counter{"api_key", "key_id"})
}

// run runs the statement of every counter. It does nothing if statement is nil.
func (k keyCounters) run(ctx context.Context, run func(ctx context.Context, text string, arguments ...any) (sql.Result, error), statement func(counter) string) error {
	if statement == nil {
		return nil
	}
	for _, c := range k.all() {
		if _, err := run(ctx, statement(c)); err != nil {
			return err
		}
	}
	return nil
}
