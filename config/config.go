package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// prefix is the prefix of Portico's environment variables.
const prefix = "PORTICO_"

// Config is a validated configuration, as returned by [Load]. [Settings] and [Tables]
// document each setting.
type Config struct {
	Listen         string // host:port
	PublicURL      string // without a trailing slash; empty: use the Host header
	TrustedProxies []netip.Prefix
	Dialect        string // "documented" or "magento"
	AcceptMissing  string // "error" or "json"
	Adapter        string // name of the adapter
	OpsListen      string // host:port
	OpsToken       string // empty: the operators' port requires no token
	OpsPprof       bool   // whether the operators' port serves profiles
	OpsConsole     bool   // whether the operators' port serves the console
	// OpsImpersonate lets the console send calls as any client program.
	OpsImpersonate bool
	LogLevel       slog.Level
	LogFormat      string // "text" or "json"
	Tracing        Tracing

	Limits Limits
	Lists  Lists
	Cache  Cache
	Server Server
	// Upstream limits calls to the adapter's upstream.
	Upstream Upstream
	Auth     Auth
	Store    Store
	Stock    Stock

	// Settings for migrating from a legacy system resource by resource.
	Legacy Legacy
	Follow Follow
	Mirror Mirror
	Record Record
	Shadow Shadow

	Attributes []Attribute
	Fields     []FieldList
	Routes     []Route

	// Sections maps each section of [Sources] to its settings as text, by name without the
	// section.
	Sections map[string]map[string]string

	rows   []Row
	loaded *loader // what the configuration was converted from; nil unless Load returned it
}

// Limits limit requests: sizes of bodies and queries in bytes, image sizes in pixels,
// memory for all requests and all replies in bytes, and request rates of callers.
type Limits struct {
	BodyBytes, QueryBytes, ImagePixels int64
	RequestsBytes, RepliesBytes        int64

	ConsumerRate, GuestRate   float64 // requests per second; 0: no limit
	ConsumerBurst, GuestBurst int64   // burst size, at least 1
}

// Lists limits the lists of records. GuestMaxRows may be zero (no separate limit), and
// SpoolDir empty (the system's folder).
type Lists struct {
	MaxRows, GuestMaxRows, InFlight int64
	// FiltersInFlight is zero for the number of processors.
	FiltersInFlight, MatchBytes int64
	FilterTimeout               time.Duration
	SpoolBytes                  int64
	SpoolDir                    string
}

// Cache configures the cache of replies to Guests. RedisURL may be empty, and StaleTTL,
// MemoryBytes and MemoryTTL may be zero.
type Cache struct {
	RedisURL                          string // may hold a password
	TTL, StaleTTL, MemoryTTL, Timeout time.Duration
	MemoryBytes                       int64
}

// Server configures the server of the contract's port.
type Server struct {
	MaxConnections int
	// Timeouts, all positive.
	ReadHeaderTimeout, ReadTimeout, WriteTimeout, IdleTimeout, ShutdownTimeout time.Duration

	DrainDelay      time.Duration // may be zero
	TLSCert, TLSKey string        // PEM files, both set or both empty
}

// Upstream limits calls to the adapter's upstream. All values are positive. MaxWait is the
// maximum time that a call waits while MaxInFlight others are in flight. BreakerFailures
// consecutive failures open the circuit breaker for BreakerOpen.
type Upstream struct {
	Timeout         time.Duration
	MaxInFlight     int
	MaxWait         time.Duration
	BreakerFailures int
	BreakerOpen     time.Duration
}

// Auth configures authentication. SecretKey has 32 bytes, or none if no key is set.
// PasswordCost is the bcrypt cost of new passwords. Bearer lets clients authenticate with
// API keys.
type Auth struct {
	SecretKey       []byte
	RefusePlaintext bool
	PasswordCost    int
	// TimestampMaxAge is zero for any age.
	TimestampMaxAge time.Duration
	Bearer          bool
}

// Store configures the store's name, time zone, currency and tax location, and which values
// products may refer to.
type Store struct {
	Name       string // for people; "" if none is set
	TimeZone   *time.Location
	Currency   string // ISO 4217
	TaxCountry string // ISO 3166, two letters
	TaxRegion  string // region code, may be empty
	// AttributeSets and TaxClasses are ids in decimal, Themes as package/theme.
	AttributeSets, TaxClasses, Themes []string
}

// Stock has the defaults of stock items that use the store's configuration. Quantities are
// decimals with four places. Backorders is 0, 1 or 2.
type Stock struct {
	MinQty, NotifyQty string
	Backorders        int64
	ManageStock       bool
}

// newConfig converts parsed values to a Config.
func newConfig(v values, sections []Section) *Config {
	c := &Config{
		Listen:         get[string](v, "listen"),
		PublicURL:      get[string](v, "public_url"),
		TrustedProxies: get[[]netip.Prefix](v, "trusted_proxies"),
		Dialect:        get[string](v, "dialect"),
		AcceptMissing:  get[string](v, "accept_missing"),
		Adapter:        get[string](v, "adapter"),
		OpsListen:      get[string](v, "ops.listen"),
		OpsToken:       get[string](v, "ops.token"),
		OpsPprof:       get[bool](v, "ops.pprof"),
		OpsConsole:     get[bool](v, "ops.console"),
		OpsImpersonate: get[bool](v, "ops.console_impersonate"),
		LogFormat:      get[string](v, "log.format"),
		Limits: Limits{
			BodyBytes:   get[int64](v, "limits.body_bytes"),
			QueryBytes:  get[int64](v, "limits.query_bytes"),
			ImagePixels: get[int64](v, "limits.image_pixels"),

			ConsumerRate:  parseNumber(get[string](v, "limits.consumer_rate")),
			ConsumerBurst: get[int64](v, "limits.consumer_burst"),
			GuestRate:     parseNumber(get[string](v, "limits.guest_rate")),
			GuestBurst:    get[int64](v, "limits.guest_burst"),

			RequestsBytes: get[int64](v, "limits.requests_bytes"),
			RepliesBytes:  get[int64](v, "limits.replies_bytes"),
		},
		Lists: Lists{
			MaxRows:      get[int64](v, "lists.max_rows"),
			GuestMaxRows: get[int64](v, "lists.guest_max_rows"),
			InFlight:     get[int64](v, "lists.in_flight"),

			FiltersInFlight: get[int64](v, "lists.filters_in_flight"),
			MatchBytes:      get[int64](v, "lists.match_bytes"),
			FilterTimeout:   get[time.Duration](v, "lists.filter_timeout"),

			SpoolBytes: get[int64](v, "lists.spool_bytes"),
			SpoolDir:   get[string](v, "lists.spool_dir"),
		},
		Cache: Cache{
			RedisURL:    get[string](v, "cache.redis_url"),
			TTL:         get[time.Duration](v, "cache.ttl"),
			StaleTTL:    get[time.Duration](v, "cache.stale_ttl"),
			MemoryTTL:   get[time.Duration](v, "cache.memory_ttl"),
			Timeout:     get[time.Duration](v, "cache.timeout"),
			MemoryBytes: get[int64](v, "cache.memory_bytes"),
		},
		Server: Server{
			MaxConnections: int(get[int64](v, "server.max_connections")),

			ReadHeaderTimeout: get[time.Duration](v, "server.read_header_timeout"),
			ReadTimeout:       get[time.Duration](v, "server.read_timeout"),
			WriteTimeout:      get[time.Duration](v, "server.write_timeout"),
			IdleTimeout:       get[time.Duration](v, "server.idle_timeout"),
			ShutdownTimeout:   get[time.Duration](v, "server.shutdown_timeout"),
			DrainDelay:        get[time.Duration](v, "server.drain_delay"),
			TLSCert:           get[string](v, "server.tls_cert"),
			TLSKey:            get[string](v, "server.tls_key"),
		},
		Auth: Auth{
			SecretKey:       get[[]byte](v, "auth.secret_key"),
			RefusePlaintext: get[bool](v, "auth.refuse_plaintext"),
			PasswordCost:    int(get[int64](v, "auth.password_cost")),
			TimestampMaxAge: get[time.Duration](v, "auth.timestamp_max_age"),
			Bearer:          get[bool](v, "auth.bearer"),
		},
		Upstream: Upstream{
			Timeout:         get[time.Duration](v, "upstream.timeout"),
			MaxInFlight:     int(get[int64](v, "upstream.max_in_flight")),
			MaxWait:         get[time.Duration](v, "upstream.max_wait"),
			BreakerFailures: int(get[int64](v, "upstream.breaker_failures")),
			BreakerOpen:     get[time.Duration](v, "upstream.breaker_open"),
		},
		Store: Store{
			Name:       get[string](v, "store.name"),
			TimeZone:   get[*time.Location](v, "store.timezone"),
			Currency:   get[string](v, "store.currency"),
			TaxCountry: get[string](v, "store.tax_country"),
			TaxRegion:  get[string](v, "store.tax_region"),

			AttributeSets: splitList(get[string](v, "store.attribute_sets")),
			TaxClasses:    splitList(get[string](v, "store.tax_classes")),
			Themes:        splitList(get[string](v, "store.themes")),
		},
		Stock: Stock{
			MinQty:      get[string](v, "stock.min_qty"),
			NotifyQty:   get[string](v, "stock.notify_qty"),
			Backorders:  get[int64](v, "stock.backorders"),
			ManageStock: get[bool](v, "stock.manage"),
		},
		Legacy:   newLegacy(v),
		Follow:   newFollow(v),
		Tracing:  newTracing(v),
		Mirror:   newMirror(v),
		Record:   newRecord(v),
		Shadow:   newShadow(v),
		Sections: map[string]map[string]string{},
	}
	c.LogLevel = parseLogLevel(get[string](v, "log.level"))
	for _, section := range sections {
		c.Sections[section.Name] = map[string]string{}
		for _, setting := range section.Settings {
			c.Sections[section.Name][setting.Name] = v[section.Name+"."+setting.Name].text
		}
	}
	return c
}

// splitList splits a validated list.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// parseNumber parses a validated decimal.
func parseNumber(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

func parseLogLevel(name string) slog.Level {
	switch name {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
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

// Loopback reports whether a host:port is reachable from this machine only. It does not
// resolve names; of these, only localhost counts as loopback.
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
