package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/auth"
)

func credentialsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credentials",
		Short: "Manage OAuth consumers and tokens, API keys and administrators",
		Long: `Manage who may call: the OAuth consumers and access tokens, the API keys and the
administrators of the store of the configuration.

A client program is a consumer; it acts for an administrator or a customer with
a token. Give a program what the last two commands print:
  portico credentials add-admin --username erp
  portico credentials add-consumer --name "ERP"
  portico credentials add-token --consumer KEY --admin ID

A program that fetches its token by itself asks a user for consent, who logs in:
a customer, or an administrator that add-admin has given a password.

A new client needs no OAuth where auth.bearer is on; it sends one text:
  portico credentials add-key --name "probe" --admin

Programs that the old shop knows keep what they have:
  portico credentials import --from mysql:user:password@tcp(host:3306)/database

Secrets are shown once, when they are made.`,
	}
	cmd.AddCommand(addConsumerCommand(), addTokenCommand(), addAdminCommand(), disableAdminCommand(), enableAdminCommand(), addKeyCommand(), listCredentialsCommand(),
		revokeCommand(), rekeyCommand(), importCredentialsCommand())
	return cmd
}

// A printedConsumer is what the commands show of a consumer, a printedToken what
// they show of a token.
type printedConsumer struct {
	Name   string `json:"name"`
	Key    string `json:"key"`
	Secret string `json:"secret,omitempty"`
	// Where users go after their consent, and without it.
	Callback         string         `json:"callback,omitempty"`
	RejectedCallback string         `json:"rejected_callback,omitempty"`
	Tokens           []printedToken `json:"tokens,omitempty"`
}

type printedToken struct {
	Token      string `json:"token"`
	Secret     string `json:"secret,omitempty"`
	AdminID    int64  `json:"admin_id,omitempty"`
	CustomerID int64  `json:"customer_id,omitempty"`
	Type       string `json:"type"`
	Revoked    bool   `json:"revoked"`
	Created    string `json:"created"`
}

func printed(t adapter.Token) printedToken {
	return printedToken{Token: t.Token, Secret: t.Secret, AdminID: t.AdminID, CustomerID: t.CustomerID,
		Type: string(t.Type), Revoked: t.Revoked, Created: t.CreatedAt.Format("2006-01-02")}
}

func addConsumerCommand() *cobra.Command {
	var consumer adapter.Consumer
	cmd := credentialsSubcommand("add-consumer --name NAME", "Register a client program", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			for _, callback := range []string{consumer.Callback, consumer.RejectedCallback} {
				if callback != "" && !auth.ValidCallback(callback) {
					return errors.New("a callback must be an absolute URL of http or https")
				}
			}
			c := db.Credentials()
			if err := checkSecretKey(ctx, c); err != nil {
				return err
			}
			added, err := c.AddConsumer(ctx, consumer)
			if err != nil {
				return explain(err, "a consumer with that key is there already")
			}
			shown := printedConsumer{Name: added.Name, Key: added.Key, Secret: added.Secret, Callback: added.Callback, RejectedCallback: added.RejectedCallback}
			return write(cmd, shown, func(w io.Writer) {
				fmt.Fprintf(w, "consumer key\t%s\nconsumer secret\t%s\n", added.Key, added.Secret)
			})
		})
	cmd.Flags().StringVar(&consumer.Name, "name", "", "what the program is called")
	cmd.Flags().StringVar(&consumer.Key, "key", "", "its key, 32 characters; made up when left out")
	cmd.Flags().StringVar(&consumer.Secret, "secret", "", "its secret; made up when left out")
	cmd.Flags().StringVar(&consumer.Callback, "callback", "", "URL where users go who have consented, when the program names none")
	cmd.Flags().StringVar(&consumer.RejectedCallback, "rejected-callback", "", "URL where users go who have not")
	require(cmd, "name")
	return cmd
}

func addTokenCommand() *cobra.Command {
	var key string
	var token adapter.Token
	cmd := credentialsSubcommand("add-token --consumer KEY (--admin ID | --customer ID)", "Let a client program act for an administrator or a customer", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			c := db.Credentials()
			if token.AdminID <= 0 && token.CustomerID <= 0 {
				return errors.New("the id to act for must be positive")
			}
			if err := checkSecretKey(ctx, c); err != nil {
				return err
			}
			consumer, err := c.Consumer(ctx, key)
			if err != nil {
				if adapter.KindOf(err) == adapter.NotFound {
					return errors.New("there is no consumer with that key: see \"portico credentials list\"")
				}
				return err
			}
			token.ConsumerID = consumer.ID
			added, err := c.AddToken(ctx, token)
			if err != nil {
				if token.AdminID != 0 && adapter.KindOf(err) == adapter.NotFound {
					return fmt.Errorf("there is no administrator %d: see \"portico credentials list admins\", or add one with \"portico credentials add-admin\"", token.AdminID)
				}
				return explain(err, "that token is there already")
			}
			return write(cmd, printed(added), func(w io.Writer) {
				fmt.Fprintf(w, "token\t%s\ntoken secret\t%s\n", added.Token, added.Secret)
			})
		})
	cmd.Flags().StringVar(&key, "consumer", "", "key of the consumer")
	cmd.Flags().Int64Var(&token.AdminID, "admin", 0, "id of the administrator to act for")
	cmd.Flags().Int64Var(&token.CustomerID, "customer", 0, "id of the customer to act for")
	cmd.Flags().StringVar(&token.Token, "token", "", "the token, 32 characters; made up when left out")
	cmd.Flags().StringVar(&token.Secret, "secret", "", "its secret; made up when left out")
	require(cmd, "consumer")
	cmd.MarkFlagsOneRequired("admin", "customer")
	cmd.MarkFlagsMutuallyExclusive("admin", "customer")
	return cmd
}

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

// credentialsSubcommand returns a command that runs with the database of the configured
// store, and prints JSON if asked to.
func credentialsSubcommand(use, short string, args cobra.PositionalArgs, run func(context.Context, *cobra.Command, *sqlstore.DB, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			db, err := openStore(cmd.Context(), cfg, newLogger(cmd.ErrOrStderr(), quiet(cfg)))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			return run(cmd.Context(), cmd, db, args)
		},
	}
	addSettingFlags(cmd)
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// checkSecretKey fails unless the configured key opens the secrets of every
// consumer: with another key a server would refuse all calls, and what is added
// would not go with what is there.
func checkSecretKey(ctx context.Context, c *sqlstore.Credentials) error {
	grants, err := c.List(ctx)
	if err != nil {
		return err
	}
	for _, g := range grants {
		if _, err := c.Consumer(ctx, g.Consumer.Key); err != nil && adapter.KindOf(err) != adapter.NotFound {
			return fmt.Errorf("%w\nset auth.secret_key (PORTICO_AUTH_SECRET_KEY) to the key the store was filled with", err)
		}
	}
	return nil
}

// write prints a result: as JSON if asked to, else as the table f writes.
func write(cmd *cobra.Command, result any, f func(io.Writer)) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	f(table)
	return table.Flush()
}

// explain puts a store's refusal of a new consumer or token into words.
func explain(err error, conflict string) error {
	var refusal *adapter.Error
	if !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Kind {
	case adapter.Conflict:
		return errors.New(conflict)
	case adapter.NotFound:
		return errors.New("the store has no such customer")
	case adapter.Invalid:
		return fmt.Errorf("%s: %w", refusal.Field, refusal.Err)
	default:
		return err
	}
}

func require(cmd *cobra.Command, flag string) {
	if err := cmd.MarkFlagRequired(flag); err != nil {
		panic(err) // the flag is defined beside the call
	}
}

// quiet returns cfg for a command whose output is its answer: only warnings are
// logged.
func quiet(cfg *config.Config) *config.Config {
	loud := *cfg
	loud.LogLevel = max(loud.LogLevel, slog.LevelWarn)
	return &loud
}
