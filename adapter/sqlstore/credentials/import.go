package credentials

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// Import stores the consumers, access tokens and, if o.Admins is set, administrators of another
// system, all or none. It matches them with existing ones by key, token and username.
//
//   - A consumer keeps its id if that is free.
//   - A token is imported if its consumer and its owner exist: a customer with the same id and
//     e-mail address, an administrator with the same username. A token that is revoked in one of
//     the systems is revoked here, regardless of the options.
//   - An administrator who is inactive in the other system is disabled here as by
//     Admins.Disable, regardless of the options, and no token of theirs is imported. An
//     administrator with a password hash of unknown form cannot log in.
//   - Guests, Customers and each administrator get the role that they have in the other system.
//     A role or an assignment that an operator has made here stays, whatever it is there.
//
// Kinds: Conflict if another process adds credentials at the same time; Internal for secrets
// that the configured key does not decrypt; Unavailable. An error of one of the sequences is
// wrapped.
func (c *Store) Import(ctx context.Context, from Foreign, o ImportOptions) (ImportReport, error) {
	const op = "import credentials"
	var done ImportReport
	err := coordination.WriteLease(ctx, c.db, op, o.Lease, func(tx *engine.Tx) error {
		in := credentialImport{c: c, tx: tx, ImportOptions: o, consumers: map[int64]int64{}, admins: map[int64]int64{}, disabledAdmins: map[int64]bool{}}
		err := in.run(ctx, from)
		done = in.result
		return err
	})
	return done, err
}

func (in *credentialImport) run(ctx context.Context, from Foreign) error {
	if err := in.importRoles(ctx, from.Roles); err != nil {
		return err
	}
	if err := forEach(in, from.Admins, func(a adapter.Admin) error { return in.importAdmin(ctx, a) }); err != nil {
		return err
	}
	if err := forEach(in, from.Consumers, func(consumer adapter.Consumer) error { return in.importConsumer(ctx, consumer) }); err != nil {
		return err
	}
	if err := forEach(in, from.Tokens, func(t adapter.LegacyToken) error { return in.importToken(ctx, t) }); err != nil {
		return err
	}
	if in.DryRun {
		return nil
	}
	return engine.MoveCounters(ctx, in.tx.Run, in.c.db.Engine.Counters.Advance, append(Counters(), engine.Counter{Table: "admin", Column: "admin_id"}))
}
