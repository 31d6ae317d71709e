package app

import (
	"log/slog"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/consent"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/limits"
)

// newConsent returns the pages and endpoints with which users authorize programs. Administrators
// log in with the accounts of ownAccounts, which is the adapter of db behind its guard; customers
// log in with the accounts of upstream. If upstream has no customers, customers cannot log in.
func newConsent(cfg *config.Config, db *sqlstore.DB, ownAccounts, upstream adapter.Adapter, permissions map[contract.Role][]contract.Permission, granting *auth.Granting, counts limits.SharedRates, log *slog.Logger) (*consent.Site, error) {
	o := consent.Options{
		Granting: granting, Accounts: map[adapter.Resource]adapter.Store{}, Upgrades: map[adapter.Resource]consent.Upgrade{},
		Secret: cfg.Auth.SecretKey, PasswordCost: cfg.Auth.PasswordCost, MaxQuery: int(cfg.Limits.QueryBytes), PublicURL: cfg.PublicURL, Log: log,
		ShopName: cfg.Store.Name, Permissions: permissions, SharedCounts: counts,
	}
	admins, err := ownAccounts.Store(adapter.Admins)
	if err != nil {
		return nil, err
	}
	o.Accounts[adapter.Admins], o.Upgrades[adapter.Admins] = admins, db.Admins().Upgrade
	switch customers, err := upstream.Store(adapter.Customers); {
	case err == nil:
		o.Accounts[adapter.Customers], o.Upgrades[adapter.Customers] = customers, consent.UpgradeCustomer(customers)
	case adapter.KindOf(err) != adapter.Unsupported:
		return nil, err
	}
	return consent.New(o)
}

// permissions returns the permissions of each role for routes. Calls for resources that upstream
// does not offer can only be answered by a legacy store.
func permissions(cfg *config.Config, d *contract.Dialect, routes []*contract.Route, upstream adapter.Adapter) map[contract.Role][]contract.Permission {
	offered := slices.DeleteFunc(slices.Clone(routes), func(r *contract.Route) bool { return cfg.Legacy.URL == "" && !mapping.Offers(upstream, r) })
	all := map[contract.Role][]contract.Permission{}
	for _, role := range contract.Roles() {
		all[role] = contract.Permissions(d, role, offered)
	}
	return all
}
