package program

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// Rules converts the setting routes to rules.
func Rules(routes []config.Route) proxy.Rules {
	calls := map[string]proxy.Calls{"all": proxy.All, "reads": proxy.Reads, "writes": proxy.Writes}
	targets := map[string]proxy.Target{"portico": proxy.Portico, "legacy": proxy.Legacy}
	var rules proxy.Rules
	for _, r := range routes {
		rules = append(rules, proxy.Rule{Resource: r.Resource, Calls: calls[r.Calls], To: targets[r.To], Shadow: r.Shadow, Mirror: r.Mirror})
	}
	return rules
}

// DescribeRoutes returns one phrase for each route, such as "products reads to legacy,
// shadowed".
func DescribeRoutes(routes []config.Route) []string {
	texts := make([]string, len(routes))
	for i, r := range routes {
		texts[i] = r.Resource
		if r.Calls != "all" {
			texts[i] += " " + r.Calls
		}
		texts[i] += " to " + r.To
		if r.Shadow {
			texts[i] += ", shadowed"
		}
		if r.Mirror {
			texts[i] += ", mirrored"
		}
	}
	return texts
}

// CanMirror reports whether a configuration lets writes be mirrored, now or after a reload.
func CanMirror(cfg *config.Config) bool {
	return cfg.Follow.DSN != "" && cfg.Legacy.URL != ""
}

// CheckRoutes returns the faults of the table routes as a whole.
func CheckRoutes(cfg *config.Config) []string {
	if cfg.Legacy.URL == "" {
		return nil
	}
	parts, err := ResourceParts(cfg)
	if err != nil {
		return nil // there is another fault
	}
	return slices.Compact(plan.CheckRules(Rules(cfg.Routes), parts, cfg.Follow.DSN != ""))
}

// ResourceParts returns the resources of the contract in the dialect of a configuration, in the
// order of the route table.
func ResourceParts(cfg *config.Config) ([]plan.Part, error) {
	d, err := Dialect(cfg)
	if err != nil {
		return nil, err
	}
	schemas := adapter.NewSchemas()
	var parts []plan.Part
	for _, route := range contract.Routes(contract.StandardFields()) {
		at := slices.IndexFunc(parts, func(p plan.Part) bool { return p.Name == route.Resource })
		if at < 0 {
			part := plan.Part{Name: route.Resource, Root: route.Resource}
			if root := schemas.Of(adapter.Resource(route.Resource)).Root; root != "" {
				part.Root = string(root)
			}
			at, parts = len(parts), append(parts, part)
		}
		for _, method := range contract.Methods() {
			if route.Calls[method] == "" {
				continue
			}
			parts[at].Calls = append(parts[at].Calls, route.Calls[method])
			for _, role := range []contract.Role{contract.Admin, contract.Customer, contract.Guest} {
				if method != contract.GET && route.Access(d, role, method) == contract.Serve {
					parts[at].Writes = true
				}
			}
		}
	}
	return parts, nil
}

// Dialect returns the dialect of a configuration, with integers in the form that it sets.
func Dialect(cfg *config.Config) (*contract.Dialect, error) {
	for _, d := range contract.Dialects() {
		switch {
		case d.Name != cfg.Dialect:
		case cfg.Store.Integers == "number":
			return d.WithNumericIntegers(), nil
		default:
			return d, nil
		}
	}
	return nil, fmt.Errorf("there is no dialect %q: use documented, magento or openmage", cfg.Dialect)
}

// CheckOwners fails if Portico owns the writes of some resources, other processes repeat these
// writes at the legacy store, and this process would accept writes without repeating them.
func CheckOwners(ctx context.Context, cfg *config.Config, owners coordination.OwnerTable) error {
	all, err := owners.All(ctx)
	if err != nil || CanMirror(cfg) {
		return err
	}
	rules := Rules(cfg.Routes)
	for _, o := range all {
		if !o.Mirrored && !o.Turning {
			continue
		}
		if others, err := owners.Live(ctx); err != nil || others {
			return errors.Join(fmt.Errorf("other processes repeat the writes of %s at the legacy store, and this one would not: stop all of them, and start this one ten seconds later, or set follow.dsn and legacy.url as they have them", o.Resource), err)
		}
		if cfg.Legacy.URL != "" && rules.For(&contract.Address{Route: &contract.Route{Resource: string(o.Resource)}}).To == proxy.Legacy {
			return fmt.Errorf("portico has the writes of %s, and the legacy store may not have all of them yet: set follow.dsn until they have turned back", o.Resource)
		}
	}
	return nil
}
