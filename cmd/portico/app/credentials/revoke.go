package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// revokeCommand returns the command "credentials revoke".
func revokeCommand(p *program.Program) *cobra.Command {
	var consumer string
	var key int64
	cmd := Subcommand(p, "revoke (TOKEN | --consumer KEY | --key ID)", "Revoke a token, a consumer or an API key: calls with it are refused within seconds",
		requireOneTarget,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, args []string) error {
			switch flags := cmd.Flags(); {
			case flags.Changed("consumer"):
				tokens, err := RemoveConsumer(ctx, db, consumer)
				if err != nil {
					return err
				}
				return program.WriteResult(cmd, map[string]any{"removed": consumer, "tokens": tokens}, func(w io.Writer) { fmt.Fprintf(w, "removed, with %d tokens\n", tokens) })
			case flags.Changed("key"):
				if err := RevokeKey(ctx, db, key); err != nil {
					return err
				}
				return program.WriteResult(cmd, map[string]any{"revoked": key}, func(w io.Writer) { fmt.Fprintln(w, "revoked") })
			default:
				if err := RevokeToken(ctx, db, args[0]); err != nil {
					return err
				}
				return program.WriteResult(cmd, map[string]string{"revoked": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "revoked") })
			}
		})
	cmd.Long = `Revoke a token, a consumer or an API key: calls with it are refused within seconds,
by every server of the store.

A revoked token stays in the list of tokens. A consumer is removed together with all its
tokens. "portico credentials list" shows consumers and tokens, "portico credentials list
keys" shows the ids of API keys.`
	cmd.Flags().StringVar(&consumer, "consumer", "", "key of the consumer to remove")
	cmd.Flags().Int64Var(&key, "key", 0, "id of the API key to revoke")
	cmd.MarkFlagsMutuallyExclusive("consumer", "key")
	return cmd
}

// requireOneTarget checks that the arguments and flags name exactly one token, consumer or
// key.
func requireOneTarget(cmd *cobra.Command, args []string) error {
	flagged := cmd.Flags().Changed("consumer") || cmd.Flags().Changed("key")
	switch {
	case len(args) > 0 && flagged:
		return errors.New("revoke one at a time: a token, --consumer or --key")
	case flagged:
		return nil
	case len(args) != 1:
		return fmt.Errorf("accepts 1 arg, the token to revoke, or --consumer KEY or --key ID instead; received %d", len(args))
	}
	return nil
}

// explainNotFound replaces a NotFound error by one that names the kind of the missing object, and
// the subcommand list of "portico credentials" that lists the existing objects. It returns other
// errors unchanged.
func explainNotFound(err error, what, list string) error {
	if adapter.KindOf(err) == adapter.NotFound {
		return fmt.Errorf("there is no such %s: see \"portico credentials %s\"", what, list)
	}
	return err
}
