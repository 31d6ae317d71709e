package credentials

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

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
		result, err := t.Run(ctx, change.text, id)
		if err == nil {
			*change.rows, err = result.RowsAffected()
		}
		if err != nil {
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
