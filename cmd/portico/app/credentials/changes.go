package credentials

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/mapping/auth"
)

// The functions of this file make the changes of credentials for the commands and the console.
// Their errors name the problem and its remedy, except errors of the kinds Unavailable and
// Internal.

// AddConsumer registers a client program. Its key and secret are random if they are empty.
func AddConsumer(ctx context.Context, db *sqlstore.DB, consumer adapter.Consumer) (adapter.Consumer, error) {
	for _, callback := range []string{consumer.Callback, consumer.RejectedCallback} {
		if callback != "" && !auth.ValidCallback(callback) {
			return consumer, errors.New("a callback must be an absolute URL of http or https")
		}
	}
	c := db.Credentials()
	if err := program.CheckSecretKey(ctx, c); err != nil {
		return consumer, err
	}
	added, err := c.AddConsumer(ctx, consumer)
	if err != nil {
		return added, explainRefusal(err, "a consumer with that key exists already")
	}
	return added, nil
}

// AddToken lets the consumer with a key act for the administrator or the customer of token, whose
// text and secret are random if they are empty.
func AddToken(ctx context.Context, db *sqlstore.DB, consumerKey string, token adapter.Token) (adapter.Token, error) {
	c := db.Credentials()
	if token.AdminID <= 0 && token.CustomerID <= 0 {
		return token, errors.New("the id to act for must be positive")
	}
	if err := program.CheckSecretKey(ctx, c); err != nil {
		return token, err
	}
	consumer, err := c.Consumer(ctx, consumerKey)
	if err != nil {
		if adapter.KindOf(err) == adapter.NotFound {
			return token, errors.New("there is no consumer with that key: see \"portico credentials list\"")
		}
		return token, err
	}
	token.ConsumerID = consumer.ID
	added, err := c.AddToken(ctx, token)
	if err != nil {
		if token.AdminID != 0 && adapter.KindOf(err) == adapter.NotFound {
			return token, fmt.Errorf("there is no administrator %d: see \"portico credentials list admins\", or add one with \"portico credentials add-admin\"", token.AdminID)
		}
		return token, explainRefusal(err, "that token exists already")
	}
	return added, nil
}

// adminID returns the id of the administrator of a name.
func adminID(ctx context.Context, db *sqlstore.DB, username string) (int64, error) {
	id, err := db.Admins().ID(ctx, username)
	return int64(id), explainNotFound(err, "administrator", "list admins")
}

// AddKey creates an API key. A key for administrators belongs to the administrator username, unless
// username is empty. text is the key itself.
func AddKey(ctx context.Context, db *sqlstore.DB, key adapter.APIKey, username string) (added adapter.APIKey, text string, err error) {
	if key.Kind == adapter.CustomerKey && key.CustomerID <= 0 {
		return key, "", errors.New("the id to act for must be positive")
	}
	if username != "" {
		if key.AdminID, err = adminID(ctx, db, username); err != nil {
			return key, "", err
		}
	}
	added, text, err = db.Credentials().AddKey(ctx, key)
	if err != nil {
		return added, "", explainRefusal(err, "")
	}
	return added, text, nil
}

// minPasswordChars is the minimum length of an administrator's password, in characters.
const minPasswordChars = 8

// CheckPassword refuses short passwords.
func CheckPassword(password string) error {
	if !utf8.ValidString(password) || utf8.RuneCountInString(password) < minPasswordChars {
		return fmt.Errorf("a password must have at least %d characters", minPasswordChars)
	}
	return nil
}

// AddAdmin adds an administrator who can log in with a password that CheckPassword accepts, or
// replaces the password of an existing one.
func AddAdmin(ctx context.Context, db *sqlstore.DB, username, password string, replace bool) (id adapter.Key, err error) {
	hash, err := db.HashPassword(password)
	if err != nil {
		return 0, err
	}
	if replace {
		id, err = db.Admins().SetPassword(ctx, username, hash)
	} else {
		id, err = db.Admins().Add(ctx, 0, username, hash)
	}
	switch {
	case adapter.KindOf(err) == adapter.NotFound:
		return 0, errors.New("there is no administrator of that name: see \"portico credentials list admins\"")
	case err != nil:
		return 0, explainRefusal(err, "there is an administrator of that name: use --replace to set a new password")
	}
	return id, nil
}

// DisableAdmin disables an administrator, with all that acts for it.
func DisableAdmin(ctx context.Context, db *sqlstore.DB, username string) (credentials.DisableReport, error) {
	done, err := db.Admins().Disable(ctx, username)
	return done, explainNotFound(err, "administrator", "list admins")
}

// EnableAdmin lets an administrator log in again.
func EnableAdmin(ctx context.Context, db *sqlstore.DB, username string) (adapter.Key, error) {
	id, err := db.Admins().Enable(ctx, username)
	return id, explainNotFound(err, "administrator", "list admins")
}

// RemoveConsumer removes a consumer, with all its tokens, and returns their number.
func RemoveConsumer(ctx context.Context, db *sqlstore.DB, key string) (tokens int64, err error) {
	tokens, err = db.Credentials().RemoveConsumer(ctx, key)
	return tokens, explainNotFound(err, "consumer", "list")
}

// RevokeToken revokes a token.
func RevokeToken(ctx context.Context, db *sqlstore.DB, token string) error {
	return explainNotFound(db.Credentials().Revoke(ctx, token), "token", "list")
}

// RevokeKey revokes an API key.
func RevokeKey(ctx context.Context, db *sqlstore.DB, id int64) error {
	return explainNotFound(db.Credentials().RevokeKey(ctx, id), "key", "list keys")
}
