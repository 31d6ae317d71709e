package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// prefix is the prefix of Portico's environment variables.
const prefix = "PORTICO_"

// Config is a validated configuration, as returned by [Load]. The tags of its fields, and of the
// fields of nested structs, define the settings: see [Settings].
type Config struct {
	Listen          string         `setting:"listen" form:"address" default:"127.0.0.1:8080" flag:"listen" help:"Address of the contract's port, host:port. An empty host means every interface."`
	PublicURL       string         `setting:"public_url" form:"base URL" flag:"public-url" help:"Base URL under which clients reach the service, for links and signatures. With a path, such as https://shop.example.com/shop, Portico serves everything below that path and answers other paths with 404. Empty: the Host header of each request."` // without a trailing slash
	TrustedProxies  []netip.Prefix `setting:"trusted_proxies" help:"IP addresses and CIDR networks of the proxies whose forwarding headers Portico trusts. Empty: none."`
	OffloaderHeader string         `setting:"offloader_header" pattern:"[A-Za-z0-9_-]{0,64}" must:"be the name of a header such as SSL_OFFLOADED, or empty" help:"Header by which a trusted proxy says that a request came to it over https, besides X-Forwarded-Proto, such as SSL_OFFLOADED or Front-End-Https: every value but http and 0 says so. An underscore in the name also stands for a hyphen. Empty: none."`
	Dialect         string         `setting:"dialect" default:"documented" choices:"documented magento openmage" flag:"dialect" help:"What Portico sends over the wire: documented follows the contract to the letter, magento sends what the original sends, openmage what its later version OpenMage 20 sends."`
	AcceptMissing   string         `setting:"accept_missing" default:"error" choices:"error json" reload:"true" help:"Dialects magento and openmage: the answer to a request without Accept, either the original's error or JSON."`
	Adapter         string         `setting:"adapter" default:"sql" choices:"" flag:"adapter" help:"The adapter that serves the store's records."`

	OpsListen      string `setting:"ops.listen" form:"address" default:"127.0.0.1:9464" flag:"ops-listen" help:"Address of the operators' port, which has the console, metrics, health and readiness. An address off loopback needs ops.token."`
	OpsToken       string `setting:"ops.token" secret:"true" pattern:"(?:[!-~]{16,256})?" must:"be 16 to 256 printable ASCII characters without blanks" help:"Bearer token that the operators' port requires, 16 to 256 printable ASCII characters. Empty: it requires none."`
	OpsConsole     bool   `setting:"ops.console" default:"true" help:"Whether the operators' port serves the console: pages that show what Portico does and how far a migration is. They ask for ops.token."`
	OpsImpersonate bool   `setting:"ops.console_impersonate" default:"false" help:"Whether the console sends calls as any client program that Portico knows, signed with its secrets. Each call is logged. The demo store needs no such permission."`
	OpsPprof       bool   `setting:"ops.pprof" default:"false" help:"Whether the operators' port serves profiles of the process under /debug/pprof/, for go tool pprof. They require ops.token as /metrics does."`

	LogLevel  slog.Level `setting:"log.level" default:"info" choices:"debug info warn error" flag:"log-level" reload:"true" help:"Lowest severity that is logged."`
	LogFormat string     `setting:"log.format" default:"text" choices:"text json" flag:"log-format" help:"Format of the log."`

	Limits    Limits
	Lists     Lists
	Cache     Cache
	Server    Server
	Upstream  Upstream
	Auth      Auth
	Media     Media
	Store     Store
	Stock     Stock
	Customers Customers
	Tracing   Tracing

	// Settings for migrating from a legacy store resource by resource.
	Legacy Legacy
	Mirror Mirror
	Record Record
	Shadow Shadow
	Follow Follow

	Attributes []Attribute `table:"attributes" identity:"resource name" example:"{resource: customers, name: loyalty_number, kind: text, roles: [admin, customer]}" help:"Attributes that the store has besides those of the contract. They can be read, written, filtered and sorted like those. They are stored, so a change needs a restart."`
	Fields     []FieldList `table:"fields" identity:"resource role" reload:"true" example:"{resource: products, role: guest, read: [entity_id, sku, name, final_price_with_tax]}" help:"Field lists: the fields of a resource that a role reads and writes, where these are not to be the contract's. A role can neither ask for another field nor filter by it. A list can also show Customers and Guests stored fields that the contract shows to an Admin only."`
	Routes     []Route     `table:"routes" identity:"resource calls" reload:"true" example:"{resource: stock_items, calls: reads, to: portico}" help:"Who answers which requests during a migration: Portico's adapter, or the legacy store at legacy.url. The most specific entry wins: first the one that names the resource, then the one that names the calls. Portico answers what no entry covers."`

	// Sections maps each section of [Sources] to its settings as text, by name without the
	// section.
	Sections map[string]map[string]string

	rows   []Row
	loaded *loader // the values that the configuration was converted from; nil unless Load returned it
}

// BasePath returns the path of PublicURL, which precedes all paths of the shop, without a
// trailing slash. It is "" for a shop at the root.
func (c *Config) BasePath() string {
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

// PublicHTTPS reports whether clients reach the service over https, as PublicURL says.
func (c *Config) PublicHTTPS() bool { return strings.HasPrefix(c.PublicURL, "https:") }

// Validate checks the conditions on combinations of settings. It returns all violations as
// [Faults], or nil. [Load] calls it implicitly; call it after changing a Config.
func (c *Config) Validate() error {
	var faults Faults
	for _, r := range conditions() {
		if problem := r.problem(c); problem != "" {
			faults = append(faults, Fault{Setting: r.settings[0], Problem: problem})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return faults
}

// A condition is a requirement on several settings. A violation is reported for the first
// of them.
type condition struct {
	settings []string
	problem  func(*Config) string // empty if the condition is met
}

func conditions() []condition {
	return append(migrationConditions(), []condition{
		{[]string{"ops.token", "ops.listen"}, func(c *Config) string {
			if c.OpsToken != "" || Loopback(c.OpsListen) {
				return ""
			}
			return "must be set, because ops.listen " + c.OpsListen + " is not a loopback address"
		}},
		{[]string{"ops.listen", "listen"}, func(c *Config) string {
			if !overlap(c.OpsListen, c.Listen) {
				return ""
			}
			return "must differ from listen " + c.Listen
		}},
		{[]string{"limits.requests_bytes", "limits.body_bytes"}, func(c *Config) string {
			const copies = 8 // memory for decoding the largest body, in multiples of its size
			if c.Limits.RequestsBytes >= copies*c.Limits.BodyBytes {
				return ""
			}
			return fmt.Sprintf("must be at least %d times limits.body_bytes, which is %s: that is what decoding the largest body can take", copies, sizeText(c.Limits.BodyBytes))
		}},
		{[]string{"server.read_header_timeout", "server.read_timeout"}, func(c *Config) string {
			if c.Server.ReadHeaderTimeout <= c.Server.ReadTimeout {
				return ""
			}
			return "must not be longer than server.read_timeout " + c.Server.ReadTimeout.String()
		}},
		{[]string{"server.tls_cert", "server.tls_key"}, func(c *Config) string {
			if (c.Server.TLSCert == "") == (c.Server.TLSKey == "") {
				return ""
			}
			return "must be set together with server.tls_key, or neither of them"
		}},
		{[]string{"upstream.timeout", "upstream.max_wait", "server.write_timeout"}, func(c *Config) string {
			// Otherwise requests time out before the guard notices that the upstream hangs.
			if c.Upstream.Timeout+c.Upstream.MaxWait < c.Server.WriteTimeout {
				return ""
			}
			return "must be, with upstream.max_wait " + c.Upstream.MaxWait.String() + ", shorter than server.write_timeout " + c.Server.WriteTimeout.String()
		}},
	}...)
}

// Loopback reports whether a host:port is reachable from this machine only. It does not resolve
// names; of all names, only localhost counts as loopback.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

// overlap reports whether two listeners would conflict. Port 0 never conflicts.
func overlap(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil {
		return false
	}
	numberA, _ := strconv.Atoi(portA)
	numberB, _ := strconv.Atoi(portB)
	return numberA != 0 && numberA == numberB && (hostA == hostB || isWildcard(hostA) || isWildcard(hostB))
}

func isWildcard(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || (err == nil && ip.IsUnspecified())
}
