package config

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Setting is the complete definition of one setting.
type Setting struct {
	Name    string // name in the YAML file, with the section: "log.level"
	Kind    Kind
	Default string
	Help    string   // one or two sentences, with the unit
	Choices []string // allowed values of kinds Choice and Choices

	// Min and Max are the inclusive bounds of kinds Int, Size (in bytes) and Duration (in
	// nanoseconds).
	Min, Max int64

	Secret bool   // never shown; may be read from PORTICO_<NAME>_FILE
	Reload bool   // a running process takes over a new value: see [Config.Reload]
	Flag   string // name of the command-line flag; empty if there is none

	// Valid validates a value beyond its kind; nil accepts all. Its error says what would
	// be valid ("must be …") and must not repeat the value of a secret.
	Valid func(string) error
}

// Variable returns the environment variable: PORTICO_LOG_LEVEL for "log.level".
func (s Setting) Variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(s.Name, ".", "_"))
}

// A Section defines the settings of one adapter. Name is the adapter's name; the names of
// the settings do not include it ("dsn" of section "sql" is the setting "sql.dsn").
type Section struct {
	Name     string
	Settings []Setting
}

// Settings returns the definitions of all settings in the order of the example file: core
// settings, then those of the sections. The names of the sections are the choices of the
// setting "adapter".
func Settings(sections ...Section) []Setting {
	table := slices.Concat(coreSettings(), tracingSettings(), migrationSettings(), followSettings())
	for _, section := range sections {
		for _, s := range section.Settings {
			s.Name = section.Name + "." + s.Name
			table = append(table, s)
		}
	}
	at := slices.IndexFunc(table, func(s Setting) bool { return s.Name == "adapter" })
	for _, section := range sections {
		table[at].Choices = append(table[at].Choices, section.Name)
	}
	return table
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

func coreSettings() []Setting {
	const shortest, longest = int64(10 * time.Millisecond), int64(24 * time.Hour)
	// Together less than the 30 s timeout of shared calls in package mapping, so that the
	// guard notices an upstream that does not respond.
	const longestCall, longestWait = int64(20 * time.Second), int64(5 * time.Second)
	const longestOpen = int64(10 * time.Minute)
	// net/http reads at most 1 MiB of request line and headers together.
	const longestQuery = 512 * kib
	return []Setting{
		{Name: "listen", Kind: Address, Default: "127.0.0.1:8080", Flag: "listen",
			Help: "Address of the contract's port, host:port. An empty host means every interface."},
		{Name: "public_url", Kind: URL, Flag: "public-url", Valid: validBasePath,
			Help: "Base URL under which clients reach the service, for links and signatures. With a path, such as https://shop.example.com/shop, Portico serves everything below that path and answers other paths with 404. Empty: the Host header of each request."},
		{Name: "trusted_proxies", Kind: Networks,
			Help: "IP addresses and CIDR networks of the proxies whose forwarding headers Portico trusts. Empty: none."},
		{Name: "dialect", Kind: Choice, Default: "documented", Choices: []string{"documented", "magento"}, Flag: "dialect",
			Help: "What Portico sends over the wire: documented follows the contract to the letter, magento sends what the original sends."},
		{Name: "accept_missing", Kind: Choice, Default: "error", Choices: []string{"error", "json"},
			Help: "Dialect magento only: the answer to a request without Accept, either the original's error or JSON."},
		{Name: "adapter", Kind: Choice, Default: "sql", Flag: "adapter",
			Help: "The adapter that serves the store's records."},

		{Name: "ops.listen", Kind: Address, Default: "127.0.0.1:9464", Flag: "ops-listen",
			Help: "Address of the operators' port, which has the console, metrics, health and readiness. An address off loopback needs ops.token."},
		{Name: "ops.token", Kind: Text, Secret: true, Valid: validToken,
			Help: "Bearer token that the operators' port requires, 16 to 256 printable ASCII characters. Empty: it requires none."},
		{Name: "ops.console", Kind: Bool, Default: "true",
			Help: "Whether the operators' port serves the console: pages that show what Portico does and how far a migration is. They ask for ops.token."},
		{Name: "ops.console_impersonate", Kind: Bool, Default: "false",
			Help: "Whether the console sends calls as any client program that Portico knows, signed with its secrets. Each call is logged. The demo store needs no such permission."},
		{Name: "ops.pprof", Kind: Bool, Default: "false",
			Help: "Whether the operators' port serves profiles of the process under /debug/pprof/, for go tool pprof. They require ops.token as /metrics does."},

		{Name: "log.level", Kind: Choice, Reload: true, Default: "info", Choices: []string{"debug", "info", "warn", "error"}, Flag: "log-level",
			Help: "Lowest severity that is logged."},
		{Name: "log.format", Kind: Choice, Default: "text", Choices: []string{"text", "json"}, Flag: "log-format",
			Help: "Format of the log."},

		{Name: "limits.body_bytes", Kind: Size, Reload: true, Default: "16MiB", Min: kib, Max: gib,
			Help: "Maximum size of a request body."},
		{Name: "limits.query_bytes", Kind: Size, Default: "256KiB", Min: kib, Max: longestQuery,
			Help: "Maximum size of a query string. A longer one gets 400."},
		{Name: "limits.requests_bytes", Kind: Size, Default: "128MiB", Min: mib, Max: 64 * gib,
			Help: "Memory for the bodies and query strings of all requests in flight, decoded forms included. Guests may use half of it. A request that finds none left waits for one second and then gets 503 with Retry-After."},
		{Name: "limits.replies_bytes", Kind: Size, Default: "32MiB", Min: mib, Max: 64 * gib,
			Help: "Memory for all replies that are being sent, short ones excepted. Slow clients hold it. Replies beyond it wait on disk (lists.spool_bytes)."},
		{Name: "limits.image_pixels", Kind: Int, Default: "40000000", Min: 1, Max: 1_000_000_000,
			Help: "Maximum number of pixels of an image, and of all images that are being checked at a time. A pixel takes up to 24 bytes of memory during the check."},
		{Name: "limits.consumer_rate", Kind: Decimal, Reload: true, Default: "0", Valid: matchPattern(`[0-9]{1,8}(?:\.[0-9]{1,4})?`, "must be a number of requests per second such as 5 or 0.25, at most 8 digits and 4 places"),
			Help: "Average number of requests per second that one consumer may send to one process. Beyond it the consumer gets 429 with Retry-After. 0: no limit."},
		{Name: "limits.consumer_burst", Kind: Int, Reload: true, Default: "20", Min: 1, Max: 1_000_000,
			Help: "Number of requests that a consumer may send in a burst after a pause, with limits.consumer_rate."},
		{Name: "limits.guest_rate", Kind: Decimal, Reload: true, Default: "0", Valid: matchPattern(`[0-9]{1,8}(?:\.[0-9]{1,4})?`, "must be a number of requests per second such as 5 or 0.25, at most 8 digits and 4 places"),
			Help: "Average number of requests per second that the Guests of one network may send to one process. Beyond it they get 429 with Retry-After. A network is an IPv4 address or the /64 of an IPv6 address; behind a proxy set trusted_proxies. 0: no limit."},
		{Name: "limits.guest_burst", Kind: Int, Reload: true, Default: "20", Min: 1, Max: 1_000_000,
			Help: "Number of requests that the Guests of one network may send in a burst after a pause, with limits.guest_rate."},
		{Name: "lists.max_rows", Kind: Int, Reload: true, Default: "100000", Min: 1, Max: 10_000_000,
			Help: "Maximum number of records in a list without a limit. The list ends there."},
		{Name: "lists.guest_max_rows", Kind: Int, Reload: true, Default: "0", Min: 0, Max: 10_000_000,
			Help: "Maximum number of records in a Guest's list without a limit. A longer list is refused with 400 and the contract's message for a limit that is too high. 0: only lists.max_rows applies."},
		{Name: "lists.in_flight", Kind: Int, Default: "64", Min: 2, Max: 100_000,
			Help: "Maximum number of long lists that are being read and sent; Guests may have half of them. Each takes up to about a megabyte of memory while its client reads. A request beyond it waits for one second and then gets 503 with Retry-After."},
		{Name: "lists.filters_in_flight", Kind: Int, Default: "0", Min: 0, Max: 100_000,
			Help: "Maximum number of lists with an expensive filter that are being read from the store; Guests may have half of them. Patterns (like, nlike, finset, regexp), more than 500 values, and filters of fields that hold lists are expensive. A request beyond it waits for one second and then gets 503 with Retry-After. 0: the number of processors, at least 2."},
		{Name: "lists.filter_timeout", Kind: Duration, Reload: true, Default: "2s", Min: shortest, Max: longestCall,
			Help: "Maximum time to read a list with an expensive filter, or one batch of a long list, from the store; half of upstream.timeout if that is shorter. A list that takes longer gets 503 with Retry-After, and does not count as a failure of the store."},
		{Name: "lists.match_bytes", Kind: Size, Reload: true, Default: "128MiB", Min: mib, Max: 64 * gib,
			Help: "Maximum amount of text that Portico itself matches with the patterns of one list, or of one batch of a long list, where the database cannot match them, as with regexp. Beyond it the list gets 503 with Retry-After. A pattern that is too complex gets 400 immediately."},
		{Name: "lists.spool_bytes", Kind: Size, Default: "1GiB", Min: mib, Max: 1024 * gib,
			Help: "Maximum size of all temporary files: for replies that do not fit into limits.replies_bytes, and for long lists over HTTP/1.0, which need their length beforehand. Beyond it clients get 503 with Retry-After."},
		{Name: "lists.spool_dir", Kind: Text,
			Help: "Folder for these files. Empty: the system's folder for temporary files."},

		{Name: "cache.redis_url", Kind: Text, Secret: true, Valid: validRedisURL,
			Help: "Redis that the replicas share for replies to Guests, and for nonces if each replica has a store of its own: redis://, rediss:// (TLS) or unix://, with further addr= parameters for a cluster, and master_name= for sentinels. Empty: each replica caches in its own memory only, and a write of another replica becomes visible within cache.ttl."},
		{Name: "cache.ttl", Kind: Duration, Default: "5m", Min: int64(time.Second), Max: longest,
			Help: "Maximum time that a reply to a Guest is cached. Changes made directly in the database become visible within it, or after a purge on the operators' port."},
		{Name: "cache.stale_ttl", Kind: Duration, Default: "1h", Min: 0, Max: 7 * longest,
			Help: "Time after cache.ttl during which Portico still gives the cached reply, marked X-Cache: STALE, while the store cannot answer. 0: Guests get 503 like everybody else."},
		{Name: "cache.memory_bytes", Kind: Size, Default: "64MiB", Min: 0, Max: 64 * gib,
			Help: "Memory of each replica for cached replies to Guests, overhead included. 0: replies are not cached in memory, and every look-up asks Redis."},
		{Name: "cache.memory_ttl", Kind: Duration, Default: "1s", Min: 0, Max: longest,
			Help: "With Redis: time during which a replica answers from memory without asking Redis, and so may miss a write of another replica. 0: it always asks."},
		{Name: "cache.timeout", Kind: Duration, Default: "100ms", Min: int64(time.Millisecond), Max: int64(10 * time.Second),
			Help: "Maximum time for one round trip to Redis. A longer one counts as a miss. After three in a row Portico does not ask Redis for one second."},

		{Name: "server.max_connections", Kind: Int, Default: "4096", Min: 1, Max: 1_000_000,
			Help: "Maximum number of connections to the contract's port. Others wait until one is closed."},
		{Name: "server.read_header_timeout", Kind: Duration, Default: "10s", Min: shortest, Max: longest,
			Help: "Maximum time to read the headers of a request."},
		{Name: "server.read_timeout", Kind: Duration, Default: "1m", Min: shortest, Max: longest,
			Help: "Maximum time to read a whole request."},
		{Name: "server.write_timeout", Kind: Duration, Default: "2m", Min: shortest, Max: longest,
			Help: "Maximum time from the end of a request's headers to the end of its reply. Work that takes longer is stopped."},
		{Name: "server.idle_timeout", Kind: Duration, Default: "2m", Min: shortest, Max: longest,
			Help: "Maximum time that an idle connection stays open."},
		{Name: "server.shutdown_timeout", Kind: Duration, Default: "15s", Min: shortest, Max: longest,
			Help: "Maximum time for the requests in flight to finish at shutdown."},
		{Name: "server.drain_delay", Kind: Duration, Default: "0s", Min: 0, Max: longest,
			Help: "Time during which Portico continues to serve after SIGTERM, while /readyz fails and clients are told to close their connections. Set it to longer than the load balancer that asks /readyz takes to notice."},
		{Name: "server.tls_cert", Kind: Text,
			Help: "PEM file with the certificate of the contract's port and its intermediate certificates. With server.tls_key the port speaks HTTPS. A renewed file is loaded without a restart. Empty: plain HTTP."},
		{Name: "server.tls_key", Kind: Text,
			Help: "PEM file with the private key of server.tls_cert."},

		{Name: "upstream.timeout", Kind: Duration, Default: "10s", Min: shortest, Max: longestCall,
			Help: "Maximum time for one call to the upstream. Too low: long lists, and calls in busy hours, get 503, and then the breaker opens. " +
				"Too high: clients of a hung upstream wait as long, and count towards upstream.max_in_flight, until the breaker opens."},
		{Name: "upstream.max_in_flight", Kind: Int, Default: "64", Min: 1, Max: 100_000,
			Help: "Maximum number of calls to the upstream in flight. Too low: portico_upstream_calls_total counts refused_full, and clients get 503, although the upstream has capacity. " +
				"Too high: a slow upstream gets all the load, and memory grows with the calls that wait for it."},
		{Name: "upstream.max_wait", Kind: Duration, Default: "1s", Min: shortest, Max: longestWait,
			Help: "Maximum time that a call waits while upstream.max_in_flight calls are in flight. Too low: clients get 503 at short peaks. Too high: clients wait as long for a 503 when the upstream is slow."},
		{Name: "upstream.breaker_failures", Kind: Int, Default: "5", Min: 1, Max: 100_000,
			Help: "Number of failed calls in a row that open the breaker: calls that did not reach the upstream or were not answered in time. Too low: it opens at a single hiccup, which portico_breaker_transitions_total shows. " +
				"Too high: as many clients wait for upstream.timeout before the others get 503 immediately."},
		{Name: "upstream.breaker_open", Kind: Duration, Default: "2s", Min: shortest, Max: longestOpen,
			Help: "Time during which the open breaker lets no call through, and clients get 503 immediately, before one call probes whether the upstream answers again. Too low: a failing upstream gets more probes. " +
				"Too high: clients get 503 for as long after it has recovered."},

		{Name: "auth.secret_key", Kind: Key, Secret: true,
			Help: "Key that encrypts the secrets of consumers and tokens at rest, and seals the sessions of users who log in to authorize a program: 64 hexadecimal digits, as from openssl rand -hex 32. All replicas need the same key."},
		{Name: "auth.refuse_plaintext", Kind: Bool, Default: "false",
			Help: "Whether Portico refuses the signature method PLAINTEXT, which sends the secrets themselves. Signed calls are not affected."},
		{Name: "auth.password_cost", Kind: Int, Default: "10", Min: 4, Max: 15,
			Help: "Bcrypt cost of passwords that are set from now on. Each step doubles the time that a log-in takes, and the time it takes to try a stolen password. Values below 10 are for tests."},
		{Name: "auth.timestamp_max_age", Kind: Duration, Default: "0s", Min: 0, Max: int64(110 * time.Minute),
			Help: "Maximum age of the timestamp of a signed call. An older call gets timestamp_refused. Portico remembers nonces for two hours, so that with a maximum age an overheard call can never be sent again. 0: any age, as in the original."},
		{Name: "auth.bearer", Kind: Bool, Default: "false",
			Help: "Whether calls may carry an API key instead of a signature, as Authorization: Bearer KEY. Serve over HTTPS only, because anyone who sees a key can use it."},

		{Name: "store.name", Kind: Text, Valid: matchPattern(`(?:[`+visible+`](?:[`+visible+` ]{0,62}[`+visible+`])?)?`, "must be at most 64 visible characters without blanks at its ends"),
			Help: "Name of the shop on the pages that people see, at most 64 characters. Empty: the host name of public_url, or else that of the request."},
		{Name: "store.timezone", Kind: TimeZone, Default: "UTC",
			Help: "Time zone of the store, an IANA name such as Europe/Berlin. It decides when days begin and special prices change."},
		{Name: "store.currency", Kind: Text, Default: "USD", Valid: matchPattern(`[A-Z]{3}`, "must be an ISO 4217 code such as USD"),
			Help: "Base currency of the store, an ISO 4217 code."},
		{Name: "store.tax_country", Kind: Text, Default: "US", Valid: matchPattern(`[A-Z]{2}`, "must be an ISO 3166 code such as US"),
			Help: "Country whose tax a Guest pays, an ISO 3166 code."},
		{Name: "store.tax_region", Kind: Text, Default: "CA", Valid: matchPattern(`[A-Za-z0-9-]{0,32}`, "must be a region code such as CA, or empty"),
			Help: "Region whose tax a Guest pays, by its code in store.tax_country. Empty: none."},
		{Name: "store.attribute_sets", Kind: Text, Default: "4", Valid: matchPattern(idList, "must be ids separated by commas, such as 4 or 4,9"),
			Help: "Ids of the attribute sets that products can be created in, separated by commas."},
		{Name: "store.tax_classes", Kind: Text, Default: "0,2,4", Valid: matchPattern(idList, "must be ids separated by commas, such as 0,2,4"),
			Help: "Values of tax_class_id that products may have, separated by commas. 0 is none."},
		{Name: "store.themes", Kind: Text, Default: "base/default,default/default,default/iphone,default/modern,rwd/default",
			Valid: matchPattern(`(?:`+theme+`(?:, ?`+theme+`)*)?`, "must be themes separated by commas, each as package/theme"),
			Help:  "Values of custom_design that products may have, separated by commas, each as package/theme."},

		{Name: "stock.min_qty", Kind: Decimal, Default: "0",
			Help: "Quantity at which a product is out of stock, for items that use the store's value."},
		{Name: "stock.notify_qty", Kind: Decimal, Default: "1",
			Help: "Quantity below which stock counts as low, for items that use the store's value."},
		{Name: "stock.backorders", Kind: Int, Default: "0", Min: 0, Max: 2,
			Help: "For items that use the store's value: 0 allows no backorders, 1 allows quantities below zero, 2 allows them and notifies the customer."},
		{Name: "stock.manage", Kind: Bool, Default: "true",
			Help: "Whether stock is managed, for items that use the store's value."},
	}
}

const (
	idList = `(?:0|[1-9][0-9]{0,8})(?:, ?(?:0|[1-9][0-9]{0,8}))*`
	theme  = `[A-Za-z0-9_-]{1,64}/[A-Za-z0-9_-]{1,64}`
	// visible is the class of letters, marks, numbers, punctuation and symbols, without the
	// format characters that reorder or hide text.
	visible = `\pL\pM\pN\pP\pS`
	share   = `0(?:\.[0-9]{1,4})?|1(?:\.0{1,4})?`
)

// validToken accepts tokens that are valid in an Authorization header and hard to guess.
func validToken(text string) error {
	if text == "" {
		return nil
	}
	return matchPattern(`[!-~]{16,256}`, "must be 16 to 256 printable ASCII characters without blanks")(text)
}

// validRedisURL accepts Redis URLs. Its error does not repeat the text, which may contain
// a password.
func validRedisURL(text string) error {
	return matchPattern(`(?:(?:redis|rediss|unix)://[!-~]+)?`, "must be a URL that begins with redis://, rediss:// or unix://")(text)
}

// validBasePath rejects URLs whose path has several spellings: it must be identical where
// it is signed, linked or recorded.
func validBasePath(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil //nolint:nilerr // parseURL reports it
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	if strings.Contains(path+"/", "/api/rest/") {
		return errors.New("must not include /api/rest: use the URL before it, such as https://shop.example.com/shop")
	}
	if path == "" {
		return nil
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if strings.Trim(segment, ".") == "" || strings.Trim(segment, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~") != "" {
			return errors.New("must have a path of letters, digits and the characters - . _ ~ between single slashes, such as https://shop.example.com/shop")
		}
	}
	return nil
}

// matchPattern returns a function that rejects texts that do not match pattern completely.
// The pattern is compiled when the first text is checked, because every command lists all
// settings and few commands check any.
func matchPattern(pattern, problem string) func(string) error {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?:` + pattern + `)\z`) })
	return func(text string) error {
		if !re().MatchString(text) {
			return errors.New(problem)
		}
		return nil
	}
}
