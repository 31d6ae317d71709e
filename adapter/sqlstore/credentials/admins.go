package credentials

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Admins stores the administrators, who can log in and grant access.
type Admins struct{ db *engine.DB }

// NewAdmins returns the administrators of a database.
func NewAdmins(db *engine.DB) Admins { return Admins{db} }

var errUsername = errors.New("must have 1 to 255 characters")

// maxUsername is the size of the column, in characters.
const maxUsername = 255

// Add stores an administrator and returns the id. hash is the hash of the
// password, "" for an administrator who cannot log in. id may be 0 for the next id to
// which no token belongs. Kinds: Conflict if the id or the username is taken, ignoring
// letter case and accents; Invalid; Unavailable; Internal.
func (a Admins) Add(ctx context.Context, id adapter.Key, username, hash string) (added adapter.Key, err error) {
	const op = "add admin"
	if n := len([]rune(username)); n == 0 || n > maxUsername {
		return 0, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "username", Err: errUsername}
	}
	err = a.db.Write(ctx, op, func(tx *engine.Tx) error {
		admins := adminTx{tx}
		if id == 0 {
			var err error
			if id, err = admins.idWithoutTokens(ctx); err != nil {
				return err
			}
		}
		key, err := tx.Insert(ctx, "admin", "admin_id", int64(id),
			[]string{"username", "username_folded", "password_hash"}, []any{username, adapter.Fold(username), engine.NullIfZero(hash)})
		if err != nil {
			return err
		}
		if id != 0 {
			err = engine.MoveCounters(ctx, tx.Run, a.db.Engine.Counters.Advance, []engine.Counter{{Table: "admin", Column: "admin_id"}})
		}
		added = adapter.Key(key)
		return err
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// An adminTx reads and writes administrators in a transaction.
type adminTx struct{ *engine.Tx }

// idWithoutTokens returns the id for the next administrator if there are tokens of
// administrators who do not exist, since a new administrator must not inherit them.
// Otherwise it returns 0.
func (t adminTx) idWithoutTokens(ctx context.Context) (id adapter.Key, err error) {
	const text = `SELECT COALESCE(MAX(admin_id), 0) FROM (
		SELECT admin_id FROM admin UNION SELECT admin_id FROM oauth_token) AS ids
		WHERE EXISTS (SELECT 1 FROM oauth_token WHERE admin_id IS NOT NULL AND admin_id NOT IN (SELECT admin_id FROM admin))`
	if err := t.QueryRow(ctx, text).Scan(&id); err != nil || id == 0 {
		return 0, err
	}
	return id + 1, nil
}

// Upgrade replaces the password hash old of an administrator by hash, after the password
// was verified. It changes nothing if the stored hash is no longer old, as the password
// may have changed meanwhile. Kinds: Unavailable, Internal.
func (a Admins) Upgrade(ctx context.Context, id adapter.Key, old, hash string) error {
	return a.db.Write(ctx, "upgrade admin", func(tx *engine.Tx) error {
		_, err := tx.Run(ctx, "UPDATE admin SET password_hash = ? WHERE admin_id = ? AND password_hash = ?", hash, int64(id), old)
		return err
	})
}

// SetPassword stores a new password hash for the administrator of that username,
// ignoring letter case and accents, and returns the id. Kinds: NotFound, Unavailable,
// Internal.
func (a Admins) SetPassword(ctx context.Context, username, hash string) (id adapter.Key, err error) {
	err = a.db.Write(ctx, "set password of admin", func(tx *engine.Tx) error {
		found, err := adminTx{tx}.id(ctx, username)
		if err == nil {
			id = adapter.Key(found)
			_, err = tx.Run(ctx, "UPDATE admin SET password_hash = ? WHERE admin_id = ?", hash, found)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

func (t adminTx) id(ctx context.Context, username string) (id int64, err error) {
	err = t.QueryRow(ctx, "SELECT admin_id FROM admin WHERE username_folded = ?", adapter.Fold(username)).Scan(&id)
	return id, err
}

var errDisabled = errors.New("the administrator is disabled")

// A DisableReport counts the credentials that Admins.Disable has revoked.
type DisableReport struct {
	ID     adapter.Key `json:"admin_id"`
	Tokens int64       `json:"tokens"`   // OAuth tokens of any type
	Keys   int64       `json:"api_keys"` // API keys that belong to the administrator
}

// Disable disables the administrator of that username, ignoring letter case and
// accents, and revokes the administrator's tokens and API keys, in one transaction. It
// ends the administrator's sessions, and no token or key can be added until Enable
// is called. Kinds: NotFound, Unavailable, Internal.
func (a Admins) Disable(ctx context.Context, username string) (done DisableReport, err error) {
	err = a.db.Write(ctx, "disable admin", func(tx *engine.Tx) error {
		admins := adminTx{tx}
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
func (t adminTx) disable(ctx context.Context, id int64) (done DisableReport, err error) {
	done.ID = adapter.Key(id)
	if err := t.LockOnNodes(ctx, "admin", id); err != nil {
		return done, err
	}
	for _, change := range []struct {
		text string
		rows *int64
	}{
		{"UPDATE admin SET disabled = 1 WHERE admin_id = ?", new(int64)},
		{"UPDATE oauth_token SET revoked = 1 WHERE admin_id = ? AND revoked = 0", &done.Tokens},
		{"UPDATE api_key SET revoked = 1 WHERE admin_id = ? AND revoked = 0", &done.Keys},
	} {
		if *change.rows, err = t.Affect(ctx, change.text, id); err != nil {
			return done, err
		}
	}
	return done, nil
}

// Enable enables the administrator of that username again and returns the id.
// Revoked tokens and keys stay revoked. Kinds: NotFound, Unavailable, Internal.
func (a Admins) Enable(ctx context.Context, username string) (id adapter.Key, err error) {
	err = a.db.Write(ctx, "enable admin", func(tx *engine.Tx) error {
		found, err := adminTx{tx}.id(ctx, username)
		if err == nil {
			id = adapter.Key(found)
			_, err = tx.Run(ctx, "UPDATE admin SET disabled = NULL WHERE admin_id = ?", found)
		}
		return err
	})
	return id, err
}

// ID returns the id of the administrator of that username, ignoring letter case
// and accents. Kinds: NotFound, Unavailable, Internal.
func (a Admins) ID(ctx context.Context, username string) (id adapter.Key, err error) {
	err = engine.First(a.db.ReadStatements.Query(ctx, "SELECT admin_id FROM admin WHERE username_folded = ?", adapter.Fold(username))).Scan(&id)
	return id, a.db.WrapError(ctx, "find admin", err)
}

// isDisabled reports whether an administrator is disabled, and locks the row, so that no
// other transaction can disable the administrator before this one ends. It fails with
// sql.ErrNoRows if the administrator does not exist.
func (t adminTx) isDisabled(ctx context.Context, id int64) (bool, error) {
	if err := t.LockOnNodes(ctx, "admin", id); err != nil {
		return false, err
	}
	var disabled sql.NullInt64
	text := "SELECT disabled FROM admin WHERE admin_id = ?" + t.DB.Engine.LockClause
	err := t.QueryRow(ctx, text, id).Scan(&disabled)
	return disabled.Int64 != 0, err
}

// checkEnabled fails if an administrator does not exist or is disabled. Kinds:
// NotFound, Invalid.
func (t adminTx) checkEnabled(ctx context.Context, op string, id int64) error {
	disabled, err := t.isDisabled(ctx, id)
	if disabled {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "admin", Err: errDisabled}
	}
	if err != nil {
		return fmt.Errorf("administrator %d: %w", id, err)
	}
	return nil
}
