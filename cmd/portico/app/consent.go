package app

import (
	"log/slog"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/consent"
)

// newConsent returns the pages and endpoints with which users authorize programs.
// Administrators log in with the accounts of ownAccounts, which is the adapter of db
// behind its guard; customers log in with those of upstream. If upstream has no customers,
// customers cannot log in.
func newConsent(cfg *config.Config, db *sqlstore.DB, ownAccounts, upstream adapter.Adapter, granting *auth.Granting, log *slog.Logger) (*consent.Site, error) {
	o := consent.Options{
		Granting: granting, Accounts: map[adapter.Resource]adapter.Store{}, Upgrades: map[adapter.Resource]consent.Upgrade{},
		Secret: cfg.Auth.SecretKey, PasswordCost: cfg.Auth.PasswordCost, MaxQuery: int(cfg.Limits.QueryBytes), PublicURL: cfg.PublicURL, Log: log,
	}
	admins, err := ownAccounts.Store(adapter.Admins)
	if err != nil {
		return nil, err
	}
	o.Accounts[adapter.Admins], o.Upgrades[adapter.Admins] = admins, db.UpgradeAdmin
	switch customers, err := upstream.Store(adapter.Customers); {
	case err == nil:
		o.Accounts[adapter.Customers], o.Upgrades[adapter.Customers] = customers, consent.UpgradeCustomer(customers)
	case adapter.KindOf(err) != adapter.Unsupported:
		return nil, err
	}
	return consent.New(o)
}
