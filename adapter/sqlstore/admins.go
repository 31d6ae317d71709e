package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/portico-commerce/portico/adapter"
)

var errUsername = errors.New("want 1 to 255 characters")

// longestUsername is what the column takes, in characters.
const maxUsername = 255

// AddAdmin stores an administrator who logs in with a password of the given hash, ""
// for one who cannot, and returns the id: the given one, or when it is 0 the next that no token belongs to.
// Kinds: Conflict when the id or the name is taken, whose letter case and accents do
// not count, Invalid, Unavailable, Internal.
func (db *DB) AddAdmin(ctx context.Context, id adapter.Key, username, hash string) (added adapter.Key, err error) {
	const op = "add admin"
	if n := len([]rune(username)); n == 0 || n > maxUsername {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "username", Err: errUsername}
	}
	err = db.write(ctx, op, func(tx *sql.Tx) error {
		if id == 0 {
			var err error
			if id, err = db.adminIDWithoutTokens(ctx, tx); err != nil {
				return err
			}
		}
		key, err := db.insert(ctx, tx, "admin", "admin_id", int64(id),
			[]string{"username", "username_folded", "password_hash"}, []any{username, adapter.Fold(username), nullIfZero(hash)})
		if err != nil {
			return err
		}
		if id != 0 {
			err = db.runForCounters(ctx, tx.ExecContext, db.engine.counters.advance)
		}
		added = adapter.Key(key)
		return err
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// adminIDWithoutTokens returns the id for the next administrator where stored tokens
// belong to one who has never been added, else 0: whoever got that id would inherit them.
func (db *DB) adminIDWithoutTokens(ctx context.Context, tx *sql.Tx) (id adapter.Key, err error) {
	const text = `SELECT COALESCE(MAX(admin_id), 0) FROM (
		SELECT admin_id FROM admin UNION SELECT admin_id FROM oauth_token) AS ids
		WHERE EXISTS (SELECT 1 FROM oauth_token WHERE admin_id IS NOT NULL AND admin_id NOT IN (SELECT admin_id FROM admin))`
	if err := tx.QueryRowContext(ctx, text).Scan(&id); err != nil || id == 0 {
		return 0, err
	}
	return id + 1, nil
}

// UpgradeAdmin puts hash in the place of the hash old of an administrator, whose
// password was found to be right. One that somebody else has changed meanwhile
// stays as it is: the password may be another one now. Kinds: Unavailable, Internal.
func (db *DB) UpgradeAdmin(ctx context.Context, id adapter.Key, old, hash string) error {
	return db.write(ctx, "upgrade admin", func(tx *sql.Tx) error {
		_, err := db.exec(ctx, tx, "UPDATE admin SET password_hash = ? WHERE admin_id = ? AND password_hash = ?", hash, int64(id), old)
		return err
	})
}

// SetAdminPassword gives the administrator of a name, whose letter case and accents do
// not count, a new password by its hash, and returns the id. Kinds: NotFound,
// Unavailable, Internal.
func (db *DB) SetAdminPassword(ctx context.Context, username, hash string) (id adapter.Key, err error) {
	err = db.write(ctx, "set password of admin", func(tx *sql.Tx) error {
		found, err := db.adminID(ctx, tx, username)
		if err == nil {
			id = adapter.Key(found)
			_, err = db.exec(ctx, tx, "UPDATE admin SET password_hash = ? WHERE admin_id = ?", hash, found)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}
