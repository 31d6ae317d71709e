package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

const (
	// shortestPassword is that of an administrator, in characters.
	shortestPassword = 8
	// maxSecretFile bounds a file with a password, a key or a DSN, in bytes.
	maxSecretFile = 4 << 10
)

func addAdminCommand() *cobra.Command {
	var username, file string
	var replace bool
	cmd := credentialsSubcommand("add-admin --username NAME", "Add an administrator, who can log in and consent to what programs ask for", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			password, err := newPassword(cmd, file)
			if err != nil {
				return err
			}
			hash, err := db.HashPassword(password)
			if err != nil {
				return err
			}
			var id adapter.Key
			if replace {
				id, err = db.SetAdminPassword(ctx, username, hash)
			} else {
				id, err = db.AddAdmin(ctx, 0, username, hash)
			}
			switch {
			case adapter.KindOf(err) == adapter.NotFound:
				return errors.New("there is no administrator of that name: see \"portico credentials list admins\"")
			case err != nil:
				return explain(err, "there is an administrator of that name: --replace gives him a new password")
			}
			return write(cmd, printedAdmin{ID: int64(id), Username: username, LogsIn: true}, func(w io.Writer) {
				fmt.Fprintf(w, "admin\t%d\nusername\t%s\n", id, username)
			})
		})
	cmd.Long = `Add an administrator, who can log in and consent to what programs ask for.

The password is asked for on the terminal, twice, or read from a file, so that it
stands in no history and no list of processes:
  portico credentials add-admin --username erp
  portico credentials add-admin --username erp --password-file /run/secrets/erp
  pwgen 20 1 | portico credentials add-admin --username erp --password-file -`
	cmd.Flags().StringVar(&username, "username", "", "name to log in with")
	cmd.Flags().StringVar(&file, "password-file", "", "file with the password; - is standard input")
	cmd.Flags().BoolVar(&replace, "replace", false, "give the administrator of that name, who is there, a new password")
	require(cmd, "username")
	return cmd
}

// newPassword returns the password in a file, or what is typed on the terminal where
// none is named.
func newPassword(cmd *cobra.Command, file string) (string, error) {
	var password string
	var err error
	if file != "" {
		password, err = secretFile(cmd, file)
	} else {
		password, err = typedPassword(cmd)
	}
	switch {
	case err != nil:
		return "", err
	case !utf8.ValidString(password) || utf8.RuneCountInString(password) < shortestPassword:
		return "", fmt.Errorf("a password has at least %d characters", shortestPassword)
	}
	return password, nil
}

// secretFile returns what stands in a file, - for standard input, without the line
// break at its end.
func secretFile(cmd *cobra.Command, path string) (string, error) {
	in := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	content, err := io.ReadAll(io.LimitReader(in, maxSecretFile+1))
	switch {
	case err != nil:
		return "", err
	case len(content) > maxSecretFile:
		return "", fmt.Errorf("%s is longer than %d bytes", path, maxSecretFile)
	}
	return string(bytes.TrimRight(content, "\r\n")), nil
}

var (
	errNoTerminal = errors.New("there is no terminal to ask for the password on: give it by --password-file FILE, or - for standard input")
	errTypedTwice = errors.New("that was not the same twice")
)

// typedPassword asks for a password on the terminal.
func typedPassword(cmd *cobra.Command) (string, error) {
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
		return "", errTypedTwice
	}
	return typed[0], nil
}
