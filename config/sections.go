package config

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits bounds single requests, and the memory that all requests hold together.
type Limits struct {
	BodyBytes     int64 `setting:"limits.body_bytes" form:"size" default:"16MiB" range:"1KiB 1GiB" reload:"true" help:"Maximum size of a request body."`
	UnreadBytes   int64 `setting:"limits.unread_bytes" form:"size" default:"64MiB" range:"0 16GiB" help:"Maximum size of what Portico still reads and drops of a request that it has refused, because most clients send all of it before they read the reply. Beyond it the connection is closed, and the client may see that in place of the reply. 0: it is closed at once."`
	QueryBytes    int64 `setting:"limits.query_bytes" form:"size" default:"256KiB" range:"1KiB 512KiB" help:"Maximum size of a query string. A longer one gets 400."` // net/http reads at most 1 MiB of request line and headers together
	RequestsBytes int64 `setting:"limits.requests_bytes" form:"size" default:"128MiB" range:"1MiB 64GiB" help:"Memory for the bodies and query strings of all requests in flight, decoded forms included. Guests may use half of it. A request that finds none left waits for one second and then gets 503 with Retry-After."`
	RepliesBytes  int64 `setting:"limits.replies_bytes" form:"size" default:"32MiB" range:"1MiB 64GiB" help:"Memory for all replies that are being sent, short ones excepted. Slow clients hold it. Replies beyond it wait on disk (lists.spool_bytes)."`
	ImagePixels   int64 `setting:"limits.image_pixels" default:"40000000" range:"1 1000000000" help:"Maximum number of pixels of an image, and of all images that are being checked at a time. A pixel takes up to 24 bytes of memory during the check."`

	ConsumerRate  float64 `setting:"limits.consumer_rate" form:"rate" default:"0" reload:"true" help:"Average number of requests per second that one consumer may send, to one process or, with cache.redis_url, to all replicas together. Beyond it the consumer gets 429 with Retry-After. 0: no limit."`
	ConsumerBurst int64   `setting:"limits.consumer_burst" default:"20" range:"1 1000000" reload:"true" help:"Number of requests that a consumer may send in a burst after a pause, with limits.consumer_rate."`
	GuestRate     float64 `setting:"limits.guest_rate" form:"rate" default:"0" reload:"true" help:"Average number of requests per second that the Guests of one network may send, to one process or, with cache.redis_url, to all replicas together. Beyond it they get 429 with Retry-After. A network is an IPv4 address or the /64 of an IPv6 address; behind a proxy set trusted_proxies. 0: no limit."`
	GuestBurst    int64   `setting:"limits.guest_burst" default:"20" range:"1 1000000" reload:"true" help:"Number of requests that the Guests of one network may send in a burst after a pause, with limits.guest_rate."`
}

// Lists limits the lists of records.
type Lists struct {
	MaxRows         int64         `setting:"lists.max_rows" default:"100000" range:"1 10000000" reload:"true" help:"Maximum number of records in a list without a limit. The list ends there."`
	GuestMaxRows    int64         `setting:"lists.guest_max_rows" default:"0" range:"0 10000000" reload:"true" help:"Maximum number of records in a Guest's list without a limit. A longer list is refused with 400 and the contract's message for a limit that is too high. 0: only lists.max_rows applies."`
	InFlight        int64         `setting:"lists.in_flight" default:"64" range:"2 100000" help:"Maximum number of long lists that are being read and sent; Guests may have half of them. Each takes up to about a megabyte of memory while its client reads. A request beyond it waits for one second and then gets 503 with Retry-After."`
	FiltersInFlight int64         `setting:"lists.filters_in_flight" default:"0" range:"0 100000" help:"Maximum number of lists with an expensive filter that are being read from the store; Guests may have half of them. Patterns (like, nlike, finset, regexp), more than 500 values, and filters of fields that hold lists are expensive. A request beyond it waits for one second and then gets 503 with Retry-After. 0: the number of processors, at least 2, and with adapter: rest four times as many."`
	FilterTimeout   time.Duration `setting:"lists.filter_timeout" default:"2s" range:"10ms 20s" reload:"true" help:"Maximum time to read a list with an expensive filter, or one batch of a long list, from the store; half of upstream.timeout if that is shorter. A list that takes longer gets 503 with Retry-After, and does not count as a failure of the store."`
	MatchBytes      int64         `setting:"lists.match_bytes" form:"size" default:"128MiB" range:"1MiB 64GiB" reload:"true" help:"Maximum amount of text that Portico itself matches with the patterns of one list, or of one batch of a long list, where the database cannot match them, as with regexp. Beyond it the list gets 503 with Retry-After. A pattern that is too complex gets 400 immediately."`
	SpoolBytes      int64         `setting:"lists.spool_bytes" form:"size" default:"1GiB" range:"1MiB 1024GiB" help:"Maximum size of all temporary files: for replies that do not fit into limits.replies_bytes, and for long lists over HTTP/1.0, which need their length beforehand. Beyond it clients get 503 with Retry-After."`
	SpoolDir        string        `setting:"lists.spool_dir" help:"Folder for these files. Empty: the system's folder for temporary files."`
}

// Cache configures the cache of replies to Guests.
type Cache struct {
	RedisURL    string        `setting:"cache.redis_url" secret:"true" pattern:"(?:(?:redis|rediss|unix)://[!-~]+)?" must:"be a URL that begins with redis://, rediss:// or unix://" help:"Redis that the replicas share for replies to Guests, and for nonces if each replica has a store of its own: redis://, rediss:// (TLS) or unix://, with further addr= parameters for a cluster, and master_name= for sentinels. Empty: each replica caches in its own memory only, and a write of another replica becomes visible within cache.ttl."` // may hold a password
	Prefix      string        `setting:"cache.prefix" default:"portico:" pattern:"[0-9A-Za-z:._-]{1,64}" must:"have 1 to 64 letters, digits, colons, dots, hyphens and underscores" help:"What the names of all keys and channels in Redis begin with. The replicas of one store have the same prefix; stores that share a Redis each need one of their own, or they drop each other's cached replies and refuse each other's nonces."`
	TTL         time.Duration `setting:"cache.ttl" default:"5m" range:"1s 24h" help:"Maximum time that a reply to a Guest is cached. Changes made directly in the database become visible within it, or after a purge on the operators' port."`
	StaleTTL    time.Duration `setting:"cache.stale_ttl" default:"1h" range:"0s 168h" help:"Time after cache.ttl during which Portico still gives the cached reply, marked X-Cache: STALE, while the store cannot answer. 0: Guests get 503 like everybody else."`
	MemoryBytes int64         `setting:"cache.memory_bytes" form:"size" default:"64MiB" range:"0 64GiB" help:"Memory of each replica for cached replies to Guests, overhead included. 0: replies are not cached in memory, and every look-up asks Redis."`
	MemoryTTL   time.Duration `setting:"cache.memory_ttl" default:"1s" range:"0s 24h" help:"With Redis: time during which a replica answers from memory without asking Redis, and so may miss a write of another replica. 0: it always asks."`
	Timeout     time.Duration `setting:"cache.timeout" default:"100ms" range:"1ms 10s" help:"Maximum time for one round trip to Redis. A longer one counts as a miss. After three in a row Portico asks Redis only whether it is back."`
}

// Server configures the server of the contract's port.
type Server struct {
	MaxConnections    int           `setting:"server.max_connections" default:"4096" range:"1 1000000" help:"Maximum number of connections to the contract's port. Others wait until one is closed. A process that may open few files lets in fewer, and says so in the log when it starts: each may take two files, and some are left for the database, Redis and the operators' port."`
	ReadHeaderTimeout time.Duration `setting:"server.read_header_timeout" default:"10s" range:"10ms 24h" help:"Maximum time to read the headers of a request."`
	ReadTimeout       time.Duration `setting:"server.read_timeout" default:"1m" range:"10ms 24h" help:"Maximum time to read a whole request."`
	WriteTimeout      time.Duration `setting:"server.write_timeout" default:"2m" range:"10ms 24h" help:"Maximum time from the end of a request's headers to the end of its reply. Work that takes longer is stopped."`
	IdleTimeout       time.Duration `setting:"server.idle_timeout" default:"2m" range:"10ms 24h" help:"Maximum time that an idle connection stays open."`
	ShutdownTimeout   time.Duration `setting:"server.shutdown_timeout" default:"15s" range:"10ms 24h" help:"Maximum time for the requests in flight to finish at shutdown."`
	DrainDelay        time.Duration `setting:"server.drain_delay" default:"0s" range:"0s 24h" help:"How long Portico serves after SIGTERM before it stops. During this time /readyz fails, and replies tell clients to close their connections. Set it to longer than your load balancer needs to notice that /readyz fails."`
	TLSCert           string        `setting:"server.tls_cert" help:"PEM file with the certificate of the contract's port and its intermediate certificates. With server.tls_key the port speaks HTTPS. A renewed file is loaded without a restart. Empty: plain HTTP."`
	TLSKey            string        `setting:"server.tls_key" help:"PEM file with the private key of server.tls_cert."`
}

// Upstream limits calls to the adapter's upstream. Timeout and MaxWait together are less than
// the 30 s timeout of shared calls in package mapping, so that the guard notices an upstream that
// does not respond.
type Upstream struct {
	Timeout         time.Duration `setting:"upstream.timeout" default:"10s" range:"10ms 20s" help:"Maximum time for one call to the upstream. Too low: long lists, and calls in busy hours, get 503, and then the breaker opens. Too high: clients of a hung upstream wait as long, and count towards upstream.max_in_flight, until the breaker opens."`
	MaxInFlight     int           `setting:"upstream.max_in_flight" default:"64" range:"1 100000" help:"Maximum number of calls to the upstream in flight. Too low: portico_upstream_calls_total counts refused_full, and clients get 503, although the upstream has capacity. Too high: a slow upstream gets all the load, and memory grows with the calls that wait for it."`
	MaxWait         time.Duration `setting:"upstream.max_wait" default:"1s" range:"10ms 5s" help:"Maximum time that a call waits while upstream.max_in_flight calls are in flight. Too low: clients get 503 at short peaks. Too high: clients wait as long for a 503 when the upstream is slow."`
	BreakerFailures int           `setting:"upstream.breaker_failures" default:"5" range:"1 100000" help:"Number of failed calls in a row that open the breaker, of which reads and writes have one each: calls that did not reach the upstream or were not answered in time. Too low: it opens at a single hiccup, which portico_breaker_transitions_total shows. Too high: as many clients wait for upstream.timeout before the others get 503 immediately."`
	BreakerOpen     time.Duration `setting:"upstream.breaker_open" default:"2s" range:"10ms 10m" help:"Time during which the open breaker lets no call through, and clients get 503 immediately, before one call probes whether the upstream answers again. Each process probes up to a quarter of the time earlier, so that replicas do not all probe at once. Too low: a failing upstream gets more probes. Too high: clients get 503 for as long after it has recovered."`
}

// Auth configures authentication.
type Auth struct {
	SecretKey       []byte        `setting:"auth.secret_key" secret:"true" help:"Key that encrypts the secrets of consumers and tokens at rest, and seals the sessions of users who log in to authorize a program: 64 hexadecimal digits, as from openssl rand -hex 32. All replicas need the same key."` // 32 bytes, or none
	RefusePlaintext bool          `setting:"auth.refuse_plaintext" default:"false" help:"Whether Portico refuses the signature method PLAINTEXT, which sends the secrets themselves. Signed calls are not affected."`
	PlusAsSpace     bool          `setting:"auth.plus_as_space" default:"false" help:"Whether Portico also accepts signatures of clients that read a plus sign in the query as a space, as many OAuth libraries do. The original refuses them with signature_invalid, and so does the legacy store if legacy.auth is keep."`
	PasswordCost    int           `setting:"auth.password_cost" default:"10" range:"4 15" help:"Bcrypt cost of passwords that are set from now on. Each step doubles the time that a log-in takes, and the time it takes to try a stolen password. Values below 10 are for tests."`
	TimestampMaxAge time.Duration `setting:"auth.timestamp_max_age" default:"0s" range:"0s 1h50m" help:"Maximum age of the timestamp of a signed call. An older call gets timestamp_refused. Portico remembers nonces for two hours, so that with a maximum age an overheard call can never be sent again. 0: any age, as in the original."`
	Bearer          bool          `setting:"auth.bearer" default:"false" help:"Whether calls may carry an API key instead of a signature, as Authorization: Bearer KEY. Serve over HTTPS only, because anyone who sees a key can use it."`
}

// Media configures the store of image bytes, if it is not the folder of the database.
type Media struct {
	Bucket    string        `setting:"media.bucket" pattern:"(?:[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?" must:"be the name of a bucket: 3 to 63 lowercase letters, digits, dots and hyphens" help:"Bucket of an S3-compatible store for the image files, instead of the folder sql.media_dir. It must exist, and nobody but Portico should be able to read or write it. All processes that share a database need the same bucket. Empty: images are in the folder."`
	Endpoint  string        `setting:"media.endpoint" default:"https://s3.amazonaws.com" pattern:"https?://[!-.0-~]+/?" must:"be a URL such as https://s3.example.com, without a path" help:"URL of the S3-compatible store, without the bucket."`
	Region    string        `setting:"media.region" default:"us-east-1" pattern:"[A-Za-z0-9-]{1,64}" must:"be a region such as eu-central-1" help:"Region of the bucket. Stores that know no regions take any."`
	Prefix    string        `setting:"media.prefix" pattern:"(?:[A-Za-z0-9_.-]+/)*" must:"be empty, or a path of letters, digits and _.- that ends in a slash" help:"What the keys of all objects begin with, such as shop/. Stores that share a bucket need one each. Empty: nothing."`
	AccessKey string        `setting:"media.access_key" secret:"true" help:"Access key of the store, which needs the right to list the bucket, and to get, put and delete objects. Empty: that of AWS_ACCESS_KEY_ID, or that of the machine's role at AWS."`
	SecretKey string        `setting:"media.secret_key" secret:"true" help:"Secret key that belongs to media.access_key."`
	PathStyle bool          `setting:"media.path_style" default:"false" help:"Whether the bucket is part of the path of URLs rather than of the host name, as most stores other than AWS want it."`
	Timeout   time.Duration `setting:"media.timeout" default:"8s" range:"100ms 20s" help:"Maximum time until the store answers a request; an upload ends within it. Too low: large images cannot be stored over a slow line. Keep it below upstream.timeout."`
}

// Store configures the store's name, time zone, currency and tax location, and which values
// products may refer to.
type Store struct {
	// The name has letters, marks, numbers, punctuation and symbols, without the format
	// characters that reorder or hide text.
	Name            string         `setting:"store.name" pattern:"(?:[\\pL\\pM\\pN\\pP\\pS](?:[\\pL\\pM\\pN\\pP\\pS ]{0,62}[\\pL\\pM\\pN\\pP\\pS])?)?" must:"be at most 64 visible characters without blanks at its ends" reload:"true" help:"Name of the shop on the pages that people see, at most 64 characters. Empty: the host name of public_url, or else that of the request."`
	TimeZone        *time.Location `setting:"store.timezone" default:"UTC" reload:"true" help:"Time zone of the store, an IANA name such as Europe/Berlin. In the dialects magento and openmage, a product, customer or address that is read alone shows created_at in it, with its offset. Special prices begin and end with its days, except in websites that have a time zone of their own."`
	Locale          string         `setting:"store.locale" default:"en_US" pattern:"[a-z]{2,3}(?:_[A-Z][a-z]{3})?(?:_[A-Z]{2})?" must:"be a locale such as en_US or de_DE" reload:"true" help:"Locale of the store. It decides whether dates that clients write in other forms than YYYY-MM-DD and YYYY-MM-DD HH:MM:SS begin with the month, as in en_US, or with the day, as in most others, and which names of months they may have."`
	LinkURL         string         `setting:"store.link_url" form:"URL" reload:"true" help:"Base URL of the shop's pages: url and buy_now_url of products begin with it and index.php. Empty: public_url."`
	CodeInLinks     bool           `setting:"store.code_in_links" default:"false" reload:"true" help:"Whether url and buy_now_url of products have the code of the default scope, admin, behind index.php, as in a shop with store codes in its URLs. In magento and openmage, clients may then also call the interface behind the code of a store view."`
	MediaURL        string         `setting:"store.media_url" form:"URL" reload:"true" help:"URL of the folder with the images, such as https://cdn.example.com/media: image_url of products and url of images begin with it. If its host is that of public_url, Portico serves the images there, too. Empty: the folder media below public_url."`
	SecureMediaURL  string         `setting:"store.secure_media_url" form:"URL" reload:"true" help:"The same in replies to requests over https, which trusted_proxies may report. Empty: store.media_url."`
	Currency        string         `setting:"store.currency" default:"USD" pattern:"[A-Z]{3}" must:"be an ISO 4217 code such as USD" reload:"true" help:"Base currency of the store, an ISO 4217 code."`
	PriceScope      string         `setting:"store.price_scope" default:"global" choices:"global website" help:"Whether price, special_price, cost and msrp, and group and tier prices, hold for the whole shop, or may differ between websites: a write at a store view then stores them for its website alone, and amounts of all websites are converted by the rate of a website that has a base currency of its own. It decides how prices are stored, so a change needs a restart."`
	TaxCountry      string         `setting:"store.tax_country" default:"US" pattern:"[A-Z]{2}" must:"be an ISO 3166 code such as US" reload:"true" help:"Country whose tax a Guest pays, an ISO 3166 code."`
	TaxRegion       string         `setting:"store.tax_region" default:"CA" pattern:"[A-Za-z0-9-]{0,32}" must:"be a region code such as CA, or empty" reload:"true" help:"Region whose tax a Guest pays, by its code in store.tax_country. Empty: none."`
	TaxPostcode     string         `setting:"store.tax_postcode" pattern:"[!-~]?(?:[ -~]{0,19}[!-~])?" must:"be at most 21 printable ASCII characters, such as 90034 or *" reload:"true" help:"Postcode of the place whose tax a Guest pays. Empty: none, so that rates of postcodes do not apply to Guests. An asterisk: every rate of the place applies whatever its postcode, as in a legacy store that was never told a postcode."`
	TaxBasedOn      string         `setting:"store.tax_based_on" default:"shipping" choices:"shipping billing origin" reload:"true" help:"Address whose tax a buyer pays: the customer's default shipping address, the default billing address, or the shop's origin for everybody. Guests, and customers without that address, pay the tax of store.tax_country."`
	PriceTax        bool           `setting:"store.prices_include_tax" default:"false" reload:"true" help:"Whether stored prices include tax. If so, prices without tax are what remains without the rate of the shop's origin, and buyers with another rate pay that rate on top of it. Admins read prices as they are stored."`
	CrossBorder     bool           `setting:"store.tax_cross_border" default:"false" reload:"true" help:"With store.prices_include_tax: whether all buyers pay the same price with tax, whatever their rate, so that prices without tax differ."`
	OriginCountry   string         `setting:"store.origin_country" default:"US" pattern:"[A-Z]{2}" must:"be an ISO 3166 code such as US" reload:"true" help:"Country that the shop sends from, an ISO 3166 code. Its rate is the one in prices that include tax."`
	OriginRegion    string         `setting:"store.origin_region" default:"CA" pattern:"[A-Za-z0-9-]{0,32}" must:"be a region code such as CA, or empty" reload:"true" help:"Region that the shop sends from, by its code in store.origin_country. Empty: none."`
	OriginCode      string         `setting:"store.origin_postcode" default:"90034" pattern:"[!-~]?(?:[ -~]{0,19}[!-~])?" must:"be at most 21 printable ASCII characters, such as 90034" reload:"true" help:"Postcode that the shop sends from."`
	TaxGroup        int64          `setting:"store.tax_default_group" default:"1" range:"0 32000" reload:"true" help:"Customer group whose tax class decides which rate prices include, whoever buys."`
	TaxRounding     string         `setting:"store.tax_rounding" default:"decimal" choices:"decimal binary" reload:"true" help:"How prices are rounded to cents: decimal rounds halves of a cent up, as PHP up to 8.3; binary compares the binary number that was computed, which may be just below the half, as PHP 8.4 and later."`
	AttributeSets   []string       `setting:"store.attribute_sets" default:"4" pattern:"(?:0|[1-9][0-9]{0,8})(?:, ?(?:0|[1-9][0-9]{0,8}))*" must:"be ids separated by commas, such as 4 or 4,9" reload:"true" help:"Ids of the attribute sets that products can be created in, separated by commas."`
	TaxClasses      []string       `setting:"store.tax_classes" default:"0,2,4" pattern:"(?:0|[1-9][0-9]{0,8})(?:, ?(?:0|[1-9][0-9]{0,8}))*" must:"be ids separated by commas, such as 0,2,4" reload:"true" help:"Values of tax_class_id that products may have, separated by commas. 0 is none."`
	Themes          []string       `setting:"store.themes" default:"base/default,default/default,default/iphone,default/modern,rwd/default" default_openmage:"base/default,rwd/default" pattern:"(?:[A-Za-z0-9_-]{1,64}/[A-Za-z0-9_-]{1,64}(?:, ?[A-Za-z0-9_-]{1,64}/[A-Za-z0-9_-]{1,64})*)?" must:"be themes separated by commas, each as package/theme" reload:"true" help:"Values of custom_design that products may have, separated by commas, each as package/theme. In the dialect openmage the default is base/default,rwd/default."`
	SingleStoreMode bool           `setting:"store.single_store_mode" default:"false" reload:"true" help:"Whether a write of a product at a store view is one of the default scope while the shop has exactly one store view, as in a legacy store. The values then show without a store in the path and in lists too, and the store view keeps no values of its own."`
	Integers        string         `setting:"store.integers" default:"text" choices:"text number" help:"Dialects magento and openmage: how JSON shows integer columns, such as ids, status and flags: text as \"1\"; number as 1, like a legacy store whose database layer does not turn values into texts, as OpenMage 19.4 and 20.1 to 20.3 on PHP 8.1 or later, and 19.5. Decimals, times and XML are the same with both."`
}

// Customers configures the accounts of customers, and the forms by which clients write customers and
// their addresses.
type Customers struct {
	Confirmation      bool     `setting:"customers.confirmation" default:"true" reload:"true" help:"Dialects magento and openmage: whether a customer that a client creates gets a random key in the field confirmation, and so has to confirm the e-mail address before the first log-in."`
	SharedAccounts    bool     `setting:"customers.shared_accounts" default:"false" reload:"true" help:"Whether an account is valid in all websites, so that a customer cannot be saved with an e-mail address that any other customer has. false: accounts belong to a website, and a customer of another one may have the same address."`
	RequiredFields    []string `setting:"customers.required_fields" default:"firstname,lastname" pattern:"(?:[a-z][a-z0-9_]{0,62}(?:, ?[a-z][a-z0-9_]{0,62})*)?" must:"be names of fields separated by commas, such as firstname,lastname,dob" reload:"true" help:"Fields that a new customer must have and that no write may empty, besides website_id, group_id and email: prefix, firstname, middlename, lastname, suffix, dob, taxvat, gender, and attributes of the table attributes. Separated by commas."`
	RequiredInAddress []string `setting:"customers.required_address_fields" default:"firstname,lastname,street,city,country_id,postcode,telephone" pattern:"(?:[a-z][a-z0-9_]{0,62}(?:, ?[a-z][a-z0-9_]{0,62})*)?" must:"be names of fields separated by commas, such as firstname,lastname,city" reload:"true" help:"Fields that a new address must have and that no write may empty: prefix, firstname, middlename, lastname, suffix, company, street, city, country_id, postcode, telephone, fax, vat_id, and attributes of the table attributes. Separated by commas. Whether a region is required depends on the country."`
	Countries         []string `setting:"customers.countries" pattern:"(?:[A-Z]{2}(?:, ?[A-Z]{2})*)?" must:"be ISO 3166 codes separated by commas, such as US,CA" reload:"true" help:"Countries that a written address may be in, as ISO 3166 codes separated by commas. Stored addresses in other countries remain, and can be changed except in their country. Empty: all countries of the directory."`
	WithoutPostcode   []string `setting:"customers.countries_without_postcode" default:"HK,IE,MO,PA" pattern:"(?:[A-Z]{2}(?:, ?[A-Z]{2})*)?" must:"be ISO 3166 codes separated by commas, such as HK,IE" reload:"true" help:"Dialects magento and openmage: countries whose addresses need no postcode, as ISO 3166 codes separated by commas. Empty: none."`
}

// Stock has the defaults of stock items that use the store's configuration. Quantities are
// decimals with four places.
type Stock struct {
	MinQty      string `setting:"stock.min_qty" form:"decimal" default:"0" reload:"true" help:"Quantity at which a product is out of stock, for items that use the store's value."`
	NotifyQty   string `setting:"stock.notify_qty" form:"decimal" default:"1" reload:"true" help:"Quantity below which stock counts as low, for items that use the store's value."`
	Backorders  int64  `setting:"stock.backorders" default:"0" range:"0 2" reload:"true" help:"For items that use the store's value: 0 allows no backorders, 1 allows quantities below zero, 2 allows them and notifies the customer."`
	ManageStock bool   `setting:"stock.manage" default:"true" reload:"true" help:"Whether stock is managed, for items that use the store's value."`
	HideSoldOut bool   `setting:"stock.hide_sold_out" default:"false" reload:"true" help:"Whether the lists that Customers and Guests read leave out products that are not in stock at the website. Such a product can still be read alone, and is in the lists of Admins."`
}

// Follow configures how "portico serve" follows the legacy store's database. Without DSN it
// does not.
type Follow struct {
	DSN           string        `setting:"follow.dsn" secret:"true" pattern:"(?:mysql:(?s:.*)/[^/?]+(?:[?].*)?)?" must:"be mysql:user:password@tcp(host:3306)/database" help:"The legacy store's database, mysql:user:password@tcp(host:3306)/database, which one of all processes of portico serve follows: it takes over what changes there. The store must have been filled from it by portico import. Empty: none follows."`
	Prefix        string        `setting:"follow.prefix" pattern:"[A-Za-z0-9_]{0,32}" must:"have at most 32 letters, digits and underscores" help:"Prefix of the table names there."`
	Source        string        `setting:"follow.source" pattern:"[A-Za-z0-9_-]{0,64}" must:"have at most 64 letters, digits, underscores and hyphens" help:"Name under which the store notes the legacy store, as portico import --source has it: that of an earlier import if the shop has moved to another server since. Empty: one made from the server and the database."`
	Charset       string        `setting:"follow.charset" help:"Encoding that texts there really have if the tables claim another one, such as windows-1252, as portico import --charset has it."`
	OldTLS        bool          `setting:"follow.old_tls" default:"false" help:"Whether TLS 1.0 and 1.1 of an old database server are accepted, for a DSN with tls=."`
	Rate          int           `setting:"follow.rate" default:"0" range:"0 100000000" help:"Maximum average number of rows per second that comparisons of everything read there, to spare the running shop. Changes that the legacy store dates do not wait for it. Too low: a comparison takes longer than follow.compare_period. 0: no limit."`
	Media         string        `setting:"follow.media" help:"Where the files of images are: the legacy store's media folder, its http(s) URL, or a .tar or .tar.gz of it. Empty: new images come without bytes."`
	Mode          string        `setting:"follow.mode" default:"auto" choices:"auto polling" help:"How Portico learns what has changed there. auto: from the server's binary log, if that can be read, and else by polling; portico follow --check says what is missing. polling: without the log."`
	Interval      time.Duration `setting:"follow.interval" default:"5s" range:"100ms 1h" help:"Time between two polls for what the legacy store has dated as changed. With the binary log changes arrive at once."`
	Overlap       time.Duration `setting:"follow.overlap" default:"1m" range:"1s 1h" help:"How long before the last poll a poll looks back. Set it to longer than the clocks of the legacy store's servers differ and than its transactions take. What a poll misses is found within follow.compare_period."`
	ComparePeriod time.Duration `setting:"follow.compare_period" default:"10m" range:"1s 168h" help:"Time over which one comparison of everything is spread, also with the binary log. It finds what polling does not, such as deletions and changes that the legacy store does not date: no change arrives later than that, unless follow.rate is too low."`
	Wait          time.Duration `setting:"follow.wait" default:"2s" range:"0s 1m" help:"How long the reply of the legacy store to a write may wait until its changes are here: then clients read here what they have written there. 0: replies do not wait."`
}

// PollOnly reports whether Portico polls the legacy store's tables instead of reading the
// binary log.
func (f Follow) PollOnly() bool { return f.Mode == "polling" }

// Tracing configures traces. Without Endpoint there are none.
type Tracing struct {
	Endpoint string      `setting:"tracing.endpoint" form:"URL" help:"URL of the OpenTelemetry collector that gets traces by OTLP over HTTP, such as http://127.0.0.1:4318. Without a path Portico adds /v1/traces. Empty: nothing is traced."`
	Sample   float64     `setting:"tracing.sample" form:"share" default:"0.01" help:"Share of the requests that are traced. For a request with a traceparent, its caller has decided: Portico traces what the caller traces."`
	Headers  http.Header `setting:"tracing.headers" form:"headers" secret:"true" help:"Headers for the collector, such as Authorization=Bearer%20KEY: names and values with percent signs for special characters, separated by commas, as in OTEL_EXPORTER_OTLP_HEADERS."` // may hold credentials
}

// SpansURL returns the URL to which spans are posted.
func (t Tracing) SpansURL() string {
	if u, err := url.Parse(t.Endpoint); err == nil && t.Endpoint != "" && u.Path == "" {
		return t.Endpoint + "/v1/traces"
	}
	return t.Endpoint
}

// maxHeaders is the maximum length of tracing.headers in bytes.
const maxHeaders = 8 << 10

// errHeaders does not repeat the text, which may hold credentials.
var errHeaders = errors.New("must be names and values such as Authorization=Bearer%20KEY, separated by commas")

func validHeaders(text string) error {
	_, err := parseHeaders(text)
	return err
}

// parseHeaders parses a list of headers in the form of OTEL_EXPORTER_OTLP_HEADERS.
func parseHeaders(text string) (http.Header, error) {
	header := http.Header{}
	if text = strings.TrimSpace(text); text == "" {
		return header, nil
	}
	if len(text) > maxHeaders {
		return nil, errHeaders
	}
	for part := range strings.SplitSeq(text, ",") {
		name, escaped, found := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		if name = strings.TrimSpace(name); !found || err != nil || !isToken(name) || !isPrintable(value) {
			return nil, errHeaders
		}
		header.Add(name, value)
	}
	return header, nil
}

// isToken reports whether a text can be the name of a header.
func isToken(text string) bool {
	return text != "" && strings.Trim(text, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// isPrintable reports whether a text can be the value of a header.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
