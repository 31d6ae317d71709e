package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

func revokeCommand() *cobra.Command {
	var consumer string
	var key int64
	cmd := credentialsSubcommand("revoke (TOKEN | --consumer KEY | --key ID)", "Revoke a token, a consumer or an API key: calls with it are refused within seconds",
		oneToRevoke,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, args []string) error {
			c := db.Credentials()
			switch flags := cmd.Flags(); {
			case flags.Changed("consumer"):
				tokens, err := c.RemoveConsumer(ctx, consumer)
				if err != nil {
					return notThere(err, "consumer", "list")
				}
				return write(cmd, map[string]any{"removed": consumer, "tokens": tokens}, func(w io.Writer) { fmt.Fprintf(w, "removed, with %d tokens\n", tokens) })
			case flags.Changed("key"):
				if err := c.RevokeKey(ctx, key); err != nil {
					return notThere(err, "key", "list keys")
				}
				return write(cmd, map[string]any{"revoked": key}, func(w io.Writer) { fmt.Fprintln(w, "revoked") })
			default:
				if err := c.Revoke(ctx, args[0]); err != nil {
					return notThere(err, "token", "list")
				}
				return write(cmd, map[string]string{"revoked": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "revoked") })
			}
		})
	cmd.Long = `Revoke a token, a consumer or an API key: calls with it are refused within seconds,
by every server of the store.

A token stays on the list, revoked. A consumer is removed with all its tokens, as
if it had never been there. "portico credentials list" shows both, "portico
credentials list keys" the ids of API keys.`
	cmd.Flags().StringVar(&consumer, "consumer", "", "key of the consumer to remove")
	cmd.Flags().Int64Var(&key, "key", 0, "id of the API key to revoke")
	cmd.MarkFlagsMutuallyExclusive("consumer", "key")
	return cmd
}

// oneToRevoke demands one token, consumer or key.
func oneToRevoke(cmd *cobra.Command, args []string) error {
	flagged := cmd.Flags().Changed("consumer") || cmd.Flags().Changed("key")
	switch {
	case len(args) > 0 && flagged:
		return errors.New("revoke one at a time: a token, --consumer or --key")
	case flagged:
		return nil
	case len(args) != 1:
		return fmt.Errorf("accepts 1 arg, the token to revoke, or else --consumer KEY or --key ID; received %d", len(args))
	}
	return nil
}

// notThere says what is not there, and how to find out what is.
func notThere(err error, what, list string) error {
	if adapter.KindOf(err) == adapter.NotFound {
		return fmt.Errorf("there is no such %s: see \"portico credentials %s\"", what, list)
	}
	return err
}
