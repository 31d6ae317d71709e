package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A PrintedRole is the output of the commands for a role.
type PrintedRole struct {
	ID         int64    `json:"role_id"`
	Name       string   `json:"name"`
	Of         string   `json:"of"` // guest, customer or admin
	Imported   bool     `json:"imported"`
	Everything bool     `json:"everything"`
	Allows     []string `json:"allows,omitempty"` // such as "products: retrieve, update"
}

// newPrintedRole returns the output for a role.
func newPrintedRole(role adapter.AccessRole) PrintedRole {
	printed := PrintedRole{ID: role.ID, Name: role.Name, Of: kindOf(role.ID), Imported: role.Imported, Everything: role.Everything}
	if role.Everything {
		return printed
	}
	allowed := map[adapter.Resource][]string{}
	var resources []adapter.Resource
	for _, rule := range role.Rules {
		if allowed[rule.Resource] == nil {
			resources = append(resources, rule.Resource)
		}
		allowed[rule.Resource] = append(allowed[rule.Resource], rule.Privilege)
	}
	for _, resource := range resources {
		printed.Allows = append(printed.Allows, string(resource)+": "+strings.Join(allowed[resource], ", "))
	}
	return printed
}

// kindOf returns the kind of users who have the role.
func kindOf(id int64) string {
	switch id {
	case adapter.GuestRole:
		return contract.Guest.String()
	case adapter.CustomerRole:
		return contract.Customer.String()
	}
	return contract.Admin.String()
}

// ParseRole returns the role of a name with the given rules, each like "products: retrieve, update".
// The names guest and customer stand for the roles of all Guests and all Customers. The error names
// the rule that is wrong.
func ParseRole(name string, rules []string, everything bool) (adapter.AccessRole, error) {
	role := adapter.AccessRole{Name: name, Everything: everything}
	switch adapter.Fold(name) {
	case adapter.Fold(contract.Guest.String()):
		role.ID = adapter.GuestRole
	case adapter.Fold(contract.Customer.String()):
		role.ID = adapter.CustomerRole
	}
	resources := contract.StandardFields().Resources(false)
	for _, rule := range rules {
		resource, privileges, ok := strings.Cut(rule, ":")
		resource = strings.TrimSpace(resource)
		switch {
		case !ok:
			return role, fmt.Errorf("the rule %q needs a colon, as in \"products: retrieve, update\"", rule)
		case !slices.Contains(resources, resource):
			return role, fmt.Errorf("there is no resource %q: use one of %s", resource, strings.Join(resources, ", "))
		}
		for privilege := range strings.SplitSeq(privileges, ",") {
			privilege = strings.TrimSpace(privilege)
			if !slices.Contains(contract.Privileges(), contract.Privilege(privilege)) {
				return role, fmt.Errorf("there is no privilege %q: use retrieve, create, update or delete", privilege)
			}
			role.Rules = append(role.Rules, adapter.AccessRule{Resource: adapter.Resource(resource), Privilege: privilege})
		}
	}
	return role, nil
}

// setRoleCommand returns the command "credentials set-role".
func setRoleCommand(p *program.Program) *cobra.Command {
	var name string
	var rules []string
	var everything bool
	cmd := Subcommand(p, "set-role --name NAME [--allow RULE]...", "Say which calls Guests, Customers or some administrators may make", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			role, err := ParseRole(name, rules, everything)
			if err != nil {
				return err
			}
			if role.ID, err = db.Admins().SetRole(ctx, role); err != nil {
				return explainRefusal(err, "another role has that name")
			}
			printed := newPrintedRole(role)
			return program.WriteResult(cmd, printed, func(w io.Writer) { writeRoles(w, []PrintedRole{printed}) })
		})
	cmd.Long = `Say which calls a role allows, in place of what it has allowed before. All other calls of those
who have the role are answered with 403. Every server of the store does so within seconds.

The role "guest" is that of every Guest, "customer" that of every Customer; until they are set,
these may make all calls that the contract lets them make. Every other role is for
administrators: see "portico credentials assign-role".
  portico credentials set-role --name warehouse --allow "stock_items: retrieve, update" --allow "products: retrieve"
  portico credentials set-role --name guest --allow "products: retrieve"
  portico credentials set-role --name nothing

A rule names a resource and the privileges on it: retrieve for GET, create for POST, update for
PUT and delete for DELETE. Resources are customers, customer_addresses, products,
product_categories, product_images, product_websites, stock_items, orders, order_items,
order_addresses and order_comments. The lists inside an order need the privilege retrieve on
order_addresses, order_items and order_comments.

With the setting legacy.auth: keep, the legacy store judges calls that are forwarded to it by its
own roles, not by these.

An import from a legacy store replaces roles that it has imported, and leaves this one alone.`
	cmd.Flags().StringVar(&name, "name", "", "name of the role; guest and customer stand for all Guests and all Customers")
	cmd.Flags().StringArrayVar(&rules, "allow", nil, `rule such as "products: retrieve, update"; can be repeated. Without a rule the role allows nothing`)
	cmd.Flags().BoolVar(&everything, "everything", false, "allow every call that the kind of user may make")
	cmd.MarkFlagsMutuallyExclusive("allow", "everything")
	requireFlag(cmd, "name")
	return cmd
}

// removeRoleCommand returns the command "credentials remove-role".
func removeRoleCommand(p *program.Program) *cobra.Command {
	var name string
	cmd := Subcommand(p, "remove-role --name NAME", "Remove a role that no administrator has", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			if err := db.Admins().RemoveRole(ctx, name); err != nil {
				if adapter.KindOf(err) == adapter.NotFound {
					return errNoRole
				}
				return explainRefusal(err, "")
			}
			return program.WriteResult(cmd, map[string]any{"removed": name}, func(w io.Writer) { fmt.Fprintf(w, "removed\t%s\n", program.Printable(name)) })
		})
	cmd.Long = `Remove a role that no administrator has. Without the role "guest" or "customer", Guests or
Customers may make all calls that the contract lets them make. The next import from a legacy
store brings the roles of that again.`
	cmd.Flags().StringVar(&name, "name", "", "name of the role")
	requireFlag(cmd, "name")
	return cmd
}

var errNoRole = errors.New("there is no role of that name: see \"portico credentials list roles\", or add one with \"portico credentials set-role\"")

// assignRoleCommand returns the command "credentials assign-role".
func assignRoleCommand(p *program.Program) *cobra.Command {
	var username, name string
	var everything bool
	cmd := Subcommand(p, "assign-role --username NAME (--role NAME | --everything)", "Give an administrator a role", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			id, err := AssignRole(ctx, db, username, name)
			if err != nil {
				return err
			}
			return program.WriteResult(cmd, map[string]any{"admin_id": id, "role": name}, func(w io.Writer) {
				fmt.Fprintf(w, "admin\t%d\nrole\t%s\n", id, program.Printable(roleName(name, everything)))
			})
		})
	cmd.Long = `Give an administrator a role, in place of the one before. Programs that act for the
administrator may then make the calls of the role, and get 403 for others. An administrator
who has never got a role may make every call. --everything gives every call again, also
against the legacy store: imports then leave the administrator's role alone.`
	cmd.Flags().StringVar(&username, "username", "", "name of the administrator")
	cmd.Flags().StringVar(&name, "role", "", `name of the role: see "portico credentials list roles"`)
	cmd.Flags().BoolVar(&everything, "everything", false, "every call, without a role")
	requireFlag(cmd, "username")
	cmd.MarkFlagsOneRequired("role", "everything")
	cmd.MarkFlagsMutuallyExclusive("role", "everything")
	return cmd
}

// AssignRole gives an administrator the role of a name, or every right with the name "".
func AssignRole(ctx context.Context, db *sqlstore.DB, username, name string) (adapter.Key, error) {
	id, err := db.Admins().AssignRole(ctx, username, name)
	var refusal *adapter.Error
	if errors.As(err, &refusal) && refusal.Field == "role" {
		return 0, errNoRole
	}
	return id, explainNotFound(err, "administrator", "list admins")
}

// roleName returns the name of an administrator's role for people.
func roleName(name string, everything bool) string {
	if everything {
		return "(everything)"
	}
	return name
}

// listRoles prints all roles.
func listRoles(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB) error {
	roles, err := db.Credentials().AccessRoles(ctx)
	if err != nil {
		return err
	}
	printed := []PrintedRole{}
	for _, role := range roles.Roles {
		printed = append(printed, newPrintedRole(role))
	}
	return program.WriteResult(cmd, printed, func(w io.Writer) { writeRoles(w, printed) })
}

func writeRoles(w io.Writer, roles []PrintedRole) {
	fmt.Fprintln(w, "ID\tROLE\tOF\tIMPORTED\tALLOWS")
	for _, role := range roles {
		allows := strings.Join(role.Allows, "; ")
		switch {
		case role.Everything:
			allows = "everything"
		case allows == "":
			allows = "nothing"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%t\t%s\n", role.ID, program.Printable(role.Name), role.Of, role.Imported, allows)
	}
}
