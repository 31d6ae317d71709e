package credentials

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// maxVerifier is the size of the column, in characters.
const maxVerifier = 255

// resolveOwner returns a token with the ids that its consumer and its owner have in
// this database, or the reason why the token cannot be imported.
func (in *credentialImport) resolveOwner(ctx context.Context, foreign adapter.LegacyToken) (adapter.Token, Reason, error) {
	t := foreign.Token
	consumer, ok := in.consumers[t.ConsumerID]
	switch {
	case t.Type != adapter.AccessToken:
		return t, NotAccess, nil
	case foreign.Unauthorized:
		return t, NotGranted, nil
	case len(t.Token) != tokenLength || !engine.Storable(t.Token, tokenLength) || !engine.Storable(t.Verifier, maxVerifier):
		return t, BadToken, nil
	case !ok:
		return t, NoConsumer, nil
	}
	t.ConsumerID = consumer
	switch {
	case t.AdminID != 0: // takes precedence over a customer (OAuth on API calls, check 15)
		t.CustomerID = 0
		admin, ok := in.admins[t.AdminID]
		switch {
		case in.disabledAdmins[t.AdminID]:
			return t, AdminLocked, nil
		case !ok:
			return t, NoAdmin, nil
		}
		t.AdminID = admin
		return t, "", nil
	case t.CustomerID != 0:
		var email sql.NullString
		found, err := in.queryRow(ctx, "SELECT email FROM customer WHERE entity_id = ?", []any{t.CustomerID}, &email)
		switch {
		case err != nil:
			return t, "", err
		case !found && in.DryRun && in.Expected != nil && in.Expected(adapter.Key(t.CustomerID)):
			return t, "", nil
		case !found:
			return t, NoCustomer, nil
		case adapter.Fold(email.String) != adapter.Fold(foreign.CustomerEmail):
			return t, OtherCustomer, nil
		}
		return t, "", nil
	default:
		return t, NoOwner, nil
	}
}

// importToken stores a token of the legacy store for the user to whom it belongs here, or
// counts the reason for not storing it: its user is missing, locked or another person. A
// token that exists here is changed only with Replace, but always revoked if it is revoked
// there. With DryRun the function only counts.
func (in *credentialImport) importToken(ctx context.Context, foreign adapter.LegacyToken) error {
	tally := &in.result.Tokens
	t, why, err := in.resolveOwner(ctx, foreign)
	if err != nil {
		return err
	}
	lower := lookupForm(t.Token)
	if why != "" {
		return in.refuseToken(ctx, lower, t.Revoked, why)
	}
	if !in.c.sealer.canStore(t.Secret) {
		tally.skip(BadSecret)
		return nil
	}
	here, found, err := in.storedToken(ctx, lower)
	if err != nil {
		return err
	}
	if !found {
		tally.Added++
		return in.addToken(ctx, lower, t)
	}
	differs := here.ConsumerID != t.ConsumerID || here.AdminID != t.AdminID || here.CustomerID != t.CustomerID || here.Secret != t.Secret ||
		here.Verifier != t.Verifier || here.Type != t.Type
	revoke, replace := t.Revoked && !here.Revoked, differs && in.Replace
	switch {
	case replace, revoke:
		tally.Updated++
	case differs:
		tally.Differing++
	default:
		tally.Unchanged++
	}
	if in.DryRun {
		return nil
	}
	if replace {
		if err := in.replaceToken(ctx, lower, t); err != nil {
			return err
		}
	}
	if revoke {
		return in.revoke(ctx, lower)
	}
	return nil
}

// refuseToken counts a token that cannot be stored. An earlier import may have stored it,
// when its owner was still allowed: then it is revoked.
func (in *credentialImport) refuseToken(ctx context.Context, lower string, revoked bool, why Reason) error {
	if why == AdminLocked || why == NotGranted || why == OtherCustomer && revoked {
		if here, found, err := in.storedToken(ctx, lower); err != nil || found && !here.Revoked {
			in.result.Tokens.Updated++
			if err != nil || in.DryRun {
				return err
			}
			return in.revoke(ctx, lower)
		}
	}
	in.result.Tokens.skip(why)
	return nil
}

// addToken stores a new token.
func (in *credentialImport) addToken(ctx context.Context, lower string, t adapter.Token) error {
	if in.DryRun {
		return nil
	}
	t.ID = 0
	if t.CreatedAt.IsZero() {
		t.CreatedAt = time.Now()
	}
	_, err := in.c.insertToken(ctx, in.tx, t, t.Verifier)
	if err == nil && t.Revoked {
		err = in.revoke(ctx, lower)
	}
	return err
}

// storedToken returns the stored token of a lookup form, with its secret, and whether
// there is one.
func (in *credentialImport) storedToken(ctx context.Context, lower string) (adapter.Token, bool, error) {
	here, err := scanToken(engine.First(in.tx.Query(ctx, in.c.db.Engine.Rebind("SELECT "+tokenColumns+" FROM oauth_token WHERE token_lower = ?"), lower)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return adapter.Token{}, false, nil
	}
	if err == nil {
		here.Secret, err = in.c.sealer.open(here.Secret, "token "+lower)
	}
	return here, err == nil, err
}

func (in *credentialImport) replaceToken(ctx context.Context, lower string, t adapter.Token) error {
	sealed, err := in.c.sealer.seal(t.Secret, "token "+lower)
	if err == nil {
		_, err = in.tx.Run(ctx, "UPDATE oauth_token SET consumer_id = ?, type = ?, secret = ?, verifier = ?, admin_id = ?, customer_id = ? WHERE token_lower = ?",
			t.ConsumerID, string(t.Type), sealed, engine.NullIfZero(t.Verifier), engine.NullIfZero(t.AdminID), engine.NullIfZero(t.CustomerID), lower)
	}
	return err
}

func (in *credentialImport) revoke(ctx context.Context, lower string) error {
	_, err := in.tx.Run(ctx, "UPDATE oauth_token SET revoked = 1 WHERE token_lower = ?", lower)
	return err
}
