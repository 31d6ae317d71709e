package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/portico-commerce/portico/contracttests"
)

// repeatedFlags are the flags that affect the run of a case, and so belong to the command that
// repeats it.
var repeatedFlags = []string{"url", "dialect", "integers", "credentials", "fixtures", "reset", "exchanges", "expect", "timeout", "ca", "insecure"}

// commandLine returns a shell command with the named flags that are set. It contains no secrets.
func commandLine(command string, flags *pflag.FlagSet, baseURL string, names []string) string {
	var b strings.Builder
	b.WriteString(command)
	for _, name := range names {
		f := flags.Lookup(name)
		if f == nil || !f.Changed || f.Value.String() == "" {
			continue
		}
		b.WriteString(" --" + name)
		switch value := f.Value.String(); {
		case name == "url":
			b.WriteString(" " + contracttests.QuoteShell(baseURL))
		case f.Value.Type() == "bool":
			if value != "true" {
				b.WriteString("=" + value)
			}
		case value == "-", name == "reset" && !slices.Contains([]string{"http", "https"}, schemeOf(value)):
			// Standard input can be read once, and a shell command may contain a password.
			b.WriteString(` "${` + envName(name) + `:?}"`)
		default:
			b.WriteString(" " + contracttests.QuoteShell(value))
		}
	}
	return b.String()
}

// schemeOf returns the scheme of a URL without user information, or "".
func schemeOf(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || strings.ContainsAny(rest, "@? ") {
		return ""
	}
	return scheme
}

// signCommand returns the command "contracttest sign".
func signCommand() *cobra.Command {
	var o targetOptions
	var as, form string
	cmd := &cobra.Command{
		Use:   "sign METHOD URL",
		Short: "Print the headers that authenticate one request, for curl",
		Long: `Print the headers that authenticate one request, each on a line, for curl -H @-.
Reports repeat a request in this way, so that no secrets are in them or on the command
line. A signature contains a nonce and is good for one request.`,
		Example: `  contracttest sign --as admin GET http://127.0.0.1:8080/api/rest/customers | curl -H @- http://127.0.0.1:8080/api/rest/customers`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := setFromEnvironment(cmd.Flags(), os.Getenv); err != nil {
				return err
			}
			var target contracttests.Target
			if _, err := o.loadStore(cmd, &target); err != nil {
				return err
			}
			lines, err := target.Credentials.SignRequest(as, args[0], args[1], form)
			for _, line := range lines {
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			return err
		},
	}
	o.addCredentialsFlag(cmd.Flags())
	cmd.Flags().StringVar(&as, "as", contracttests.Admin, "`CALLER` in the credentials: admin, customer_1 or customer_2")
	cmd.Flags().StringVar(&form, "form", "", "`BODY` of the request if it is form-encoded, because OAuth signs it, too")
	return cmd
}
