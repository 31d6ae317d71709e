package app

import (
	"context"
	"errors"

	"github.com/portico-commerce/portico/adapter"
	webconsole "github.com/portico-commerce/portico/cmd/portico/app/console"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
)

// credentials returns the functions with which the console manages credentials, the same as the
// commands. Changes take effect in this process immediately.
func (p *consoleParts) credentials() webconsole.Credentials {
	db := p.db
	changed := func(err error) error {
		p.authenticator.PurgeCredentials()
		return refusalOf(err)
	}
	return webconsole.Credentials{
		Consumers: db.Credentials().List,
		Keys:      db.Credentials().Keys,
		Admins: func(ctx context.Context) (admins []webconsole.Admin, err error) {
			all, err := credentials.ReadAdmins(ctx, db)
			for _, a := range all {
				admins = append(admins, webconsole.Admin{ID: a.ID, Username: a.Username, LogsIn: a.LogsIn, Disabled: a.Disabled, Role: a.Role})
			}
			return admins, err
		},
		BearerOff: !p.config.Auth.Bearer,

		AddConsumer: func(ctx context.Context, name, callback string) (adapter.Consumer, error) {
			added, err := credentials.AddConsumer(ctx, db, adapter.Consumer{Name: name, Callback: callback})
			return added, changed(err)
		},
		AddToken: func(ctx context.Context, consumerKey string, adminID, customerID int64) (adapter.Token, error) {
			added, err := credentials.AddToken(ctx, db, consumerKey, adapter.Token{AdminID: adminID, CustomerID: customerID})
			return added, changed(err)
		},
		AddKey: func(ctx context.Context, name, username string, customerID int64) (adapter.APIKey, string, error) {
			key := adapter.APIKey{Name: name, Kind: adapter.AdminKey}
			if customerID != 0 {
				key.Kind, key.CustomerID = adapter.CustomerKey, customerID
			}
			added, text, err := credentials.AddKey(ctx, db, key, username)
			return added, text, changed(err)
		},
		AddAdmin: func(ctx context.Context, username, password string) (int64, error) {
			if err := credentials.CheckPassword(password); err != nil {
				return 0, refusalOf(err)
			}
			id, err := credentials.AddAdmin(ctx, db, username, password, false)
			return int64(id), refusalOf(err)
		},

		RemoveConsumer: func(ctx context.Context, key string) (int64, error) {
			tokens, err := credentials.RemoveConsumer(ctx, db, key)
			return tokens, changed(err)
		},
		RevokeToken: func(ctx context.Context, token string) error { return changed(credentials.RevokeToken(ctx, db, token)) },
		RevokeKey:   func(ctx context.Context, id int64) error { return changed(credentials.RevokeKey(ctx, db, id)) },
		DisableAdmin: func(ctx context.Context, username string) (int64, error) {
			disabled, err := credentials.DisableAdmin(ctx, db, username)
			return int64(disabled.ID), changed(err)
		},
		EnableAdmin: func(ctx context.Context, username string) (int64, error) {
			id, err := credentials.EnableAdmin(ctx, db, username)
			return int64(id), changed(err)
		},
	}
}

// refusalOf returns the error of a change as the console shows it: as a Refusal, unless the store
// has failed.
func refusalOf(err error) error {
	if err == nil {
		return nil
	}
	if failure, ok := errors.AsType[*adapter.Error](err); ok && !adapter.IsRefusal(failure) {
		return err
	}
	return webconsole.Refusal(err.Error())
}
