package config

import (
	"errors"
	"net/url"
	"slices"
	"time"
)

// Legacy configures the legacy store that routes may send requests to. Without URL there is
// none.
type Legacy struct {
	URL            string        `setting:"legacy.url" form:"URL" flag:"legacy-url" help:"Base URL of the legacy store: what stands before /api/rest there. The list routes says which requests it answers."` // without a trailing slash
	Auth           string        `setting:"legacy.auth" default:"keep" choices:"keep caller own" help:"How Portico signs calls for the legacy store. keep: not at all; they go with the Host header that the client sent, so that its signature still verifies. caller: again for legacy.url, with the consumer and token of the caller, which Portico must know. own: again for legacy.url, with the consumer and token below, and only for callers whom Portico knows as Admin."`
	ConsumerKey    string        `setting:"legacy.consumer_key" help:"With legacy.auth own, and for routes with mirror: key of Portico's consumer in the legacy store."`
	ConsumerSecret string        `setting:"legacy.consumer_secret" secret:"true" help:"Its secret."`
	Token          string        `setting:"legacy.token" help:"The access token of an Admin for that consumer."`
	TokenSecret    string        `setting:"legacy.token_secret" secret:"true" help:"Its secret."`
	Timeout        time.Duration `setting:"legacy.timeout" default:"30s" range:"10ms 10m" help:"Maximum time until the headers of the legacy store's reply arrive, once it has the whole request. The server settings limit the time for bodies."`
	MaxInFlight    int           `setting:"legacy.max_in_flight" default:"64" range:"1 100000" help:"Maximum number of requests that wait for the legacy store's reply. Others wait for upstream.max_wait and then get 503."`
	Cache          bool          `setting:"legacy.cache" default:"false" help:"Whether the legacy store's replies to Guests' product reads are cached, as Portico's own are. Changes made in the legacy store itself become visible within cache.ttl."`
}

// A Mirror configures how clients' writes to Portico are repeated at the legacy store.
type Mirror struct {
	Drain time.Duration `setting:"mirror.drain" default:"10s" range:"1s 1m" help:"How long writes of a resource wait while they change sides: until all processes know of it, and the legacy store has all changes. Then they get 503 with Retry-After, the writes stay where they are, and the change is tried again later."`
}

// Record configures the recording of exchanges; without Dir none are recorded.
type Record struct {
	Dir       string  `setting:"record.dir" reload:"true" help:"Folder for recorded exchanges and for the counts of who calls what. Portico creates it if it is missing. Empty: nothing is recorded."`
	Sample    float64 `setting:"record.sample" form:"share" default:"0.01" reload:"true" help:"Share of the exchanges that are recorded, with secrets and personal data masked. Counts cover all requests. Until an exchange is recorded, compare reports that there are none: use 1 for a trial."`
	PerSecond float64 `setting:"record.per_second" form:"decimal" default:"10" reload:"true" pattern:"[0-9]{1,5}(?:[.][0-9]{1,4})?" must:"be a number such as 10 or 0.5" help:"Average number of exchanges per second that are recorded at most."`
	MaxBytes  int64   `setting:"record.max_bytes" form:"size" default:"64MiB" range:"1KiB 1024GiB" reload:"true" help:"Maximum size of all recorded exchanges together. After that no more are recorded."`
	BodyBytes int64   `setting:"record.body_bytes" form:"size" default:"64KiB" range:"1KiB 16MiB" reload:"true" help:"Maximum size of a recorded body. Exchanges with a longer one are not recorded."`
}

// Shadow limits the requests that are also sent to the other side in the background, and
// configures which differences to ignore.
type Shadow struct {
	Sample      float64       `setting:"shadow.sample" form:"share" default:"1" reload:"true" help:"Share of the reads on shadowed routes that Portico also sends to the other side."`
	MaxInFlight int           `setting:"shadow.max_in_flight" default:"4" range:"1 1000" reload:"true" help:"Maximum number of such reads in flight."`
	Queue       int           `setting:"shadow.queue" default:"64" range:"1 100000" reload:"true" help:"Maximum number of such reads that wait. Others are dropped and counted. No client waits for them."`
	Timeout     time.Duration `setting:"shadow.timeout" default:"10s" range:"10ms 10m" reload:"true" help:"Maximum time for the other side's answer."`
	Samples     int           `setting:"shadow.samples" default:"3" range:"0 100" reload:"true" help:"Number of samples of each call and field that differs, which the operators' port shows under /shadow."`
	Unordered   bool          `setting:"shadow.unordered" default:"false" reload:"true" help:"Whether a different order of records and fields does not count as a difference."`
	Clock       time.Duration `setting:"shadow.clock" default:"0s" range:"0s 24h" reload:"true" help:"Difference between times that does not count."`
	Ignore      []string      `setting:"shadow.ignore" reload:"true" help:"Fields whose differences do not count, such as updated_at or stock_data.qty, separated by commas."`
}

// A Route is an entry of the table routes.
type Route struct {
	Resource string `setting:"resource" choices:"all outside customers customer_addresses products product_images product_websites product_categories stock_items orders order_items order_addresses order_comments" help:"Resource of the entry. outside stands for everything that the contract has no route for, such as /oauth/ and images; all includes it."`
	Calls    string `setting:"calls" default:"all" choices:"all reads writes" help:"Which requests."`
	To       string `setting:"to" choices:"portico legacy" help:"Who answers."`
	Shadow   bool   `setting:"shadow" default:"false" help:"Whether Portico also sends GET requests to the other side, in the background. It counts differences and shows samples; the client sees nothing of it."`
	Mirror   bool   `setting:"mirror" default:"false" help:"Whether the legacy store gets the writes that Portico answers afterwards, so that they can move back. It needs follow.dsn and legacy.consumer_key. When all processes have this entry, the writes change sides."`
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
				because = "routes mirrors writes: Portico repeats them as an Admin of the legacy store"
			}
			return "must be set, with legacy.consumer_secret, legacy.token and legacy.token_secret, because " + because
		}},
		{[]string{"follow.dsn", "routes"}, func(c *Config) string {
			for _, r := range c.Routes {
				if r.Mirror && c.Follow.DSN == "" {
					return "must be set, because routes mirrors the writes of " + r.Resource + ": Portico reads from the legacy store's database what has become of them"
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

// check validates the entry.
func (r Route) check() error {
	var faults []error
	if r.Shadow && r.Calls == "writes" {
		faults = append(faults, errors.New("shadow must not be true for writes: they would be carried out twice"))
	}
	if r.Shadow && r.Resource == "outside" {
		faults = append(faults, errors.New("shadow must not be true for outside: only the contract's resources can be compared"))
	}
	if r.Mirror && (r.Calls == "reads" || r.To != "portico") {
		faults = append(faults, errors.New("mirror must not be true but for writes to portico: only these are repeated at the legacy store"))
	}
	if r.Mirror && r.Resource == "outside" {
		faults = append(faults, errors.New("mirror must not be true for outside: only writes of the contract's resources can be repeated"))
	}
	return errors.Join(faults...)
}
