package main

import (
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/config"
)

// announce tells where the program listens, and, of a demo store, how to call it.
func announce(w io.Writer, cfg *config.Config, contract, ops net.Addr, data *adapter.Dataset) {
	base := "http://" + reachable(contract) + cfg.BasePath()
	if cfg.Server.TLSCert != "" {
		base = "https://" + reachable(contract) + cfg.BasePath()
	}
	fmt.Fprintf(w, "Portico %s, dialect %s\n", version, cfg.Dialect)
	fmt.Fprintf(w, "  contract    %s/api/rest\n", base)
	fmt.Fprintf(w, "  operations  http://%s  (/metrics /healthz /readyz)\n", reachable(ops))
	if len(cfg.Routes) > 0 {
		fmt.Fprintf(w, "  old system  %s  (legacy.auth %s)\n", cfg.Legacy.URL, cfg.Legacy.Auth)
		fmt.Fprintf(w, "  routes      %s\n", strings.Join(routesText(cfg.Routes), "; "))
	}
	if data == nil {
		return
	}
	consumer := data.Consumer
	fmt.Fprintf(w, "\nDemo store: it keeps nothing, and everybody knows its credentials.\n")
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
		fmt.Fprintf(w, "  consent     key %s  secret %s: a program that users let act for them\n", c.Key, c.Secret)
	}
	reset := fmt.Sprintf(`-X POST 'http://%s/demo/reset'`, reachable(ops))
	if cfg.OpsToken != "" { // which is not to be shown
		reset = `-H "Authorization: Bearer $PORTICO_OPS_TOKEN" ` + reset
	}
	calls := []string{
		fmt.Sprintf(`-H 'Accept: application/json' -H '%s' '%s/api/rest/stockitems?limit=2'`, admin, base),
		fmt.Sprintf(`-X PUT -H 'Content-Type: text/xml' -H 'Accept: text/xml' -H '%s' -d '<r><data_item item_id="1"><qty>5</qty></data_item></r>' '%s/api/rest/stockitems'`, admin, base),
		reset,
	}
	if cfg.Auth.RefusePlaintext { // which is all that curl can do
		calls = []string{fmt.Sprintf(`-H 'Accept: application/json' '%s/api/rest/products?limit=2'`, base), reset}
	}
	fmt.Fprintf(w, "\nTry, in another terminal:\n")
	for _, arguments := range calls {
		fmt.Fprintf(w, "  curl %s\n", arguments)
	}
	if cfg.Dialect != "magento" {
		fmt.Fprintf(w, "\nExisting Magento 1 clients expect the original's answers: start with --dialect magento.\n")
	}
}

// reachable returns the address to call a listener by: one that listens on every
// interface is called by the loopback address.
func reachable(a net.Addr) string {
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
