package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/portico-commerce/portico/adapter"
)

// A saving is a transaction that saves products. It locks a product before it
// reads anything of it, so that the saves of one product, of its images and of
// its assignments come one after the other.
type saving struct {
	db       *DB
	tx       *sql.Tx
	products products
	now      string   // the moment of the save
	texts    []string // the statements run
}

// save runs f in a transaction, as transact does.
func (s products) save(ctx context.Context, op string, f func(*saving) error) error {
	var done *saving
	err := s.transact(ctx, op, func(tx *sql.Tx) error {
		done = &saving{db: s.db, tx: tx, products: s, now: now()}
		return f(done)
	})
	if err != nil {
		return err
	}
	for _, text := range done.texts {
		// For the next save. This one is done.
		_, _ = s.db.writing.prepared(ctx, text)
	}
	return nil
}

// exec runs a statement, whose parameters may be question marks.
func (s *saving) exec(ctx context.Context, text string, arguments ...any) error {
	s.texts = append(s.texts, text)
	_, err := s.db.writing.execIn(ctx, s.tx, text, arguments...)
	return err
}

// query is exec for a statement that returns rows.
func (s *saving) query(ctx context.Context, text string, arguments ...any) (*sql.Rows, error) {
	s.texts = append(s.texts, text)
	return s.db.writing.queryIn(ctx, s.tx, text, arguments...)
}

// finds reports whether a statement returns a row.
func (s *saving) finds(ctx context.Context, text string, arguments ...any) (bool, error) {
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

// ids returns the ids that a statement selects.
func (s *saving) ids(ctx context.Context, text string, arguments ...any) ([]int64, error) {
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

// product locks a product and returns it as the default scope has it. No customer
// owns one, so there is none for an ownerID but 0.
func (s *saving) product(ctx context.Context, key adapter.Key, ownerID int64) (adapter.Record, error) {
	s.texts = append(s.texts, s.products.lock)
	product, err := s.products.locked(ctx, s.tx, key)
	if err == nil && ownerID != 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return adapter.Record{}, err
	}
	product.Set("default_url_key", product.Get("url_key"))
	return product, nil
}

// touch ends the save of a product at a level by a write of something else than
// the product itself. except is as in settle.
func (s *saving) touch(ctx context.Context, product adapter.Key, level, except int64) error {
	if err := s.exec(ctx, "UPDATE product SET updated_at = ? WHERE entity_id = ?", s.now, int64(product)); err != nil {
		return err
	}
	return s.settle(ctx, product, level, except)
}

// settle does what follows from every save of a product at a level: the images
// keep what they show there, but for the image except, and shoppers' lists have
// the product where they now should. Whatever else is derived from a product
// belongs here.
func (s *saving) settle(ctx context.Context, product adapter.Key, level, except int64) error {
	if err := s.freezeImages(ctx, product, level, except); err != nil {
		return err
	}
	return s.relist(ctx, product)
}

// takeTurn lets no other transaction that asks for the same go on until this one
// has ended.
func (s *saving) takeTurn(ctx context.Context, what string) error {
	if s.db.engine.lock == "" {
		return nil // it is alone from its start
	}
	rows, err := s.query(ctx, "SELECT name FROM write_lock WHERE name = ?"+s.db.engine.lock, what)
	if err != nil {
		return err
	}
	var name string
	if err := scanOne(rows, &name); err != nil {
		return errors.Join(errNoLock, err)
	}
	return nil
}

var errNoLock = errors.New("the table write_lock lacks a row")
