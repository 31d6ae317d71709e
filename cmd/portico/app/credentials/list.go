package credentials

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// A credentialLister prints one kind of credentials, without secrets.
type credentialLister struct {
	kind string // argument of the command
	list func(context.Context, *cobra.Command, *sqlstore.DB) error
}

// credentialListers returns the listers.
func credentialListers() []credentialLister {
	return []credentialLister{{"consumers", listConsumers}, {"keys", listKeys}, {"admins", listAdmins}, {"roles", listRoles}}
}

// listCredentialsCommand returns the command "credentials list".
func listCredentialsCommand(p *program.Program) *cobra.Command {
	var kinds []string
	for _, l := range credentialListers() {
		kinds = append(kinds, l.kind)
	}
	cmd := Subcommand(p, "list [consumers | keys | admins | roles]", "List consumers with their tokens and administrators, or one kind of credentials, without secrets",
		cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, args []string) error {
			if len(args) == 0 {
				return listPeople(ctx, cmd, db)
			}
			for _, l := range credentialListers() {
				if args[0] == l.kind {
					return l.list(ctx, cmd, db)
				}
			}
			return nil // cobra has checked the kind
		})
	cmd.ValidArgs = kinds
	return cmd
}

// listPeople prints all consumers with their tokens and, unless as JSON, the administrators for whom they act.
func listPeople(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err == nil {
		err = listConsumers(ctx, cmd, db)
	}
	if err != nil || asJSON {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return listAdmins(ctx, cmd, db)
}

// listConsumers prints all consumers with their tokens.
func listConsumers(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB) error {
	grants, err := db.Credentials().List(ctx)
	if err != nil {
		return err
	}
	consumers := []PrintedConsumer{}
	for _, g := range grants {
		consumer := PrintedConsumer{Name: g.Consumer.Name, Key: g.Consumer.Key, Callback: g.Consumer.Callback, RejectedCallback: g.Consumer.RejectedCallback}
		for _, t := range g.Tokens {
			consumer.Tokens = append(consumer.Tokens, newPrintedToken(t))
		}
		consumers = append(consumers, consumer)
	}
	return program.WriteResult(cmd, consumers, func(w io.Writer) {
		fmt.Fprintln(w, "CONSUMER\tKEY\tTOKEN\tACTS FOR\tCREATED\tREVOKED")
		for _, consumer := range consumers {
			if len(consumer.Tokens) == 0 {
				fmt.Fprintf(w, "%s\t%s\t-\t-\t-\t-\n", program.Printable(consumer.Name), program.Printable(consumer.Key))
			}
			for _, t := range consumer.Tokens {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%t\n", program.Printable(consumer.Name), program.Printable(consumer.Key), program.Printable(t.Token), actsFor(t), t.Created, t.Revoked)
			}
		}
	})
}

// A PrintedKey is the output of the commands for an API key.
type PrintedKey struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Key        string `json:"key,omitempty"`
	Kind       string `json:"kind"`
	AdminID    int64  `json:"admin_id,omitempty"` // administrator to whom the key belongs; 0: none in particular
	CustomerID int64  `json:"customer_id,omitempty"`
	Revoked    bool   `json:"revoked"`
	Created    string `json:"created"`
}

// newPrintedKey returns the output for k. text is the key itself, or empty to leave it
// out.
func newPrintedKey(k adapter.APIKey, text string) PrintedKey {
	return PrintedKey{ID: k.ID, Name: k.Name, Key: text, Kind: string(k.Kind), AdminID: k.AdminID, CustomerID: k.CustomerID, Revoked: k.Revoked, Created: k.CreatedAt.Format("2006-01-02")}
}

// listKeys prints all API keys.
func listKeys(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB) error {
	all, err := db.Credentials().Keys(ctx)
	if err != nil {
		return err
	}
	keys := []PrintedKey{}
	for _, k := range all {
		keys = append(keys, newPrintedKey(k, ""))
	}
	return program.WriteResult(cmd, keys, func(w io.Writer) {
		fmt.Fprintln(w, "ID\tNAME\tACTS FOR\tCREATED\tREVOKED")
		for _, k := range keys {
			owner := "administrators"
			switch {
			case k.Kind == string(adapter.CustomerKey):
				owner = fmt.Sprintf("customer %d", k.CustomerID)
			case k.AdminID != 0:
				owner = fmt.Sprintf("admin %d", k.AdminID)
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%t\n", k.ID, program.Printable(k.Name), owner, k.Created, k.Revoked)
		}
	})
}

// A PrintedAdmin is the output of the commands for an administrator.
type PrintedAdmin struct {
	ID       int64  `json:"admin_id"`
	Username string `json:"username"`
	LogsIn   bool   `json:"logs_in"` // has a password, and is not disabled
	Disabled bool   `json:"disabled"`
	// Role is the name of the role, "(everything)" or, if every call fails, "(none)".
	Role string `json:"role"`
}

// ReadAdmins returns all administrators.
func ReadAdmins(ctx context.Context, db *sqlstore.DB) ([]PrintedAdmin, error) {
	store, err := db.Adapter().Store(adapter.Admins)
	if err != nil {
		return nil, err
	}
	result, err := store.List(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	roles, err := db.Credentials().AccessRoles(ctx)
	if err != nil {
		return nil, err
	}
	admins := []PrintedAdmin{}
	for _, r := range result.Records {
		disabled := r.Get("disabled").Int() != 0
		admins = append(admins, PrintedAdmin{
			ID: r.Get("admin_id").Int(), Username: r.Get("username").Text(), LogsIn: !disabled && !r.Get("password_hash").Empty(), Disabled: disabled,
			Role: roleOf(&roles, r.Get("admin_id").Int()),
		})
	}
	return admins, nil
}

// roleOf returns the name of an administrator's role for people.
func roleOf(roles *adapter.AccessRoles, admin int64) string {
	assigned, ok := roles.Of(admin)
	role, known := roles.Role(assigned.RoleID)
	switch {
	case !ok || assigned.Everything:
		return roleName("", true)
	case !known:
		return "(none)"
	}
	return role.Name
}

// listAdmins prints all administrators.
func listAdmins(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB) error {
	admins, err := ReadAdmins(ctx, db)
	if err != nil {
		return err
	}
	return program.WriteResult(cmd, admins, func(w io.Writer) {
		fmt.Fprintln(w, "ID\tUSERNAME\tLOGS IN\tDISABLED\tROLE")
		for _, a := range admins {
			fmt.Fprintf(w, "%d\t%s\t%t\t%t\t%s\n", a.ID, program.Printable(a.Username), a.LogsIn, a.Disabled, program.Printable(a.Role))
		}
	})
}
