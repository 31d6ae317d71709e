package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
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

// openKeyring opens the credentials of the configured store or of the demo store.
func openKeyring(cmd *cobra.Command, cfg *config.Config, demoStore bool) (*keyring, error) {
	if demoStore {
		return newDemoKeyring()
	}
	ctx := cmd.Context()
	db, err := program.OpenStoreAs(ctx, cfg, false, program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg)))
	if err != nil {
		return nil, fmt.Errorf("%w\nname the store with --config or sql.dsn (PORTICO_SQL_DSN), or use --demo for the demo store", err)
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
	data, err := dataset.Load()
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
	consent := data.ConsentConsumer
	consent.ID = consumer.ID + 1
	return &keyring{Credentials: demoCredentials{grant, consent}, grants: []adapter.Grant{grant}, close: func() error { return nil }}, nil
}

// demoCredentials are the credentials of the demo store.
type demoCredentials struct {
	grant   adapter.Grant
	consent adapter.Consumer // without tokens
}

// Consumer returns a consumer of the demo store.
func (d demoCredentials) Consumer(_ context.Context, key string) (adapter.Consumer, error) {
	switch {
	case strings.EqualFold(key, d.grant.Consumer.Key):
		return d.grant.Consumer, nil
	case strings.EqualFold(key, d.consent.Key):
		return d.consent, nil
	default:
		return adapter.Consumer{}, &adapter.Error{Kind: adapter.NotFound, Op: "find consumer"}
	}
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

// find returns the consumer and the token that act for a caller: "admin", "admin:" and an id,
// or "customer:" and an id or an e-mail address. With a consumer key only that consumer counts.
// Of several tokens find takes the last one.
func (k *keyring) find(ctx context.Context, caller, consumerKey string) (consumer adapter.Consumer, token adapter.Token, err error) {
	kind, who, _ := strings.Cut(caller, ":")
	var id int64 // 0: any administrator
	fits := func(t adapter.Token) bool { return t.AdminID != 0 && (id == 0 || t.AdminID == id) }
	switch {
	case kind == "admin" && who == "":
	case kind == "admin":
		if id, err = strconv.ParseInt(who, 10, 64); err != nil || id <= 0 {
			return consumer, token, errors.New("the id of an administrator must be a positive number: see \"portico credentials list admins\"")
		}
	case kind == "customer":
		if id, err = k.customerID(ctx, who); err != nil {
			return consumer, token, err
		}
		fits = func(t adapter.Token) bool { return t.CustomerID == id }
	default:
		return consumer, token, errors.New("--as must be guest, admin, admin:ID, customer:ID or customer:EMAIL")
	}
	for _, g := range k.grants {
		if consumerKey != "" && !strings.EqualFold(g.Consumer.Key, consumerKey) {
			continue
		}
		for _, t := range g.Tokens {
			if t.Type == adapter.AccessToken && !t.Revoked && fits(t) && t.ID >= token.ID {
				consumer, token = g.Consumer, t
			}
		}
	}
	if token.Token == "" {
		return consumer, token, fmt.Errorf("no token acts for this %s: see \"portico credentials list\", or add one with \"portico credentials add-token\"", kind)
	}
	if consumer, err = k.Consumer(ctx, consumer.Key); err != nil {
		return consumer, token, err
	}
	token, err = k.Token(ctx, token.Token)
	return consumer, token, err
}

// customerID returns the id of the customer with an id or an e-mail address.
func (k *keyring) customerID(ctx context.Context, who string) (int64, error) {
	if id, err := strconv.ParseInt(who, 10, 64); err == nil && id > 0 {
		return id, nil
	}
	if !strings.Contains(who, "@") || k.customers == nil {
		return 0, errors.New("name the customer by id, as in --as customer:1, or by e-mail address")
	}
	list, err := k.customers.List(ctx, &adapter.ListParams{Query: adapter.Query{
		Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "email", Op: adapter.Eq, Operands: []string{who}}}}}, Limit: 2,
	}})
	switch {
	case err != nil:
		return 0, err
	case len(list.Records) != 1:
		return 0, errors.New("the e-mail address does not belong to exactly one customer: name the customer by id")
	}
	return list.Records[0].Get("entity_id").Int(), nil
}
