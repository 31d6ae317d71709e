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

// Command returns the command "credentials" with its subcommands.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credentials",
		Short: "Manage OAuth consumers and tokens, API keys and administrators",
		Long: `Manage the OAuth consumers and access tokens, the API keys and the administrators of
the configured store.

A client program is a consumer; it acts for an administrator or a customer with
a token. Give a program the values that the last two commands print:
  portico credentials add-admin --username erp
  portico credentials add-consumer --name "ERP"
  portico credentials add-token --consumer KEY --username erp

A program can also fetch its own token. It then sends a user to log in and authorize it:
a customer, or an administrator to whom add-admin has given a password.

A new client needs no OAuth if auth.bearer is on; it sends an API key:
  portico credentials add-key --name "probe" --admin

A role says which calls an administrator, all Customers or all Guests may make; without one they
may make all:
  portico credentials set-role --name warehouse --allow "stock_items: retrieve, update"
  portico credentials assign-role --username erp --role warehouse

Programs keep the credentials of the legacy store if you import them:
  portico credentials import --from mysql:user:password@tcp(host:3306)/database

Secrets are shown once, when they are created.`,
	}
	cmd.AddCommand(addConsumerCommand(p), addTokenCommand(p), addAdminCommand(p), disableAdminCommand(p), enableAdminCommand(p), addKeyCommand(p), listCredentialsCommand(p),
		setRoleCommand(p), removeRoleCommand(p), assignRoleCommand(p),
		revokeCommand(p), rekeyCommand(p))
	return cmd
}

// A PrintedConsumer is the output of the commands for a consumer.
type PrintedConsumer struct {
	Name   string `json:"name"`
	Key    string `json:"key"`
	Secret string `json:"secret,omitempty"`
	// URLs to which users are redirected after they accept or reject.
	Callback         string         `json:"callback,omitempty"`
	RejectedCallback string         `json:"rejected_callback,omitempty"`
	Tokens           []printedToken `json:"tokens,omitempty"`
}

// A printedToken is the output of the commands for a token.
type printedToken struct {
	Token      string `json:"token"`
	Secret     string `json:"secret,omitempty"`
	AdminID    int64  `json:"admin_id,omitempty"`
	CustomerID int64  `json:"customer_id,omitempty"`
	Type       string `json:"type"`
	Revoked    bool   `json:"revoked"`
	Created    string `json:"created"`
}

// newPrintedToken returns the output for t. It contains the secret if t does.
func newPrintedToken(t adapter.Token) printedToken {
	return printedToken{Token: t.Token, Secret: t.Secret, AdminID: t.AdminID, CustomerID: t.CustomerID,
		Type: string(t.Type), Revoked: t.Revoked, Created: t.CreatedAt.Format("2006-01-02")}
}

// addConsumerCommand returns the command "credentials add-consumer".
func addConsumerCommand(p *program.Program) *cobra.Command {
	var consumer adapter.Consumer
	cmd := Subcommand(p, "add-consumer --name NAME", "Register a client program", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			added, err := AddConsumer(ctx, db, consumer)
			if err != nil {
				return err
			}
			shown := PrintedConsumer{Name: added.Name, Key: added.Key, Secret: added.Secret, Callback: added.Callback, RejectedCallback: added.RejectedCallback}
			return program.WriteResult(cmd, shown, func(w io.Writer) {
				fmt.Fprintf(w, "consumer key\t%s\nconsumer secret\t%s\n", added.Key, added.Secret)
			})
		})
	cmd.Flags().StringVar(&consumer.Name, "name", "", "name of the program")
	cmd.Flags().StringVar(&consumer.Key, "key", "", "its key, 32 characters (default: a random one)")
	cmd.Flags().StringVar(&consumer.Secret, "secret", "", "its secret (default: a random one)")
	cmd.Flags().StringVar(&consumer.Callback, "callback", "", "URL to which users are redirected after they accept, unless the program names one")
	cmd.Flags().StringVar(&consumer.RejectedCallback, "rejected-callback", "", "URL to which users are redirected after they reject")
	requireFlag(cmd, "name")
	return cmd
}

// addTokenCommand returns the command "credentials add-token".
func addTokenCommand(p *program.Program) *cobra.Command {
	var key, username string
	var token adapter.Token
	cmd := Subcommand(p, "add-token --consumer KEY (--username NAME | --admin ID | --customer ID)", "Let a client program act for an administrator or a customer", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) (err error) {
			if username != "" {
				if token.AdminID, err = adminID(ctx, db, username); err != nil {
					return err
				}
			}
			added, err := AddToken(ctx, db, key, token)
			if err != nil {
				return err
			}
			return program.WriteResult(cmd, newPrintedToken(added), func(w io.Writer) {
				fmt.Fprintf(w, "token\t%s\ntoken secret\t%s\n", added.Token, added.Secret)
			})
		})
	cmd.Flags().StringVar(&key, "consumer", "", "key of the consumer")
	cmd.Flags().StringVar(&username, "username", "", "name of the administrator to act for")
	cmd.Flags().Int64Var(&token.AdminID, "admin", 0, "id of the administrator to act for")
	cmd.Flags().Int64Var(&token.CustomerID, "customer", 0, "id of the customer to act for")
	cmd.Flags().StringVar(&token.Token, "token", "", "the token, 32 characters (default: a random one)")
	cmd.Flags().StringVar(&token.Secret, "secret", "", "its secret (default: a random one)")
	requireFlag(cmd, "consumer")
	cmd.MarkFlagsOneRequired("username", "admin", "customer")
	cmd.MarkFlagsMutuallyExclusive("username", "admin", "customer")
	return cmd
}

// actsFor describes the user on whose behalf calls with t act.
func actsFor(t printedToken) string {
	switch {
	case t.AdminID != 0:
		return fmt.Sprintf("admin %d", t.AdminID)
	case t.CustomerID != 0:
		return fmt.Sprintf("customer %d", t.CustomerID)
	default:
		return "nobody yet"
	}
}

// Subcommand returns a command with the flag --json that opens the database of
// the configured store, calls run with it, and closes it.
func Subcommand(p *program.Program, use, short string, args cobra.PositionalArgs, run func(context.Context, *cobra.Command, *sqlstore.DB, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			db, err := program.OpenStore(cmd.Context(), cfg, program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg)))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			return run(cmd.Context(), cmd, db, args)
		},
	}
	p.AddSettingFlags(cmd)
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// explainRefusal returns an error that explains why the store refused a new consumer, token or key.
// conflict is the message for an object that already exists.
func explainRefusal(err error, conflict string) error {
	var refusal *adapter.Error
	if !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Kind {
	case adapter.Conflict:
		return errors.New(conflict)
	case adapter.NotFound:
		return errors.New("there is no such customer in Portico's own database (sql.dsn)")
	case adapter.Invalid:
		return fmt.Errorf("%s: %w", refusal.Field, refusal.Err)
	default:
		return err
	}
}

// requireFlag marks a flag as required. It panics if cmd does not define the flag.
func requireFlag(cmd *cobra.Command, flag string) {
	if err := cmd.MarkFlagRequired(flag); err != nil {
		panic(err) // the caller has not defined the flag
	}
}
