package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

var errDisabled = errors.New("the administrator is disabled")

// A DisableReport says what DisableAdmin has revoked.
type DisableReport struct {
	ID     adapter.Key `json:"admin_id"`
	Tokens int64       `json:"tokens"`   // OAuth tokens of any type
	Keys   int64       `json:"api_keys"` // API keys that belong to the administrator
}

// DisableAdmin disables the administrator of that username, ignoring letter case and
// accents, and revokes the administrator's tokens and API keys, in one transaction. It
// ends the administrator's sessions, and no token or key can be added until EnableAdmin
// is called. Kinds: NotFound, Unavailable, Internal.
func (db *DB) DisableAdmin(ctx context.Context, username string) (done DisableReport, err error) {
	err = db.write(ctx, "disable admin", func(tx *sql.Tx) error {
		admins := adminTx{db, tx}
		id, err := admins.id(ctx, username)
		if err == nil {
			done, err = admins.disable(ctx, id)
		}
		return err
	})
	if err != nil {
		return DisableReport{}, err
	}
	return done, nil
}

// disable updates the administrator's row first, because transactions that add a
// token or a key lock that row.
func (a adminTx) disable(ctx context.Context, id int64) (done DisableReport, err error) {
	done.ID = adapter.Key(id)
	for _, change := range []struct {
		text string
		rows *int64
	}{
		{"UPDATE admin SET disabled = 1 WHERE admin_id = ?", new(int64)},
		{"UPDATE oauth_token SET revoked = 1 WHERE admin_id = ? AND revoked = 0", &done.Tokens},
		{"UPDATE api_key SET revoked = 1 WHERE admin_id = ? AND revoked = 0", &done.Keys},
	} {
		result, err := a.db.exec(ctx, a.tx, change.text, id)
		if err == nil {
			*change.rows, err = result.RowsAffected()
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// EnableAdmin enables the administrator of that username again and returns the id.
// Revoked tokens and keys stay revoked. Kinds: NotFound, Unavailable, Internal.
func (db *DB) EnableAdmin(ctx context.Context, username string) (id adapter.Key, err error) {
	err = db.write(ctx, "enable admin", func(tx *sql.Tx) error {
		found, err := adminTx{db, tx}.id(ctx, username)
		if err == nil {
			id = adapter.Key(found)
			_, err = db.exec(ctx, tx, "UPDATE admin SET disabled = NULL WHERE admin_id = ?", found)
		}
		return err
	})
	return id, err
}

// AdminID returns the id of the administrator of that username, ignoring letter case
// and accents. Kinds: NotFound, Unavailable, Internal.
func (db *DB) AdminID(ctx context.Context, username string) (id adapter.Key, err error) {
	rows, err := db.readStatements.query(ctx, "SELECT admin_id FROM admin WHERE username_folded = ?", adapter.Fold(username))
	if err == nil {
		err = scanOne(rows, &id)
	}
	return id, db.wrapError(ctx, "find admin", err)
}

func (a adminTx) id(ctx context.Context, username string) (id int64, err error) {
	err = a.tx.QueryRowContext(ctx, a.db.engine.rebind("SELECT admin_id FROM admin WHERE username_folded = ?"), adapter.Fold(username)).Scan(&id)
	return id, err
}

// isDisabled reports whether an administrator is disabled, and locks the row, so that
// nobody can disable the administrator before the transaction ends. It fails with
// sql.ErrNoRows if the administrator does not exist.
func (a adminTx) isDisabled(ctx context.Context, id int64) (bool, error) {
	var disabled sql.NullInt64
	text := "SELECT disabled FROM admin WHERE admin_id = ?" + a.db.engine.lockClause
	err := a.tx.QueryRowContext(ctx, a.db.engine.rebind(text), id).Scan(&disabled)
	return disabled.Int64 != 0, err
}

// checkEnabled fails if an administrator does not exist or is disabled. Kinds:
// NotFound, Invalid.
func (a adminTx) checkEnabled(ctx context.Context, op string, id int64) error {
	disabled, err := a.isDisabled(ctx, id)
	if disabled {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "admin", Err: errDisabled}
	}
	if err != nil {
		return fmt.Errorf("administrator %d: %w", id, err)
	}
	return nil
}
