package app

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/auth"
)

// A keyring has the credentials with which commands sign calls and explain signatures.
type keyring struct {
	auth.Credentials
	grants    []adapter.Grant // without secrets
	customers adapter.Store
	close     func() error
}

// openKeyring opens the credentials of the configured store, or those of the demo store.
func (p *program) openKeyring(cmd *cobra.Command, cfg *config.Config, demoStore bool) (*keyring, error) {
	if demoStore {
		return newDemoKeyring()
	}
	ctx := cmd.Context()
	db, err := openStoreAs(ctx, cfg, false, newLogger(cmd.ErrOrStderr(), warningsOnly(cfg)))
	if err != nil {
		return nil, err
	}
	k := &keyring{Credentials: db.Credentials(), close: db.Close}
	if k.grants, err = db.Credentials().List(ctx); err == nil {
		k.customers, err = db.Adapter().Store(adapter.Customers)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return k, nil
}

// newDemoKeyring returns the credentials of the demo store, which are public.
func newDemoKeyring() (*keyring, error) {
	data, err := demo.Load()
	if err != nil {
		return nil, err
	}
	consumer := data.Consumer
	consumer.ID = 1
	grant := adapter.Grant{Consumer: consumer}
	for _, t := range data.Tokens {
		t.ConsumerID, t.Type = consumer.ID, adapter.AccessToken
		grant.Tokens = append(grant.Tokens, t)
	}
	return &keyring{Credentials: demoCredentials{grant}, grants: []adapter.Grant{grant}, close: func() error { return nil }}, nil
}

// demoCredentials are those of the demo store.
type demoCredentials struct{ grant adapter.Grant }

// Consumer returns the consumer of the demo store.
func (d demoCredentials) Consumer(_ context.Context, key string) (adapter.Consumer, error) {
	if !strings.EqualFold(key, d.grant.Consumer.Key) {
		return adapter.Consumer{}, &adapter.Error{Kind: adapter.NotFound, Op: "find consumer"}
	}
	return d.grant.Consumer, nil
}

// Token returns a token of the demo store.
func (d demoCredentials) Token(_ context.Context, text string) (adapter.Token, error) {
	for _, t := range d.grant.Tokens {
		if strings.EqualFold(t.Token, text) {
			return t, nil
		}
	}
	return adapter.Token{}, &adapter.Error{Kind: adapter.NotFound, Op: "find token"}
}
