package program

import (
	"context"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

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
