package credentials

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// disableAdminCommand returns the command "credentials disable-admin".
func disableAdminCommand(p *program.Program) *cobra.Command {
	var username string
	cmd := Subcommand(p, "disable-admin --username NAME", "Disable an administrator with all tokens, API keys and sessions", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			done, err := DisableAdmin(ctx, db, username)
			if err != nil {
				return err
			}
			return program.WriteResult(cmd, done, func(w io.Writer) {
				fmt.Fprintf(w, "disabled\t%d\ntokens revoked\t%d\nAPI keys revoked\t%d\n", done.ID, done.Tokens, done.Keys)
			})
		})
	cmd.Long = `Disable an administrator: all OAuth tokens that act for the administrator are
revoked, all API keys that belong to the administrator too, and every session to
authorize programs ends. Every server of the store refuses them within seconds.
The administrator cannot log in, and nobody can add tokens and keys, until
  portico credentials enable-admin --username NAME

API keys that belong to no particular administrator stay valid: see "portico
credentials list keys". So do the tokens of other administrators for the same program.`
	cmd.Flags().StringVar(&username, "username", "", "name of the administrator")
	requireFlag(cmd, "username")
	return cmd
}

// enableAdminCommand returns the command "credentials enable-admin".
func enableAdminCommand(p *program.Program) *cobra.Command {
	var username string
	cmd := Subcommand(p, "enable-admin --username NAME", "Let a disabled administrator log in again", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			id, err := EnableAdmin(ctx, db, username)
			if err != nil {
				return err
			}
			return program.WriteResult(cmd, map[string]any{"admin_id": id}, func(w io.Writer) { fmt.Fprintf(w, "enabled\t%d\n", id) })
		})
	cmd.Long = `Let a disabled administrator log in again, with the password as before. Tokens and
API keys that were revoked stay revoked: programs need new ones.`
	cmd.Flags().StringVar(&username, "username", "", "name of the administrator")
	requireFlag(cmd, "username")
	return cmd
}
