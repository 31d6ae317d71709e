package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/portico-commerce/portico/adapter"
)

// A productTx is a transaction that saves products. It locks a product before it reads
// anything of it, so that all writes of one product, of its images and of its
// assignments run one after the other.
type productTx struct {
	db       *DB
	tx       *sql.Tx
	products products
	now      string   // time of the save
	executed []string // texts of the statements run, which save prepares afterwards
}

// save runs f in a transaction, as transact does, and then prepares the statements that
// f ran for the next save.
func (s products) save(ctx context.Context, op string, f func(*productTx) error) error {
	var done *productTx
	err := s.transact(ctx, op, func(tx *sql.Tx) error {
		done = &productTx{db: s.db, tx: tx, products: s, now: now()}
		return f(done)
	})
	if err != nil {
		return err
	}
	for _, text := range done.executed {
		// This save is committed, so a failure to prepare does not matter.
		_, _ = s.db.writeStatements.prepare(ctx, text)
	}
	return nil
}

// exec runs a statement whose parameters are question marks on every engine.
func (s *productTx) exec(ctx context.Context, text string, arguments ...any) error {
	s.executed = append(s.executed, text)
	_, err := s.db.writeStatements.execTx(ctx, s.tx, text, arguments...)
	return err
}

// query is exec for a statement that returns rows.
func (s *productTx) query(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
	s.executed = append(s.executed, text)
	return s.db.writeStatements.queryTx(ctx, s.tx, text, arguments...)
}

// rowExists reports whether a statement returns a row.
func (s *productTx) rowExists(ctx context.Context, text string, arguments ...any) (bool, error) {
	rows, err := s.query(ctx, text, arguments...)
	if err != nil {
		return false, err
	}
	var one int64
	switch err := scanOne(rows, &one); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	default:
		return err == nil, err
	}
}

// queryIDs returns the ids that a statement selects.
func (s *productTx) queryIDs(ctx context.Context, text string, arguments ...any) ([]int64, error) {
	rows, err := s.query(ctx, text, arguments...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// lockProduct locks a product and returns it with the values of the default scope.
// Products have no owner, so an ownerID other than 0 finds none.
func (s *productTx) lockProduct(ctx context.Context, key adapter.Key, ownerID int64) (adapter.Record, error) {
	s.executed = append(s.executed, s.products.lockSQL)
	product, err := s.products.lockRecord(ctx, s.tx, key)
	if err == nil && ownerID != 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return adapter.Record{}, err
	}
	product.Set("default_url_key", product.Get("url_key"))
	return product, nil
}

// finishPartSave ends a save that changed parts of a product at a level but not its
// row: it sets updated_at and calls finishSave.
func (s *productTx) finishPartSave(ctx context.Context, product adapter.Key, level, except int64) error {
	if err := s.exec(ctx, "UPDATE product SET updated_at = ? WHERE entity_id = ?", s.now, int64(product)); err != nil {
		return err
	}
	return s.finishSave(ctx, product, level, except)
}

// finishSave does what every save of a product at a level entails: it fixes the values
// that the images show at the level, except those of the image except (0 for none), and
// rebuilds the product's listing rows. Anything else that is derived from a product
// belongs here.
func (s *productTx) finishSave(ctx context.Context, product adapter.Key, level, except int64) error {
	if err := s.freezeImages(ctx, product, level, except); err != nil {
		return err
	}
	return s.rebuildListing(ctx, product)
}

// lockNamed takes the lock of that name until the transaction ends. Names are rows of
// the table write_lock.
func (s *productTx) lockNamed(ctx context.Context, lock string) error {
	if s.db.engine.lockClause == "" {
		return nil // the transaction has locked the whole database
	}
	rows, err := s.query(ctx, "SELECT name FROM write_lock WHERE name = ?"+s.db.engine.lockClause, lock)
	if err != nil {
		return err
	}
	var name string
	if err := scanOne(rows, &name); err != nil {
		return errors.Join(errNoLock, err)
	}
	return nil
}

var errNoLock = errors.New("a row is missing in the table write_lock")
