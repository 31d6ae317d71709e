package credentials

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// addKeyCommand returns the command "credentials add-key".
func addKeyCommand(p *program.Program) *cobra.Command {
	var key adapter.APIKey
	var admin bool
	var username string
	cmd := Subcommand(p, "add-key --name NAME (--admin [--username NAME] | --customer ID)", "Create an API key, which a client sends instead of a signature", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			key.Kind = adapter.CustomerKey
			if admin {
				key.Kind = adapter.AdminKey
			}
			added, text, err := AddKey(ctx, db, key, username)
			if err != nil {
				return err
			}
			if err := warnIfBearerOff(p, cmd); err != nil {
				return err
			}
			return program.WriteResult(cmd, newPrintedKey(added, text), func(w io.Writer) { fmt.Fprintf(w, "id\t%d\nkey\t%s\n", added.ID, text) })
		})
	cmd.Long = `Create an API key, which a client sends instead of a signature:
  Authorization: Bearer KEY

Servers accept keys if the setting auth.bearer is on. The key is shown once, because only
its hash is stored. Anybody who has a key can call, so give each client its own key, serve
over HTTPS only, and revoke keys that have leaked:
  portico credentials revoke --key ID

A key for administrators may belong to one of them:
  portico credentials add-key --name "probe" --admin --username erp
It is revoked when that administrator is disabled.`
	cmd.Flags().StringVar(&key.Name, "name", "", "name of the client")
	cmd.Flags().BoolVar(&admin, "admin", false, "the key acts for an administrator")
	cmd.Flags().StringVar(&username, "username", "", "with --admin: the administrator to whom the key belongs")
	cmd.Flags().Int64Var(&key.CustomerID, "customer", 0, "id of the customer the key acts for")
	requireFlag(cmd, "name")
	cmd.MarkFlagsOneRequired("admin", "customer")
	cmd.MarkFlagsMutuallyExclusive("admin", "customer")
	cmd.MarkFlagsMutuallyExclusive("username", "customer")
	return cmd
}

// warnIfBearerOff prints a warning if servers with this configuration accept no API keys.
func warnIfBearerOff(p *program.Program, cmd *cobra.Command) error {
	cfg, err := p.LoadConfig(cmd)
	if err == nil && !cfg.Auth.Bearer {
		fmt.Fprintln(cmd.ErrOrStderr(), "auth.bearer is off: servers accept no API keys until it is set to true (PORTICO_AUTH_BEARER)")
	}
	return err
}

// secretKeyBytes is the size of auth.secret_key.
const secretKeyBytes = 32

// rekeyCommand returns the command "credentials rekey".
func rekeyCommand(p *program.Program) *cobra.Command {
	var file string
	cmd := Subcommand(p, "rekey [--old-key-file FILE]", "Encrypt the secrets of consumers and tokens under a new auth.secret_key", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			var old string
			if file != "" {
				text, err := program.ReadSecretFile(cmd, file)
				if err != nil {
					return err
				}
				key, err := hex.DecodeString(text)
				if err != nil || len(key) != secretKeyBytes {
					return errors.New("the old key must be 64 hexadecimal digits, as auth.secret_key is")
				}
				old = string(key)
			}
			done, err := db.Credentials().Rekey(ctx, old)
			var fault *adapter.Error
			if errors.As(err, &fault) && fault.Kind == adapter.Invalid {
				if fault.Field == "secret_key" {
					return errors.New("there is no new key: set auth.secret_key (PORTICO_AUTH_SECRET_KEY)")
				}
				return fmt.Errorf("%w\nneither auth.secret_key nor the old key decrypts it; nothing is changed", err)
			}
			if err != nil {
				return err
			}
			return program.WriteResult(cmd, done, func(w io.Writer) {
				fmt.Fprintf(w, "encrypted\t%d\nalready under the key\t%d\n", done.Sealed, done.Already)
			})
		})
	cmd.Long = `Encrypt the secrets of consumers and tokens under a new auth.secret_key, all or none.
The configuration has the new key, and a file the old one:
  PORTICO_AUTH_SECRET_KEY=NEW portico credentials rekey --old-key-file old.key
Without --old-key-file the command encrypts the secrets that are not encrypted yet.

Running servers still have the old key and can no longer decrypt the secrets: restart all
of them with the new key immediately. Then run the command again, for the tokens that they
have issued meanwhile.`
	cmd.Flags().StringVar(&file, "old-key-file", "", "file with the key under which the secrets are encrypted now; - is standard input")
	return cmd
}
