package main

import (
	"fmt"
	"os"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/spf13/cobra"
)

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
