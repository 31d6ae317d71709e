package config

import (
	"errors"
	"net/url"
	"slices"
	"time"
)

// Legacy configures the legacy system that routes may send requests to. Without URL there
// is none.
type Legacy struct {
	URL string // base URL, without a trailing slash
	// Auth is "keep", "caller" or "own". The keys and secrets are used for "own" only.
	Auth                                            string
	ConsumerKey, ConsumerSecret, Token, TokenSecret string
	// Timeout is the maximum time from the end of the request to the headers of the reply.
	Timeout     time.Duration
	MaxInFlight int
	Cache       bool // whether replies to Guests' product reads are cached
}

// A Route is an entry of the table routes.
type Route struct {
	Resource string // a resource, "outside" or "all"
	Calls    string // "reads", "writes" or "all"
	To       string // "portico" or "legacy"
	Shadow   bool
	Mirror   bool // the old system gets the writes after Portico
}

// A Mirror configures how clients' writes to Portico are repeated at the legacy system.
type Mirror struct {
	Drain time.Duration // how long writes wait while they change sides
}

// Record configures the recording of exchanges; without Dir none are recorded.
type Record struct {
	Dir                 string
	Sample              float64 // fraction of the requests, 0 to 1
	PerSecond           float64
	MaxBytes, BodyBytes int64
}

// Shadow limits the requests that are also sent to the other side in the background, and
// configures which differences to ignore.
type Shadow struct {
	Sample                      float64 // fraction of the requests, 0 to 1
	MaxInFlight, Queue, Samples int
	Timeout                     time.Duration
	Unordered                   bool
	Clock                       time.Duration
	Ignore                      []string
}

// migrationSettings returns the settings for migrating from a legacy system.
func migrationSettings() []Setting {
	const shortest, longest = int64(10 * time.Millisecond), int64(10 * time.Minute)
	return []Setting{
		{Name: "legacy.url", Kind: URL, Flag: "legacy-url",
			Help: "Base URL of the old system: what stands before /api/rest there. The list routes says which requests it answers."},
		{Name: "legacy.auth", Kind: Choice, Default: "keep", Choices: []string{"keep", "caller", "own"},
			Help: "How Portico signs calls for the old system. keep: not at all; they go with the Host header that the client sent, so that its signature still verifies. " +
				"caller: again for legacy.url, with the consumer and token of the caller, which Portico must know. " +
				"own: again for legacy.url, with the consumer and token below, and only for callers whom Portico knows as Admin."},
		{Name: "legacy.consumer_key", Kind: Text, Help: "With legacy.auth own, and for routes with mirror: key of Portico's consumer in the old system."},
		{Name: "legacy.consumer_secret", Kind: Text, Secret: true, Help: "Its secret."},
		{Name: "legacy.token", Kind: Text, Help: "The access token of an Admin for that consumer."},
		{Name: "legacy.token_secret", Kind: Text, Secret: true, Help: "Its secret."},
		{Name: "legacy.timeout", Kind: Duration, Default: "30s", Min: shortest, Max: longest,
			Help: "Maximum time until the headers of the old system's reply arrive, once it has the whole request. The server settings limit the time for bodies."},
		{Name: "legacy.max_in_flight", Kind: Int, Default: "64", Min: 1, Max: 100_000,
			Help: "Maximum number of requests that wait for the old system's reply. Others wait for upstream.max_wait and then get 503."},
		{Name: "legacy.cache", Kind: Bool, Default: "false",
			Help: "Whether the old system's replies to Guests' product reads are cached, as Portico's own are. Changes made in the old system itself become visible within cache.ttl."},

		{Name: "mirror.drain", Kind: Duration, Default: "10s", Min: int64(time.Second), Max: int64(time.Minute),
			Help: "How long writes of a resource wait while they change sides: until all processes know of it, and the old system has all changes. Then they get 503 with Retry-After, the writes stay where they are, and the change is tried again later."},

		{Name: "record.dir", Kind: Text, Reload: true,
			Help: "Folder for recorded exchanges and for the counts of who calls what. Portico creates it if it is missing. Empty: nothing is recorded."},
		{Name: "record.sample", Kind: Decimal, Reload: true, Default: "0.01", Valid: matchPattern(share, "must be a share from 0 to 1, such as 0.01"),
			Help: "Share of the exchanges that are recorded, with secrets and personal data masked. Counts cover all requests. Until an exchange is recorded, compare reports that there are none: use 1 for a trial."},
		{Name: "record.per_second", Kind: Decimal, Reload: true, Default: "10", Valid: matchPattern(`[0-9]{1,5}(?:\.[0-9]{1,4})?`, "must be a number such as 10 or 0.5"),
			Help: "Average number of exchanges per second that are recorded at most."},
		{Name: "record.max_bytes", Kind: Size, Reload: true, Default: "64MiB", Min: kib, Max: 1024 * gib,
			Help: "Maximum size of all recorded exchanges together. After that no more are recorded."},
		{Name: "record.body_bytes", Kind: Size, Reload: true, Default: "64KiB", Min: kib, Max: 16 * mib,
			Help: "Maximum size of a recorded body. Exchanges with a longer one are not recorded."},

		{Name: "shadow.sample", Kind: Decimal, Reload: true, Default: "1", Valid: matchPattern(share, "must be a share from 0 to 1, such as 0.01"),
			Help: "Share of the reads on shadowed routes that Portico also sends to the other side."},
		{Name: "shadow.max_in_flight", Kind: Int, Reload: true, Default: "4", Min: 1, Max: 1000,
			Help: "Maximum number of such reads in flight."},
		{Name: "shadow.queue", Kind: Int, Reload: true, Default: "64", Min: 1, Max: 100_000,
			Help: "Maximum number of such reads that wait. Others are dropped and counted. No client waits for them."},
		{Name: "shadow.timeout", Kind: Duration, Reload: true, Default: "10s", Min: shortest, Max: longest,
			Help: "Maximum time for the other side's answer."},
		{Name: "shadow.samples", Kind: Int, Reload: true, Default: "3", Min: 0, Max: 100,
			Help: "Number of samples of each call and field that differs, which the operators' port shows under /shadow."},
		{Name: "shadow.unordered", Kind: Bool, Reload: true, Default: "false",
			Help: "Whether a different order of records and fields does not count as a difference."},
		{Name: "shadow.clock", Kind: Duration, Reload: true, Default: "0s", Min: 0, Max: int64(24 * time.Hour),
			Help: "Difference between times that does not count."},
		{Name: "shadow.ignore", Kind: Names, Reload: true,
			Help: "Fields whose differences do not count, such as updated_at or stock_data.qty, separated by commas."},
	}
}

// routesTable returns the definition of the table routes.
func routesTable() Table {
	return Table{
		Name:   "routes",
		Reload: true,
		Help: "Who answers which requests during a migration: Portico's adapter, or the old system at legacy.url. " +
			"The most specific entry wins: first the one that names the resource, then the one that names the calls. Portico answers what no entry covers.",
		Keys: []Setting{
			{Name: "resource", Kind: Choice, Choices: []string{
				"all", "outside", "customers", "customer_addresses", "products", "product_images", "product_websites", "product_categories",
				"stock_items", "orders", "order_items", "order_addresses", "order_comments",
			}, Help: "Resource of the entry. outside stands for everything that the contract has no route for, such as /oauth/ and images; all includes it."},
			{Name: "calls", Kind: Choice, Choices: []string{"all", "reads", "writes"}, Default: "all", Help: "Which requests."},
			{Name: "to", Kind: Choice, Choices: []string{"portico", "legacy"}, Help: "Who answers."},
			{Name: "shadow", Kind: Bool, Default: "false",
				Help: "Whether Portico also sends GET requests to the other side, in the background. It counts differences and shows samples; the client sees nothing of it."},
			{Name: "mirror", Kind: Bool, Default: "false",
				Help: "Whether the old system gets the writes that Portico answers afterwards, so that they can move back. It needs follow.dsn and legacy.consumer_key. When all processes have this entry, the writes change sides."},
		},
		Identity: []string{"resource", "calls"},
		Example:  "{resource: stock_items, calls: reads, to: portico}",
	}
}

func newRoute(v values) Route {
	return Route{Resource: get[string](v, "resource"), Calls: get[string](v, "calls"), To: get[string](v, "to"), Shadow: get[bool](v, "shadow"), Mirror: get[bool](v, "mirror")}
}

func newMirror(v values) Mirror { return Mirror{Drain: get[time.Duration](v, "mirror.drain")} }

func newLegacy(v values) Legacy {
	return Legacy{
		URL: get[string](v, "legacy.url"), Auth: get[string](v, "legacy.auth"),
		ConsumerKey: get[string](v, "legacy.consumer_key"), ConsumerSecret: get[string](v, "legacy.consumer_secret"),
		Token: get[string](v, "legacy.token"), TokenSecret: get[string](v, "legacy.token_secret"),
		Timeout: get[time.Duration](v, "legacy.timeout"), MaxInFlight: int(get[int64](v, "legacy.max_in_flight")), Cache: get[bool](v, "legacy.cache"),
	}
}

func newRecord(v values) Record {
	return Record{
		Dir: get[string](v, "record.dir"), Sample: parseNumber(get[string](v, "record.sample")), PerSecond: parseNumber(get[string](v, "record.per_second")),
		MaxBytes: get[int64](v, "record.max_bytes"), BodyBytes: get[int64](v, "record.body_bytes"),
	}
}

func newShadow(v values) Shadow {
	return Shadow{
		Sample:      parseNumber(get[string](v, "shadow.sample")),
		MaxInFlight: int(get[int64](v, "shadow.max_in_flight")), Queue: int(get[int64](v, "shadow.queue")), Samples: int(get[int64](v, "shadow.samples")),
		Timeout: get[time.Duration](v, "shadow.timeout"), Unordered: get[bool](v, "shadow.unordered"), Clock: get[time.Duration](v, "shadow.clock"),
		Ignore: get[[]string](v, "shadow.ignore"),
	}
}

// migrationConditions returns the conditions on migration settings.
func migrationConditions() []condition {
	return []condition{
		{[]string{"legacy.url", "routes"}, func(c *Config) string {
			for _, r := range c.Routes {
				if c.Legacy.URL == "" && (r.To == "legacy" || r.Shadow || r.Mirror) {
					return "must be set, because routes sends requests of " + r.Resource + " there"
				}
			}
			return ""
		}},
		{[]string{"legacy.consumer_key", "legacy.auth"}, func(c *Config) string {
			l, mirrored := c.Legacy, slices.ContainsFunc(c.Routes, func(r Route) bool { return r.Mirror })
			if l.Auth != "own" && !mirrored || l.ConsumerKey != "" && l.ConsumerSecret != "" && l.Token != "" && l.TokenSecret != "" {
				return ""
			}
			because := "legacy.auth is own"
			if mirrored {
				because = "routes mirrors writes: Portico repeats them as an Admin of the old system"
			}
			return "must be set, with legacy.consumer_secret, legacy.token and legacy.token_secret, because " + because
		}},
		{[]string{"follow.dsn", "routes"}, func(c *Config) string {
			for _, r := range c.Routes {
				if r.Mirror && c.Follow.DSN == "" {
					return "must be set, because routes mirrors the writes of " + r.Resource + ": Portico reads from the old system's database what has become of them"
				}
			}
			return ""
		}},
		{[]string{"legacy.url", "public_url"}, func(c *Config) string {
			base := c.BasePath()
			if c.Legacy.URL == "" || c.Legacy.Auth != "keep" || base == "" {
				return ""
			}
			if u, err := url.Parse(c.Legacy.URL); err == nil && u.EscapedPath() == base {
				return ""
			}
			return "must end with " + base + ", the path of public_url, because clients sign it and legacy.auth keep leaves their signatures as they are"
		}},
		{[]string{"legacy.timeout", "server.write_timeout"}, func(c *Config) string {
			if c.Legacy.URL == "" || c.Legacy.Timeout < c.Server.WriteTimeout {
				return ""
			}
			return "must be shorter than server.write_timeout " + c.Server.WriteTimeout.String()
		}},
	}
}

// checkRoute validates an entry of the table routes.
func checkRoute(r Route) error {
	var faults []error
	if r.Shadow && r.Calls == "writes" {
		faults = append(faults, errors.New("shadow must not be true for writes: they would be carried out twice"))
	}
	if r.Shadow && r.Resource == "outside" {
		faults = append(faults, errors.New("shadow must not be true for outside: only the contract's resources can be compared"))
	}
	if r.Mirror && (r.Calls == "reads" || r.To != "portico") {
		faults = append(faults, errors.New("mirror must not be true but for writes to portico: only these are repeated at the old system"))
	}
	if r.Mirror && r.Resource == "outside" {
		faults = append(faults, errors.New("mirror must not be true for outside: only writes of the contract's resources can be repeated"))
	}
	return errors.Join(faults...)
}
