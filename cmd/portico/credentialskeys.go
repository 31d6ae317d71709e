package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

func addKeyCommand() *cobra.Command {
	var key adapter.APIKey
	var admin bool
	var username string
	cmd := credentialsSubcommand("add-key --name NAME (--admin [--username NAME] | --customer ID)", "Make an API key, for a client that sends it in place of a signature", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			if !admin && key.CustomerID <= 0 {
				return errors.New("the id to act for must be positive")
			}
			key.Kind = adapter.CustomerKey
			if admin {
				key.Kind = adapter.AdminKey
			}
			if username != "" {
				id, err := db.AdminID(ctx, username)
				if err != nil {
					return notThere(err, "administrator", "list admins")
				}
				key.AdminID = int64(id)
			}
			added, text, err := db.Credentials().AddKey(ctx, key)
			if err != nil {
				return explain(err, "")
			}
			if err := warnWithoutBearer(cmd); err != nil {
				return err
			}
			return write(cmd, printedAPIKey(added, text), func(w io.Writer) { fmt.Fprintf(w, "id\t%d\nkey\t%s\n", added.ID, text) })
		})
	cmd.Long = `Make an API key, for a client that sends it in place of a signature:
  Authorization: Bearer KEY

Keys count where the setting auth.bearer is on. The key is shown once: what is
stored of it is a hash. Whoever has it can call, so give each client its own,
serve by HTTPS alone, and revoke what has leaked:
  portico credentials revoke --key ID

A key for administrators may belong to one of them:
  portico credentials add-key --name "probe" --admin --username erp
It is revoked when that administrator is disabled.`
	cmd.Flags().StringVar(&key.Name, "name", "", "what the client is called")
	cmd.Flags().BoolVar(&admin, "admin", false, "the key acts for an administrator")
	cmd.Flags().StringVar(&username, "username", "", "with --admin: the administrator who the key belongs to")
	cmd.Flags().Int64Var(&key.CustomerID, "customer", 0, "id of the customer the key acts for")
	require(cmd, "name")
	cmd.MarkFlagsOneRequired("admin", "customer")
	cmd.MarkFlagsMutuallyExclusive("admin", "customer")
	cmd.MarkFlagsMutuallyExclusive("username", "customer")
	return cmd
}

// warnWithoutBearer says so where servers of this configuration take no API keys.
func warnWithoutBearer(cmd *cobra.Command) error {
	cfg, err := loadConfig(cmd)
	if err == nil && !cfg.Auth.Bearer {
		fmt.Fprintln(cmd.ErrOrStderr(), "auth.bearer is off: servers take no API keys until it is set to true (PORTICO_AUTH_BEARER)")
	}
	return err
}

// secretKeyBytes is the size of auth.secret_key.
const secretKeyBytes = 32

func rekeyCommand() *cobra.Command {
	var file string
	cmd := credentialsSubcommand("rekey [--old-key-file FILE]", "Encrypt the secrets of consumers and tokens under a new auth.secret_key", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			var old string
			if file != "" {
				text, err := secretFile(cmd, file)
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
					return errors.New("there is no new key: set auth.secret_key (PORTICO_AUTH_SECRET_KEY) to it")
				}
				return fmt.Errorf("%w\nneither auth.secret_key nor the old key opens it; nothing is changed", err)
			}
			if err != nil {
				return err
			}
			return write(cmd, done, func(w io.Writer) {
				fmt.Fprintf(w, "encrypted\t%d\nalready under the key\t%d\n", done.Sealed, done.Already)
			})
		})
	cmd.Long = `Encrypt the secrets of consumers and tokens under a new auth.secret_key, all or
none. The new key is that of the configuration, the old one stands in a file:
  PORTICO_AUTH_SECRET_KEY=NEW portico credentials rekey --old-key-file old.key
Without --old-key-file secrets that are not encrypted yet become so.

A server that runs has the old key, and cannot open the secrets any more: restart
all with the new one at once. Then run this again, for the tokens that they have
handed out meanwhile.`
	cmd.Flags().StringVar(&file, "old-key-file", "", "file with the key the secrets are encrypted under so far; - is standard input")
	return cmd
}
