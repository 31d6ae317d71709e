package app

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/openapi"
)

// printStartup prints the addresses of the two listeners. For a demo store, whose data is not nil,
// it first prints commands to try, and finally the credentials and more commands.
func printStartup(p *program.Program, w io.Writer, cfg *config.Config, contract, ops net.Addr, data *adapter.Dataset) {
	base := "http://" + program.DialAddress(contract) + cfg.BasePath()
	if cfg.Server.TLSCert != "" {
		base = "https://" + program.DialAddress(contract) + cfg.BasePath()
	}
	fmt.Fprintf(w, "Portico %s, dialect %s\n", p.Build.Version, cfg.Dialect)
	var examples []openapi.LandingExample
	if data != nil {
		examples = demoExamples(cfg, base, program.DialAddress(ops), data)
		printExamples(w, examples[:1])
		fmt.Fprintln(w)
	}
	if file := p.FoundFile(); file != "" {
		fmt.Fprintf(w, "  settings    %s in this folder\n", file)
	}
	if address := consoleURL(cfg, program.DialAddress(ops)); address != "" {
		fmt.Fprintf(w, "  console     %s\n", address)
	}
	fmt.Fprintf(w, "  contract    %s/api/rest\n", base)
	fmt.Fprintf(w, "  operations  http://%s  (/metrics /healthz /readyz)\n", program.DialAddress(ops))
	if len(cfg.Routes) > 0 {
		fmt.Fprintf(w, "  legacy store  %s  (legacy.auth %s)\n", cfg.Legacy.URL, cfg.Legacy.Auth)
		fmt.Fprintf(w, "  routes      %s\n", strings.Join(program.DescribeRoutes(cfg.Routes), "; "))
	}
	if data == nil {
		return
	}
	printDemoCredentials(w, data)
	if cfg.Dialect == "documented" {
		fmt.Fprintf(w, "\nExisting Magento 1 clients expect the original's answers: start with --dialect magento.\n")
	}
	printExamples(w, examples[1:])
}

// printExamples prints commands to paste.
func printExamples(w io.Writer, examples []openapi.LandingExample) {
	for _, e := range examples {
		fmt.Fprintf(w, "\n%s:\n", e.Title)
		for line := range strings.Lines(e.Commands) {
			fmt.Fprintf(w, "  %s", line)
		}
	}
}

// printDemoCredentials prints the credentials of a demo store, which are public.
func printDemoCredentials(w io.Writer, data *adapter.Dataset) {
	consumer := data.Consumer
	fmt.Fprintf(w, "\nDemo store: it is temporary, and its credentials are public.\n")
	fmt.Fprintf(w, "  consumer    key %s  secret %s\n", consumer.Key, consumer.Secret)
	for _, t := range data.Tokens {
		name := "admin"
		if t.CustomerID != 0 {
			name = fmt.Sprintf("customer %d", t.CustomerID)
		}
		fmt.Fprintf(w, "  %-11s token %s  secret %s\n", name, t.Token, t.Secret)
	}
	for _, r := range data.Records[adapter.Admins] {
		fmt.Fprintf(w, "  log-in      admin %s, password %s\n", r.Get("username").Text(), dataset.AdminPassword)
	}
	for _, r := range data.Records[adapter.Customers][:1] {
		fmt.Fprintf(w, "  log-in      customer %s, password %s\n", r.Get("email").Text(), data.Passwords[adapter.Key(r.Get("entity_id").Int())])
	}
	if c := data.ConsentConsumer; c.Key != "" {
		fmt.Fprintf(w, "  consent     a program that users can authorize:\n")
		fmt.Fprintf(w, "              key %s  secret %s\n", c.Key, c.Secret)
	}
}

// consoleURL returns the address of the console on the operators' port at an address, "" if there
// is no console.
func consoleURL(cfg *config.Config, ops string) string {
	if !cfg.OpsConsole {
		return ""
	}
	return "http://" + ops + "/"
}

// demoExamples returns commands to try with a demo store, in lines of at most 98 characters
// unless the base URL is long. The first needs no credentials, the last undoes all changes. ops
// is the address of the operators' port.
func demoExamples(cfg *config.Config, base, ops string, data *adapter.Dataset) []openapi.LandingExample {
	examples := []openapi.LandingExample{{
		Title:    "Ask as a Guest, without credentials",
		Commands: fmt.Sprintf("curl -H 'Accept: application/json' '%s/api/rest/products?limit=2'\n", base),
	}}
	at := slices.IndexFunc(data.Tokens, func(t adapter.Token) bool { return t.CustomerID == 0 })
	if !cfg.Auth.RefusePlaintext && at >= 0 { // curl cannot sign with another method
		consumer, token := data.Consumer, data.Tokens[at]
		examples = append(examples, openapi.LandingExample{
			Title: "Read and change stock as an administrator, with the credentials in a variable",
			Commands: `me='OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT"'
me="$me"', oauth_consumer_key="` + consumer.Key + `"'
me="$me"', oauth_token="` + token.Token + `"'
me="$me"', oauth_signature="` + consumer.Secret + "%26" + token.Secret + `"'
curl -H "Authorization: $me" -H 'Accept: application/json' \
  '` + base + `/api/rest/stockitems?limit=2'
curl -H "Authorization: $me" -H 'Accept: text/xml' -H 'Content-Type: text/xml' -X PUT \
  -d '<r><data_item item_id="1"><qty>5</qty></data_item></r>' \
  '` + base + `/api/rest/stockitems'
`,
		})
	}
	reset := fmt.Sprintf("-X POST 'http://%s/demo/reset'\n", ops)
	if cfg.OpsToken != "" { // do not print the token
		reset = `-H "Authorization: Bearer $PORTICO_OPS_TOKEN" ` + reset
	}
	return append(examples, openapi.LandingExample{Title: "Undo all changes", Commands: "curl " + reset})
}
