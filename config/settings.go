package config

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Setting is one row of the table: all there is to know of one setting.
type Setting struct {
	Name    string // as in the YAML file, sections joined by a dot: "log.level"
	Kind    Kind
	Default string
	Help    string   // what it does, with its unit, in a sentence or two
	Choices []string // of kind Choice: the values allowed

	// Min and Max bound kind Int, kind Size (in bytes) and kind Duration (in
	// nanoseconds), both included.
	Min, Max int64

	Secret bool   // never shown; may come from PORTICO_<NAME>_FILE
	Flag   string // name on the command line, empty for none

	// Valid checks a value beyond its kind; nil accepts all. Its error says what
	// would be valid ("must be …") and must not repeat the value of a secret.
	Valid func(string) error
}

// Variable returns the environment name: "log.level" is PORTICO_LOG_LEVEL.
func (s Setting) Variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(s.Name, ".", "_"))
}

// A Section is what one adapter adds to the table: the name by which it is
// chosen, and its settings, named without the section ("dsn" of "sql" becomes
// "sql.dsn").
type Section struct {
	Name     string
	Settings []Setting
}

// Settings returns the whole table in the order of the example file: the
// settings of the core, then those of the sections. Sections are the adapters
// built in; their names are what the setting "adapter" may be.
func Settings(sections ...Section) []Setting {
	table := append(core(), migration()...)
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

func core() []Setting {
	const shortest, longest = int64(10 * time.Millisecond), int64(24 * time.Hour)
	// Less together than the 30 s that mapping gives to what several callers wait
	// for: the guard has to see that the upstream does not answer.
	const longestCall, longestWait = int64(20 * time.Second), int64(5 * time.Second)
	const longestOpen = int64(10 * time.Minute)
	// net/http reads at most 1 MiB of request line and headers together.
	const longestQuery = 512 * kib
	return []Setting{
		{Name: "listen", Kind: Address, Default: "127.0.0.1:8080", Flag: "listen",
			Help: "Address of the contract's port, host:port. An empty host means every interface."},
		{Name: "public_url", Kind: URL, Flag: "public-url", Valid: validBasePath,
			Help: "Base URL under which clients reach the service, for links and signatures. With a path, such as https://shop.example.com/shop, everything is served below that path, and what is requested elsewhere is answered 404. Empty: the Host header of each request."},
		{Name: "trusted_proxies", Kind: Networks,
			Help: "IP addresses and CIDR networks whose forwarding headers are believed. Empty: none."},
		{Name: "dialect", Kind: Choice, Default: "documented", Choices: []string{"documented", "magento"}, Flag: "dialect",
			Help: "What goes over the wire: documented is the contract to the letter, magento is what the original sends."},
		{Name: "accept_missing", Kind: Choice, Default: "error", Choices: []string{"error", "json"},
			Help: "Dialect magento only: what a request without Accept gets, the original's error or a JSON answer."},
		{Name: "adapter", Kind: Choice, Default: "sql", Flag: "adapter",
			Help: "The adapter that serves the store's records."},

		{Name: "ops.listen", Kind: Address, Default: "127.0.0.1:9464", Flag: "ops-listen",
			Help: "Address of the operators' port: metrics, health, readiness. Off loopback it needs ops.token."},
		{Name: "ops.token", Kind: Text, Secret: true, Valid: validToken,
			Help: "Bearer token that the operators' port asks for, 16 to 256 printable ASCII characters. Empty: none asked for."},
		{Name: "ops.pprof", Kind: Bool, Default: "false",
			Help: "Whether the operators' port serves profiles of the process under /debug/pprof/, for go tool pprof. They ask for ops.token as /metrics does."},

		{Name: "log.level", Kind: Choice, Default: "info", Choices: []string{"debug", "info", "warn", "error"}, Flag: "log-level",
			Help: "The least severity that is logged."},
		{Name: "log.format", Kind: Choice, Default: "text", Choices: []string{"text", "json"}, Flag: "log-format",
			Help: "The form of a log line."},

		{Name: "limits.body_bytes", Kind: Size, Default: "16MiB", Min: kib, Max: gib,
			Help: "Greatest size of a request body."},
		{Name: "limits.query_bytes", Kind: Size, Default: "256KiB", Min: kib, Max: longestQuery,
			Help: "Greatest size of a query string; a longer one gets 400."},
		{Name: "limits.requests_bytes", Kind: Size, Default: "128MiB", Min: mib, Max: 64 * gib,
			Help: "Memory for the bodies and query strings of all requests in flight, with what they are decoded to. Guests may take half of it. Beyond it a request waits for a second and gets 503 with Retry-After then."},
		{Name: "limits.replies_bytes", Kind: Size, Default: "32MiB", Min: mib, Max: 64 * gib,
			Help: "Memory for all replies that are being sent, but for short ones. Slow clients hold it. What is beyond it waits on disk (lists.spool_bytes)."},
		{Name: "limits.image_pixels", Kind: Int, Default: "40000000", Min: 1, Max: 1_000_000_000,
			Help: "Greatest number of pixels of an image, and of all images that are checked at once; each takes up to 24 bytes of memory for as long."},
		{Name: "limits.consumer_rate", Kind: Decimal, Default: "0", Valid: matching(`[0-9]{1,8}(?:\.[0-9]{1,4})?`, "must be a number of requests per second such as 5 or 0.25, at most 8 digits and 4 places"),
			Help: "Requests per second that one consumer may send to one process in the long run; beyond that it gets 429 with Retry-After. 0: any number."},
		{Name: "limits.consumer_burst", Kind: Int, Default: "20", Min: 1, Max: 1_000_000,
			Help: "Requests that a consumer may send at once, after a pause, with limits.consumer_rate."},
		{Name: "limits.guest_rate", Kind: Decimal, Default: "0", Valid: matching(`[0-9]{1,8}(?:\.[0-9]{1,4})?`, "must be a number of requests per second such as 5 or 0.25, at most 8 digits and 4 places"),
			Help: "Requests per second that Guests of one network may send to one process in the long run; beyond that they get 429 with Retry-After. A network is an IPv4 address or the /64 of an IPv6 address; behind a proxy set trusted_proxies. 0: any number."},
		{Name: "limits.guest_burst", Kind: Int, Default: "20", Min: 1, Max: 1_000_000,
			Help: "Requests that Guests of one network may send at once, after a pause, with limits.guest_rate."},
		{Name: "lists.max_rows", Kind: Int, Default: "100000", Min: 1, Max: 10_000_000,
			Help: "Number of records at which a list without a limit ends."},
		{Name: "lists.guest_max_rows", Kind: Int, Default: "0", Min: 0, Max: 10_000_000,
			Help: "Number of records beyond which a list that a Guest asks for without a limit is refused, with 400 and the contract's message for a limit that is too high. 0: lists.max_rows alone counts."},
		{Name: "lists.in_flight", Kind: Int, Default: "64", Min: 2, Max: 100_000,
			Help: "Number of long lists that are read and sent at the same time; Guests may have half of them. Each takes up to about a megabyte of memory for as long as its client reads. Beyond it a request waits for a second and gets 503 with Retry-After then."},
		{Name: "lists.filters_in_flight", Kind: Int, Default: "0", Min: 0, Max: 100_000,
			Help: "Number of lists with an expensive filter that are read from the store at the same time; Guests may have half of them. Expensive are patterns (like, nlike, finset, regexp), more than 500 values, and fields that hold lists. Beyond it a request waits for a second and gets 503 with Retry-After then. 0: as many as there are processors, at least 2."},
		{Name: "lists.filter_timeout", Kind: Duration, Default: "2s", Min: shortest, Max: longestCall,
			Help: "Time to read a list with an expensive filter, or a batch of a long one, from the store; half of upstream.timeout if that is shorter. A list that takes longer gets 503 with Retry-After, and does not count as a failure of the store."},
		{Name: "lists.match_bytes", Kind: Size, Default: "128MiB", Min: mib, Max: 64 * gib,
			Help: "Greatest amount of text that Portico itself matches with the patterns of one list, or of a batch of a long one, where the database cannot, as with regexp. Beyond it the list gets 503 with Retry-After. A pattern that is too complex gets 400 at once."},
		{Name: "lists.spool_bytes", Kind: Size, Default: "1GiB", Min: mib, Max: 1024 * gib,
			Help: "Temporary files for replies that do not fit limits.replies_bytes, and for long lists over HTTP/1.0, which need their length beforehand. Beyond it clients get 503 with Retry-After."},
		{Name: "lists.spool_dir", Kind: Text,
			Help: "Folder of these files. Empty: the system's folder for temporary files."},

		{Name: "cache.redis_url", Kind: Text, Secret: true, Valid: validRedisURL,
			Help: "Redis that the replicas share for guest replies, and for nonces if each has a store of its own: redis://, rediss:// (TLS) or unix://, with more addr= for a cluster, and master_name= for sentinels. Empty: each replica has its memory alone, and shows a write of another one only after cache.ttl."},
		{Name: "cache.ttl", Kind: Duration, Default: "5m", Min: int64(time.Second), Max: longest,
			Help: "Time that a guest's reply is kept at most. Changes made past Portico show after it, or after a purge on the operators' port."},
		{Name: "cache.stale_ttl", Kind: Duration, Default: "1h", Min: 0, Max: 7 * longest,
			Help: "Time after cache.ttl for which the reply is still given while the store cannot answer, marked X-Cache: STALE. 0: guests get 503 like everybody."},
		{Name: "cache.memory_bytes", Kind: Size, Default: "64MiB", Min: 0, Max: 64 * gib,
			Help: "Memory of each replica for guests' replies, what is kept beside them included. 0: none is kept, and every look-up asks Redis."},
		{Name: "cache.memory_ttl", Kind: Duration, Default: "1s", Min: 0, Max: longest,
			Help: "With Redis: time that a replica answers from memory without asking, and so may miss another one's write. 0: it always asks."},
		{Name: "cache.timeout", Kind: Duration, Default: "100ms", Min: int64(time.Millisecond), Max: int64(10 * time.Second),
			Help: "Time for one round trip to Redis. What takes longer is a miss; three in a row, and Redis is left alone for a second."},

		{Name: "server.max_connections", Kind: Int, Default: "4096", Min: 1, Max: 1_000_000,
			Help: "Number of connections to the contract's port at a time. Others wait until one is closed."},
		{Name: "server.read_header_timeout", Kind: Duration, Default: "10s", Min: shortest, Max: longest,
			Help: "Time to read a request's headers."},
		{Name: "server.read_timeout", Kind: Duration, Default: "1m", Min: shortest, Max: longest,
			Help: "Time to read a whole request."},
		{Name: "server.write_timeout", Kind: Duration, Default: "2m", Min: shortest, Max: longest,
			Help: "Time from the end of a request's headers to the end of its answer. Work that takes longer is stopped."},
		{Name: "server.idle_timeout", Kind: Duration, Default: "2m", Min: shortest, Max: longest,
			Help: "Time an idle connection is kept open."},
		{Name: "server.shutdown_timeout", Kind: Duration, Default: "15s", Min: shortest, Max: longest,
			Help: "Time that requests in flight are given to finish at shutdown."},
		{Name: "server.drain_delay", Kind: Duration, Default: "0s", Min: 0, Max: longest,
			Help: "How long the program goes on serving after SIGTERM, with /readyz failing and connections told to close, before it takes no more requests. Give it longer than whoever asks /readyz takes to notice."},
		{Name: "server.tls_cert", Kind: Text,
			Help: "File with the certificate of the contract's port and those between it and its authority, in PEM. With server.tls_key the port speaks HTTPS; a file that is renewed is taken up without a restart. Empty: plain HTTP."},
		{Name: "server.tls_key", Kind: Text,
			Help: "File with the private key of server.tls_cert, in PEM."},

		{Name: "upstream.timeout", Kind: Duration, Default: "10s", Min: shortest, Max: longestCall,
			Help: "Time for one call to the upstream. Too low: long lists and busy hours get 503, and then the breaker opens. " +
				"Too high: clients of a hung upstream hang for as long, in places that upstream.max_in_flight counts, until the breaker opens."},
		{Name: "upstream.max_in_flight", Kind: Int, Default: "64", Min: 1, Max: 100_000,
			Help: "Greatest number of calls to the upstream at a time. Too low: portico_upstream_calls_total counts refused_full, and clients get 503, while the upstream has time. " +
				"Too high: a slow upstream gets all the load there is, and memory grows with the calls that wait for it."},
		{Name: "upstream.max_wait", Kind: Duration, Default: "1s", Min: shortest, Max: longestWait,
			Help: "Time a call may wait for a place among upstream.max_in_flight. Too low: short peaks get 503. Too high: clients wait as long for a 503 when the upstream is slow."},
		{Name: "upstream.breaker_failures", Kind: Int, Default: "5", Min: 1, Max: 100_000,
			Help: "Failed calls in a row, unreachable or not answered in time, that open the breaker. Too low: it opens at a single hiccup, seen in portico_breaker_transitions_total. " +
				"Too high: that many clients wait for upstream.timeout before the others get their 503 at once."},
		{Name: "upstream.breaker_open", Kind: Duration, Default: "2s", Min: shortest, Max: longestOpen,
			Help: "Time the upstream is left alone, and clients get 503 at once, before one call finds out whether it answers again. Too low: an ill upstream gets more of these calls. " +
				"Too high: clients get 503 for as long after it is well again."},

		{Name: "auth.secret_key", Kind: Key, Secret: true,
			Help: "Key that encrypts consumer and token secrets at rest, and seals the sessions of who logs in to authorize a program: 64 hexadecimal digits, as from openssl rand -hex 32. Replicas have the same."},
		{Name: "auth.refuse_plaintext", Kind: Bool, Default: "false",
			Help: "Whether the signature method PLAINTEXT is refused, which sends the secrets themselves. Signed calls are not affected."},
		{Name: "auth.password_cost", Kind: Int, Default: "10", Min: 4, Max: 15,
			Help: "Bcrypt cost of passwords that are set from now on; each step doubles the time that a log-in takes, and that it takes to try a stolen password. Below 10 is for tests."},
		{Name: "auth.timestamp_max_age", Kind: Duration, Default: "0s", Min: 0, Max: int64(110 * time.Minute),
			Help: "Greatest age of the timestamp of a signed call; an older one gets timestamp_refused. Nonces are remembered for two hours: with a greatest age no call that was overheard can ever be sent again. 0: any age, as in the original."},
		{Name: "auth.bearer", Kind: Bool, Default: "false",
			Help: "Whether calls may carry an API key in place of a signature, as Authorization: Bearer and the key. Give keys over HTTPS alone: whoever sees one can use it."},

		{Name: "store.timezone", Kind: TimeZone, Default: "UTC",
			Help: "Time zone of the store, an IANA name such as Europe/Berlin: days begin and special prices change in it."},
		{Name: "store.currency", Kind: Text, Default: "USD", Valid: matching(`[A-Z]{3}`, "must be an ISO 4217 code such as USD"),
			Help: "Base currency of the store, an ISO 4217 code."},
		{Name: "store.tax_country", Kind: Text, Default: "US", Valid: matching(`[A-Z]{2}`, "must be an ISO 3166 code such as US"),
			Help: "Country whose tax a guest pays, an ISO 3166 code."},
		{Name: "store.tax_region", Kind: Text, Default: "CA", Valid: matching(`[A-Za-z0-9-]{0,32}`, "must be a region code such as CA, or empty"),
			Help: "Region whose tax a guest pays, its code in store.tax_country. Empty: none."},
		{Name: "store.attribute_sets", Kind: Text, Default: "4", Valid: matching(idList, "must be ids separated by commas, such as 4 or 4,9"),
			Help: "Ids of the attribute sets that products can be created in, separated by commas."},
		{Name: "store.tax_classes", Kind: Text, Default: "0,2,4", Valid: matching(idList, "must be ids separated by commas, such as 0,2,4"),
			Help: "Values of tax_class_id that products may have, separated by commas. 0 is none."},
		{Name: "store.themes", Kind: Text, Default: "base/default,default/default,default/iphone,default/modern,rwd/default",
			Valid: matching(`(?:`+theme+`(?:, ?`+theme+`)*)?`, "must be themes separated by commas, each as package/theme"),
			Help:  "Values of custom_design that products may have, separated by commas, each as package/theme."},

		{Name: "stock.min_qty", Kind: Decimal, Default: "0",
			Help: "Quantity at which a product is out of stock, for items that use the store's value."},
		{Name: "stock.notify_qty", Kind: Decimal, Default: "1",
			Help: "Quantity below which stock counts as low, for items that use the store's value."},
		{Name: "stock.backorders", Kind: Int, Default: "0", Min: 0, Max: 2,
			Help: "For items that use the store's value: 0 no backorders, 1 below zero, 2 below zero and the customer is told."},
		{Name: "stock.manage", Kind: Bool, Default: "true",
			Help: "Whether stock is kept, for items that use the store's value."},
	}
}

const (
	idList = `(?:0|[1-9][0-9]{0,8})(?:, ?(?:0|[1-9][0-9]{0,8}))*`
	theme  = `[A-Za-z0-9_-]{1,64}/[A-Za-z0-9_-]{1,64}`
)

// validToken keeps a token fit for an Authorization header and hard to guess.
func validToken(text string) error {
	if text == "" {
		return nil
	}
	return matching(`[!-~]{16,256}`, "must be 16 to 256 printable ASCII characters without blanks")(text)
}

// validRedisURL keeps addresses out that are none of Redis. Its error must not
// repeat the text, which may hold a password.
func validRedisURL(text string) error {
	return matching(`(?:(?:redis|rediss|unix)://[!-~]+)?`, "must be a URL that begins with redis://, rediss:// or unix://")(text)
}

// validBasePath refuses the URL of a shop with a path that would be spelled otherwise
// where it is signed, linked or recorded.
func validBasePath(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil //nolint:nilerr // the kind of the setting refuses it
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	if strings.Contains(path+"/", "/api/rest/") {
		return errors.New("must be what stands before /api/rest, such as https://shop.example.com/shop")
	}
	if path == "" {
		return nil
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if strings.Trim(segment, ".") == "" || strings.Trim(segment, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~") != "" {
			return errors.New("may have a path of letters, digits and the signs - . _ ~ between single slashes, such as https://shop.example.com/shop")
		}
	}
	return nil
}

// matching returns a check of the whole text against a pattern.
func matching(pattern, problem string) func(string) error {
	re := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	return func(text string) error {
		if !re.MatchString(text) {
			return errors.New(problem)
		}
		return nil
	}
}
