package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// addAdminCommand returns the command "credentials add-admin".
func addAdminCommand(p *program.Program) *cobra.Command {
	var username, file string
	var replace bool
	cmd := Subcommand(p, "add-admin --username NAME", "Add an administrator who can log in and authorize programs", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			password, err := readPassword(cmd, file)
			if err != nil {
				return err
			}
			id, err := AddAdmin(ctx, db, username, password, replace)
			if err != nil {
				return err
			}
			return program.WriteResult(cmd, PrintedAdmin{ID: int64(id), Username: username, LogsIn: true, Role: roleName("", true)}, func(w io.Writer) {
				fmt.Fprintf(w, "admin\t%d\nusername\t%s\n", id, username)
			})
		})
	cmd.Long = `Add an administrator who can log in and authorize programs.

The command asks for the password on the terminal, twice, or reads it from a file, so that
it appears neither in the shell history nor in the list of processes:
  portico credentials add-admin --username erp
  portico credentials add-admin --username erp --password-file /run/secrets/erp
  pwgen 20 1 | portico credentials add-admin --username erp --password-file -`
	cmd.Flags().StringVar(&username, "username", "", "name to log in with")
	cmd.Flags().StringVar(&file, "password-file", "", "file with the password; - is standard input")
	cmd.Flags().BoolVar(&replace, "replace", false, "set a new password for the existing administrator of that name")
	requireFlag(cmd, "username")
	return cmd
}

// readPassword returns the password in file, or the one typed on the terminal if file is
// empty. It refuses short passwords.
func readPassword(cmd *cobra.Command, file string) (string, error) {
	var password string
	var err error
	if file != "" {
		password, err = program.ReadSecretFile(cmd, file)
	} else {
		password, err = promptPassword(cmd)
	}
	if err != nil {
		return "", err
	}
	return password, CheckPassword(password)
}

var (
	errNoTerminal       = errors.New("there is no terminal on which to ask for the password: use --password-file FILE, or - for standard input")
	errPasswordMismatch = errors.New("the two passwords differ")
)

// promptPassword asks for a password on the terminal, twice.
func promptPassword(cmd *cobra.Command) (string, error) {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", errNoTerminal
	}
	var typed [2]string
	for i, question := range []string{"Password: ", "Once more: "} {
		fmt.Fprint(cmd.ErrOrStderr(), question)
		line, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		if err != nil {
			return "", err
		}
		typed[i] = string(line)
	}
	if typed[0] != typed[1] {
		return "", errPasswordMismatch
	}
	return typed[0], nil
}

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
