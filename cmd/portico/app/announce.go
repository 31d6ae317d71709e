package app

import (
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/config"
)

// printStartup prints the addresses of the two listeners. For a demo store, whose data is
// not nil, it also prints the credentials and commands to try.
func (p *program) printStartup(w io.Writer, cfg *config.Config, contract, ops net.Addr, data *adapter.Dataset) {
	base := "http://" + dialAddress(contract) + cfg.BasePath()
	if cfg.Server.TLSCert != "" {
		base = "https://" + dialAddress(contract) + cfg.BasePath()
	}
	fmt.Fprintf(w, "Portico %s, dialect %s\n", p.version, cfg.Dialect)
	fmt.Fprintf(w, "  contract    %s/api/rest\n", base)
	fmt.Fprintf(w, "  operations  http://%s  (/metrics /healthz /readyz)\n", dialAddress(ops))
	if len(cfg.Routes) > 0 {
		fmt.Fprintf(w, "  old system  %s  (legacy.auth %s)\n", cfg.Legacy.URL, cfg.Legacy.Auth)
		fmt.Fprintf(w, "  routes      %s\n", strings.Join(describeRoutes(cfg.Routes), "; "))
	}
	if data == nil {
		return
	}
	consumer := data.Consumer
	fmt.Fprintf(w, "\nDemo store: it is temporary, and its credentials are public.\n")
	fmt.Fprintf(w, "  consumer    key %s  secret %s\n", consumer.Key, consumer.Secret)
	var admin string
	for _, t := range data.Tokens {
		name := "admin"
		if t.CustomerID != 0 {
			name = fmt.Sprintf("customer %d", t.CustomerID)
		} else {
			admin = fmt.Sprintf(`Authorization: OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%s%%26%s"`,
				consumer.Key, t.Token, consumer.Secret, t.Secret)
		}
		fmt.Fprintf(w, "  %-11s token %s  secret %s\n", name, t.Token, t.Secret)
	}
	for _, r := range data.Records[adapter.Admins] {
		fmt.Fprintf(w, "  log-in      admin %s, password %s\n", r.Get("username").Text(), demo.AdminPassword)
	}
	for _, r := range data.Records[adapter.Customers][:1] {
		fmt.Fprintf(w, "  log-in      customer %s, password %s\n", r.Get("email").Text(), data.Passwords[adapter.Key(r.Get("entity_id").Int())])
	}
	if c := data.ConsentConsumer; c.Key != "" {
		fmt.Fprintf(w, "  consent     key %s  secret %s: a program that users can authorize\n", c.Key, c.Secret)
	}
	reset := fmt.Sprintf(`-X POST 'http://%s/demo/reset'`, dialAddress(ops))
	if cfg.OpsToken != "" { // do not print the token
		reset = `-H "Authorization: Bearer $PORTICO_OPS_TOKEN" ` + reset
	}
	commands := []string{
		fmt.Sprintf(`-H 'Accept: application/json' -H '%s' '%s/api/rest/stockitems?limit=2'`, admin, base),
		fmt.Sprintf(`-X PUT -H 'Content-Type: text/xml' -H 'Accept: text/xml' -H '%s' -d '<r><data_item item_id="1"><qty>5</qty></data_item></r>' '%s/api/rest/stockitems'`, admin, base),
		reset,
	}
	if cfg.Auth.RefusePlaintext { // curl cannot sign with another method
		commands = []string{fmt.Sprintf(`-H 'Accept: application/json' '%s/api/rest/products?limit=2'`, base), reset}
	}
	fmt.Fprintf(w, "\nTry, in another terminal:\n")
	for _, arguments := range commands {
		fmt.Fprintf(w, "  curl %s\n", arguments)
	}
	if cfg.Dialect != "magento" {
		fmt.Fprintf(w, "\nExisting Magento 1 clients expect the original's answers: start with --dialect magento.\n")
	}
}

// dialAddress returns the address at which this machine can reach a listener with the
// address a. For a listener on all interfaces this is the loopback address.
func dialAddress(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if strings.Contains(ip.String(), ":") {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port)
}
