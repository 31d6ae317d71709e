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

// prefix begins every environment variable of ours.
const prefix = "PORTICO_"

// Config is every setting, read and checked. [Load] makes one; the help of each
// setting stands in [Settings] and [Tables].
type Config struct {
	Listen         string // host:port
	PublicURL      string // without a slash at its end; empty: use the Host header
	TrustedProxies []netip.Prefix
	Dialect        string // "documented" or "magento"
	AcceptMissing  string // "error" or "json"
	Adapter        string // name of the chosen adapter
	OpsListen      string // host:port
	OpsToken       string // empty: the operators' port asks for none
	OpsPprof       bool   // whether it serves profiles
	LogLevel       slog.Level
	LogFormat      string // "text" or "json"

	Limits Limits
	Lists  Lists
	Cache  Cache
	Server Server
	// Upstream is what the adapter's upstream is guarded with.
	Upstream Upstream
	Auth     Auth
	Store    Store
	Stock    Stock

	// For moving from an old system resource by resource.
	Legacy Legacy
	Record Record
	Shadow Shadow

	Attributes []Attribute
	Fields     []FieldList
	Routes     []Route

	// Sections holds the settings of each section of [Sources] as text, by their names
	// without the section.
	Sections map[string]map[string]string

	rows []Row
}

// Limits bound what a request may send, in bytes, what all requests and all replies take
// in memory, in bytes, the pixels of an image, and how often callers may call.
type Limits struct {
	BodyBytes, QueryBytes, ImagePixels int64
	RequestsBytes, RepliesBytes        int64

	ConsumerRate, GuestRate   float64 // requests per second; 0: any number
	ConsumerBurst, GuestBurst int64   // requests at once, at least 1
}

// Lists bound what lists may answer. GuestMaxRows may be zero, and SpoolDir empty.
type Lists struct {
	MaxRows, GuestMaxRows, InFlight int64
	// FiltersInFlight may be zero, for the number of processors.
	FiltersInFlight, MatchBytes int64
	FilterTimeout               time.Duration
	SpoolBytes                  int64
	SpoolDir                    string
}

// Cache holds what is kept of guests' replies, for how long and where. RedisURL
// may be empty, and StaleTTL, MemoryBytes and MemoryTTL may be zero.
type Cache struct {
	RedisURL                          string // may hold a password
	TTL, StaleTTL, MemoryTTL, Timeout time.Duration
	MemoryBytes                       int64
}

// Server holds what connections to the contract's port are served with.
type Server struct {
	MaxConnections int
	// Time limits, none of them zero.
	ReadHeaderTimeout, ReadTimeout, WriteTimeout, IdleTimeout, ShutdownTimeout time.Duration

	DrainDelay      time.Duration // may be zero
	TLSCert, TLSKey string        // files, both or none
}

// Upstream holds the limits of calls to the adapter's upstream, none of them zero:
// the time of a call, how many may be in flight, and how long a call waits to be one
// of them; and how many failures in a row open the breaker, and for how long.
type Upstream struct {
	Timeout         time.Duration
	MaxInFlight     int
	MaxWait         time.Duration
	BreakerFailures int
	BreakerOpen     time.Duration
}

// Auth holds what protects credentials. SecretKey has 32 bytes, or none when no
// key is set. PasswordCost is the bcrypt cost of passwords that are set. Bearer lets clients call with API keys.
type Auth struct {
	SecretKey       []byte
	RefusePlaintext bool
	PasswordCost    int
	// TimestampMaxAge may be zero, for any age.
	TimestampMaxAge time.Duration
	Bearer          bool
}

// Store holds what the store's rules of time, price and tax depend on, and what
// products may refer to.
type Store struct {
	TimeZone   *time.Location
	Currency   string // ISO 4217
	TaxCountry string // ISO 3166, two letters
	TaxRegion  string // region code, may be empty
	// AttributeSets and TaxClasses are ids in decimal, Themes as package/theme.
	AttributeSets, TaxClasses, Themes []string
}

// Stock holds the values that stock items use in place of their own. Quantities
// are decimals with four places, as adapters have them. Backorders is 0, 1 or 2.
type Stock struct {
	MinQty, NotifyQty string
	Backorders        int64
	ManageStock       bool
}

// newConfig fills a Config from values that have all been parsed.
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
		LogFormat:      get[string](v, "log.format"),
		Limits: Limits{
			BodyBytes:   get[int64](v, "limits.body_bytes"),
			QueryBytes:  get[int64](v, "limits.query_bytes"),
			ImagePixels: get[int64](v, "limits.image_pixels"),

			ConsumerRate:  number(get[string](v, "limits.consumer_rate")),
			ConsumerBurst: get[int64](v, "limits.consumer_burst"),
			GuestRate:     number(get[string](v, "limits.guest_rate")),
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
			TimeZone:   get[*time.Location](v, "store.timezone"),
			Currency:   get[string](v, "store.currency"),
			TaxCountry: get[string](v, "store.tax_country"),
			TaxRegion:  get[string](v, "store.tax_region"),

			AttributeSets: listed(get[string](v, "store.attribute_sets")),
			TaxClasses:    listed(get[string](v, "store.tax_classes")),
			Themes:        listed(get[string](v, "store.themes")),
		},
		Stock: Stock{
			MinQty:      get[string](v, "stock.min_qty"),
			NotifyQty:   get[string](v, "stock.notify_qty"),
			Backorders:  get[int64](v, "stock.backorders"),
			ManageStock: get[bool](v, "stock.manage"),
		},
		Legacy:   newLegacy(v),
		Record:   newRecord(v),
		Shadow:   newShadow(v),
		Sections: map[string]map[string]string{},
	}
	c.LogLevel = logLevel(get[string](v, "log.level"))
	for _, section := range sections {
		c.Sections[section.Name] = map[string]string{}
		for _, setting := range section.Settings {
			c.Sections[section.Name][setting.Name] = v[section.Name+"."+setting.Name].text
		}
	}
	return c
}

// listed returns the values of a list that has been checked.
func listed(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// number returns a decimal that has been checked.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

func logLevel(name string) slog.Level {
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

// BasePath returns what stands before the paths of the shop: the path of PublicURL,
// without a slash at its end, or "" for a shop at the root.
func (c *Config) BasePath() string {
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

// Validate checks the conditions that several settings have to meet together
// and returns all it finds as [Faults], or nil. [Load] has done so already; it
// is for a Config that was changed afterwards.
func (c *Config) Validate() error {
	var faults Faults
	for _, r := range rules() {
		if problem := r.problem(c); problem != "" {
			faults = append(faults, Fault{Setting: r.settings[0], Problem: problem})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return faults
}

// A rule is a condition on several settings; a fault is reported for the first.
type rule struct {
	settings []string
	problem  func(*Config) string // empty: the condition holds
}

func rules() []rule {
	return append(migrationRules(), []rule{
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
			const copies = 8 // that the largest body takes while it is decoded
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
			// Else the request ends first, and nobody learns that the upstream hangs.
			if c.Upstream.Timeout+c.Upstream.MaxWait < c.Server.WriteTimeout {
				return ""
			}
			return "must be, with upstream.max_wait " + c.Upstream.MaxWait.String() + ", shorter than server.write_timeout " + c.Server.WriteTimeout.String()
		}},
	}...)
}

// Loopback reports whether only this machine can reach a host:port. It does not
// look names up: of names only localhost is known.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

// overlap reports whether two listeners would ask for the same port of one
// interface. Port 0 is a free one for each.
func overlap(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil {
		return false
	}
	numberA, _ := strconv.Atoi(portA)
	numberB, _ := strconv.Atoi(portB)
	return numberA != 0 && numberA == numberB && (hostA == hostB || everywhere(hostA) || everywhere(hostB))
}

func everywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || (err == nil && ip.IsUnspecified())
}
