package config_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"github.com/portico-commerce/portico/config"
)

const badURL = "must be an http or https URL such as https://shop.example.com, without user, query and fragment, or empty"

const secretKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// adapterSections returns sections like the sections of the program's adapters.
func adapterSections() []config.Section {
	return []config.Section{
		{Name: "sql", Settings: []config.Setting{
			{Name: "dsn", Default: "sqlite:portico.db", Secret: true, Help: "Where the data is."},
			{Name: "migrate", Default: "auto", Help: "Whether tables are made.", Valid: func(text string) error {
				if text != "auto" && text != "off" {
					return errors.New("must be auto or off")
				}
				return nil
			}},
		}},
		{Name: "rest", Settings: []config.Setting{{Name: "mapping", Help: "Path of the mapping file."}}},
	}
}

// writeFile writes portico.yaml to a temporary folder and changes to that folder, so that
// messages contain a plain path.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("portico.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "portico.yaml"
}

func parseFlags(t *testing.T, arguments ...string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.String("config", "", "a flag that is not a setting")
	config.AddFlags(flags, config.Settings(adapterSections()...))
	if err := flags.Parse(arguments); err != nil {
		t.Fatal(err)
	}
	return flags
}

func compareConfigs() []cmp.Option {
	return []cmp.Option{
		cmpopts.IgnoreUnexported(config.Config{}),
		cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
}

// TestLoadDefaultOfOpenMage checks that a setting has its default of the dialect openmage there, and no other
// place overrides a value that is set.
func TestLoadDefaultOfOpenMage(t *testing.T) {
	for settings, want := range map[string]string{
		"PORTICO_DIALECT=openmage":                                     "base/default,rwd/default",
		"PORTICO_DIALECT=openmage PORTICO_STORE_THEMES=default/modern": "default/modern",
		"PORTICO_STORE_THEMES=":                                        "",
	} {
		got, err := config.Load(config.Sources{Sections: adapterSections(), Environ: strings.Fields(settings)})
		if err != nil {
			t.Fatal(err)
		}
		if themes := strings.Join(got.Store.Themes, ","); themes != want {
			t.Errorf("%s: themes %q, want %q", settings, themes, want)
		}
	}
}

func TestLoadEveryCoreSetting(t *testing.T) {
	file := writeFile(t, `
listen: "[::1]:80"
public_url: https://shop.example.com/legacy/
trusted_proxies: [10.1.2.3/8, "::1", "::ffff:192.0.2.1"]
dialect: magento
accept_missing: json
adapter: rest
ops: {listen: ":9000", token: 0123456789abcdef, pprof: true, console: false, console_impersonate: true}
log: {level: error, format: json}
tracing: {endpoint: "https://otlp.example", sample: 0.5, headers: "api-key=a%20b"}
limits: {body_bytes: 4096, query_bytes: 512KiB, image_pixels: 1, consumer_rate: 0.25, consumer_burst: 3,
  requests_bytes: 1MiB, replies_bytes: 2MiB, guest_rate: 2.5, guest_burst: 4}
lists: {max_rows: 7, guest_max_rows: 5, in_flight: 6, filters_in_flight: 5, filter_timeout: 300ms, match_bytes: 1MiB, spool_bytes: 3MiB, spool_dir: /var/spool/portico}
cache: {redis_url: "rediss://:password@redis.example:6380/1", ttl: 1m, stale_ttl: 0s, memory_bytes: 0, memory_ttl: 0s, timeout: 1s}
server:
  max_connections: 9
  read_header_timeout: 1s
  read_timeout: 2s
  write_timeout: 1m30s
  idle_timeout: 4s
  shutdown_timeout: 500ms
  drain_delay: 5s
  tls_cert: shop.pem
  tls_key: shop.key
upstream: {timeout: 2s, max_in_flight: 3, max_wait: 40ms, breaker_failures: 5, breaker_open: 1m}
auth:
  secret_key: `+secretKey+`
  refuse_plaintext: true
  plus_as_space: true
  password_cost: 12
  timestamp_max_age: 30m
store: {name: "Müller & Söhne", timezone: Europe/Berlin, currency: EUR, tax_country: DE, tax_region: "",
  attribute_sets: [4, 9], tax_classes: "0, 7", themes: []}
stock: {min_qty: -007.5, notify_qty: 0.25, backorders: 2, manage: false}
rest.mapping: backend.yaml
sql.dsn: 0042
`)
	got, err := config.Load(config.Sources{Sections: adapterSections(), File: file})
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff")
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	want, err := config.Load(config.Sources{Sections: adapterSections()})
	if err != nil {
		t.Fatal(err)
	}
	want.Listen, want.PublicURL = "[::1]:80", "https://shop.example.com/legacy"
	want.TrustedProxies = []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("192.0.2.1/32"),
	}
	want.Dialect, want.AcceptMissing, want.Adapter = "magento", "json", "rest"
	want.OpsListen, want.OpsToken, want.OpsPprof, want.OpsConsole, want.OpsImpersonate = ":9000", "0123456789abcdef", true, false, true
	want.LogLevel, want.LogFormat = slog.LevelError, "json"
	want.Tracing.Endpoint, want.Tracing.Sample, want.Tracing.Headers = "https://otlp.example", 0.5, http.Header{"Api-Key": {"a b"}}
	limits := &want.Limits
	limits.BodyBytes, limits.QueryBytes, limits.ImagePixels, limits.RequestsBytes, limits.RepliesBytes = 4096, 512<<10, 1, 1<<20, 2<<20
	limits.ConsumerRate, limits.ConsumerBurst, limits.GuestRate, limits.GuestBurst = 0.25, 3, 2.5, 4
	lists := &want.Lists
	lists.MaxRows, lists.GuestMaxRows, lists.InFlight, lists.FiltersInFlight, lists.FilterTimeout = 7, 5, 6, 5, 300*time.Millisecond
	lists.MatchBytes, lists.SpoolBytes, lists.SpoolDir = 1<<20, 3<<20, "/var/spool/portico"
	cache := &want.Cache
	cache.RedisURL, cache.TTL, cache.StaleTTL = "rediss://:password@redis.example:6380/1", time.Minute, 0
	cache.MemoryBytes, cache.MemoryTTL, cache.Timeout = 0, 0, time.Second
	server := &want.Server
	server.MaxConnections, server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout = 9, time.Second, 2*time.Second, 90*time.Second
	server.IdleTimeout, server.ShutdownTimeout, server.DrainDelay = 4*time.Second, 500*time.Millisecond, 5*time.Second
	server.TLSCert, server.TLSKey = "shop.pem", "shop.key"
	upstream := &want.Upstream
	upstream.Timeout, upstream.MaxInFlight, upstream.MaxWait = 2*time.Second, 3, 40*time.Millisecond
	upstream.BreakerFailures, upstream.BreakerOpen = 5, time.Minute
	want.Auth.SecretKey, want.Auth.RefusePlaintext, want.Auth.PlusAsSpace = append(key, key...), true, true
	want.Auth.PasswordCost, want.Auth.TimestampMaxAge = 12, 30*time.Minute
	store := &want.Store
	store.Name, store.TimeZone, store.Currency, store.TaxCountry, store.TaxRegion = "Müller & Söhne", berlin, "EUR", "DE", ""
	store.AttributeSets, store.TaxClasses, store.Themes = []string{"4", "9"}, []string{"0", "7"}, []string{}
	stock := &want.Stock
	stock.MinQty, stock.NotifyQty, stock.Backorders, stock.ManageStock = "-7.5000", "0.2500", 2, false
	want.Sections["sql"]["dsn"], want.Sections["rest"]["mapping"] = "0042", "backend.yaml"
	if diff := cmp.Diff(want, got, compareConfigs()...); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// TestStoreName checks which names of a shop are accepted.
func TestStoreName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		valid       bool
	}{
		{"none", "", true},
		{"one letter", "A", true},
		{"marks and symbols", "Café “Ü” & Co. — №1 ☕", true},
		{"another script", "קומקומים", true},
		{"64 characters", strings.Repeat("é", 64), true},
		{"65 characters", strings.Repeat("é", 65), false},
		{"line break", "A\nB", false},
		{"control character", "A\u0007B", false},
		{"reversed text", "A\u202eB", false},
		{"zero-width space", "A\u200bB", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Load(config.Sources{Sections: adapterSections(), Environ: []string{"PORTICO_STORE_NAME=" + tt.value}})
			if tt.valid && (err != nil || got.Store.Name != tt.value) {
				t.Errorf("%+v, %v", got, err)
			}
			if !tt.valid && (err == nil || !strings.Contains(err.Error(), " must be at most 64 visible characters without blanks at its ends")) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	tests := []struct {
		name       string
		file       string
		environ    []string
		flags      []string
		wantLevel  slog.Level
		wantSource string
	}{
		{"default", "", nil, nil, slog.LevelInfo, "default"},
		{"file", "log:\n  level: debug", nil, nil, slog.LevelDebug, "portico.yaml:2"},
		{"file, section and name in one", "log.level: debug", nil, nil, slog.LevelDebug, "portico.yaml:1"},
		{"file, blank setting", "log:\n  level:", nil, nil, slog.LevelInfo, "default"},
		{"file, blank section", "log:", nil, nil, slog.LevelInfo, "default"},
		{"file of comments", "# log.level: debug", nil, nil, slog.LevelInfo, "default"},
		{"environment over file", "log.level: debug", []string{"PORTICO_LOG_LEVEL=warn"}, nil,
			slog.LevelWarn, "environment PORTICO_LOG_LEVEL"},
		{"flag over environment and file", "log.level: debug", []string{"PORTICO_LOG_LEVEL=warn"}, []string{"--log-level=error"},
			slog.LevelError, "flag --log-level"},
		{"flag that repeats the default", "log.level: debug", nil, []string{"--log-level=info"}, slog.LevelInfo, "flag --log-level"},
		{"flag of another setting", "log.level: debug", nil, []string{"--listen=:1", "--config=x"}, slog.LevelDebug, "portico.yaml:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := writeFile(t, tt.file)
			got, err := config.Load(config.Sources{
				Sections: adapterSections(), File: file, Environ: tt.environ, Flags: parseFlags(t, tt.flags...),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got.LogLevel != tt.wantLevel {
				t.Errorf("level %v, want %v", got.LogLevel, tt.wantLevel)
			}
			if source := row(t, got, "log.level").Source; source != tt.wantSource {
				t.Errorf("source %q, want %q", source, tt.wantSource)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	writeFile(t, "log.level: debug\n")
	if err := os.WriteFile("token", []byte("a-token-of-sixteen\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := config.Load(config.Sources{Sections: adapterSections(), Environ: []string{
		"PORTICO_CONFIG=portico.yaml",
		"PORTICO_OPS_TOKEN_FILE=token",
		"PORTICO_SQL_DSN=a=b",
		"PORTICO_TRUSTED_PROXIES= 10.0.0.0/8 , ::1 ",
		"PORTICO_SERVICE_HOST=10.0.0.1", "PORTICO_SERVICE_PORT=80", "PORTICO_SERVICE_PORT_HTTP=80",
		"PORTICO_TEST_MEDUSA=1", "PORTICO_PORT=tcp://10.0.0.1:80", "PORTICO_PORT_80_TCP=tcp://10.0.0.1:80", "PORTICO_PORT_80_TCP_ADDR=10.0.0.1",
		"HOME=/root", "PORTICOS=1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got.LogLevel != slog.LevelDebug {
		t.Errorf("the file named by PORTICO_CONFIG was not read")
	}
	if got.OpsToken != "a-token-of-sixteen" {
		t.Errorf("token %q from its file", got.OpsToken)
	}
	if source := row(t, got, "ops.token").Source; source != "environment PORTICO_OPS_TOKEN_FILE" {
		t.Errorf("source of the token %q", source)
	}
	if got.Sections["sql"]["dsn"] != "a=b" {
		t.Errorf("dsn %q, want everything after the first =", got.Sections["sql"]["dsn"])
	}
	if len(got.TrustedProxies) != 2 {
		t.Errorf("networks %v, want two", got.TrustedProxies)
	}
}

func TestFileNamedByCallerBeatsVariable(t *testing.T) {
	file := writeFile(t, "log.level: debug")
	got, err := config.Load(config.Sources{Sections: adapterSections(), File: file, Environ: []string{"PORTICO_CONFIG=absent.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.LogLevel != slog.LevelDebug {
		t.Errorf("level %v, want that of the file", got.LogLevel)
	}
}

func row(t *testing.T, c *config.Config, name string) config.Row {
	t.Helper()
	for _, r := range c.Rows() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no row for %s", name)
	return config.Row{}
}

func TestFaults(t *testing.T) {
	aliases := "a: &a [1,1]\nlisten: *a\n"
	tests := []struct {
		name    string
		file    string
		environ []string
		flags   []string
		want    []string
	}{
		{"unknown setting", "log:\n  levle: warn", nil, nil,
			[]string{`portico.yaml:2: log.levle: unknown setting; did you mean log.level?`}},
		{"unknown setting, nothing near", "colour: red", nil, nil, []string{`portico.yaml:1: colour: unknown setting`}},
		{"unknown blank section", "logs:\n", nil, nil, []string{`portico.yaml:1: logs: unknown setting`}},
		{"unknown setting of an adapter", "sql.dns: x", nil, nil,
			[]string{`portico.yaml:1: sql.dns: unknown setting; did you mean sql.dsn?`}},
		{"name that would disturb a terminal", `"a\e[31m": x`, nil, nil, []string{`portico.yaml:1: "a\x1b[31m": unknown setting`}},
		{"mapping under a setting", "listen:\n  host: a", nil, nil, []string{`portico.yaml:2: listen.host: unknown setting`}},
		{"setting given twice", "listen: :1\nlisten: :2", nil, nil, []string{`portico.yaml:2: listen is already set in line 1`}},
		{"setting given in both forms", "log:\n  level: warn\nlog.level: warn", nil, nil,
			[]string{`portico.yaml:3: log.level is already set in line 2`}},
		{"section given twice", "log: {level: warn}\nlog: {format: json}", nil, nil,
			[]string{`portico.yaml:2: log is already set in line 1`}},
		{"list for a single value", "dialect: [a, b]", nil, nil,
			[]string{`portico.yaml:1: dialect: "a,b" must be one of documented, magento, openmage`}},
		{"list of lists", "trusted_proxies: [[a]]", nil, nil,
			[]string{`portico.yaml:1: trusted_proxies must be a list of strings without commas`}},
		{"list with a comma in an entry", "trusted_proxies: ['::1,::2']", nil, nil,
			[]string{`portico.yaml:1: trusted_proxies must be a list of strings without commas`}},
		{"alias", aliases, nil, nil, []string{
			`portico.yaml:1: a must not use anchors, aliases and tags`,
			`portico.yaml:2: listen must not use anchors, aliases and tags`}},
		{"tag", "listen: !!binary aGk=", nil, nil, []string{`portico.yaml:1: listen must not use anchors, aliases and tags`}},
		{"name that is not a string", "? [a]\n: b", nil, nil, []string{`portico.yaml:1: the name of a setting must be a plain string`}},
		{"not YAML", "a: b: c", nil, nil, []string{`portico.yaml: is not YAML: mapping values are not allowed in this context`}},
		{"not YAML after the first document", "a: 1\n---\nb: c: d", nil, nil,
			[]string{`portico.yaml: is not YAML: line 3: mapping values are not allowed in this context`}},
		{"two documents", "listen: :1\n---\nlisten: :2", nil, nil, []string{`portico.yaml:2: must be a single YAML document`}},
		{"not a mapping", "- listen", nil, nil, []string{`portico.yaml:1: must be a mapping of settings`}},
		{"nested too deep", strings.Repeat("{a: ", 9) + "1" + strings.Repeat("}", 9), nil, nil,
			[]string{`portico.yaml:1: is nested too deeply`}},
		{"file too long", strings.Repeat("#", 1<<20+1), nil, nil,
			[]string{`portico.yaml: must not be longer than 1MiB`}},

		{"unknown variable", "", []string{"PORTICO_LOGLEVEL=warn"}, nil,
			[]string{`environment PORTICO_LOGLEVEL: unknown variable; did you mean PORTICO_LOG_LEVEL?`}},
		{"file variable of a setting that is not a secret", "", []string{"PORTICO_LISTEN_FILE=x"}, nil,
			[]string{`environment PORTICO_LISTEN_FILE: unknown variable`}},
		{"secret given twice", "", []string{"PORTICO_OPS_TOKEN=a-token-of-sixteen", "PORTICO_OPS_TOKEN_FILE=portico.yaml"}, nil,
			[]string{`environment PORTICO_OPS_TOKEN_FILE: ops.token: is also set by PORTICO_OPS_TOKEN`}},
		{"secret's file missing", "", []string{"PORTICO_OPS_TOKEN_FILE=absent"}, nil,
			[]string{`environment PORTICO_OPS_TOKEN_FILE: ops.token: open absent: no such file or directory`}},
		{"configuration file missing", "", []string{"PORTICO_CONFIG=absent.yaml"}, nil,
			[]string{`absent.yaml: open absent.yaml: no such file or directory`}},

		{"not one of the choices, in a flag", "", nil, []string{"--dialect=french"},
			[]string{`flag --dialect: dialect: "french" must be one of documented, magento, openmage`}},
		{"adapter that is not built in", "adapter: soap", nil, nil,
			[]string{`portico.yaml:1: adapter: "soap" must be one of sql, rest`}},
		{"value an adapter refuses", "sql.migrate: later", nil, nil,
			[]string{`portico.yaml:1: sql.migrate: "later" must be auto or off`}},
		{"value that a later layer replaces", "log.level: loud", []string{"PORTICO_LOG_LEVEL=warn"}, nil,
			[]string{`portico.yaml:1: log.level: "loud" must be one of debug, info, warn, error`}},
		{"long value", "dialect: " + strings.Repeat("x", 100), nil, nil,
			[]string{`portico.yaml:1: dialect: "` + strings.Repeat("x", 64) + `" must be one of documented, magento, openmage`}},
		{"secret", "auth.secret_key: open-sesame", nil, nil,
			[]string{`portico.yaml:1: auth.secret_key: value must be 64 hexadecimal digits, or empty`}},
		{"URL that is not a Redis URL", "cache.redis_url: http://:open-sesame@redis", nil, nil,
			[]string{`portico.yaml:1: cache.redis_url: value must be a URL that begins with redis://, rediss:// or unix://`}},

		{"URL with a password", "legacy.url: https://ada:open-sesame@old.example/a", nil, []string{"--public-url=https://ada:open-sesame@x@sho p.example"},
			[]string{`portico.yaml:1: legacy.url: "https://…@old.example/a" ` + badURL, `flag --public-url: public_url: "https://…@sho p.example" ` + badURL}},
		{"URL with a password and no scheme", "legacy.url: ada:open-sesame@old.example", nil, nil, []string{`portico.yaml:1: legacy.url: "…@old.example" ` + badURL}},
		{"URL with a password and no host", "legacy.url: https://ada:open-sesame/x", nil, nil, []string{`portico.yaml:1: legacy.url: "https://ada:…/x" ` + badURL}},
		{"URL with a password in its query", "legacy.url: https://old.example:80/?password=open-sesame", nil, nil, []string{`portico.yaml:1: legacy.url: "https://old.example:80/?…" ` + badURL}},
		{"URL in another setting", "listen: http://ada:open-sesame@[::1]:80/", nil, nil,
			[]string{`portico.yaml:1: listen: "http://…@[::1]:80/" must be host:port such as 127.0.0.1:8080, [::1]:8080 or :8080`}},
		{"database in another setting", "dialect: mysql:ada:open-sesame@tcp(db)/shop", nil, nil,
			[]string{`portico.yaml:1: dialect: "…@tcp(db)/shop" must be one of documented, magento, openmage`}},

		{"operators' port off loopback without token", "ops.listen: 0.0.0.0:9464", nil, nil,
			[]string{`default: ops.token: must be set, because ops.listen 0.0.0.0:9464 is not a loopback address`}},
		{"the same port twice", "listen: :9464", nil, nil,
			[]string{`default: ops.listen: must differ from listen :9464`}},
		{"header timeout over read timeout", "server.read_header_timeout: 2m", nil, nil,
			[]string{`portico.yaml:1: server.read_header_timeout: must not be longer than server.read_timeout 1m0s`}},
		{"negative rate", "limits.consumer_rate: -1", nil, nil,
			[]string{`portico.yaml:1: limits.consumer_rate: "-1" must be a number of requests per second such as 5 or 0.25, at most 8 digits and 4 places`}},
		{"certificate without a key", "server.tls_cert: shop.pem", nil, nil,
			[]string{`portico.yaml:1: server.tls_cert: must be set together with server.tls_key, or neither of them`}},
		{"key without a certificate", "server.tls_key: shop.key", nil, nil,
			[]string{`default: server.tls_cert: must be set together with server.tls_key, or neither of them`}},
		{"a call as long as its request", "{upstream.timeout: 9s, server.write_timeout: 10s}", nil, nil,
			[]string{`portico.yaml:1: upstream.timeout: must be, with upstream.max_wait 1s, shorter than server.write_timeout 10s`}},
		{"legacy store without an address", "routes: [{resource: orders, to: legacy}]", nil, nil,
			[]string{`default: legacy.url: must be set, because routes sends requests of orders there`}},
		{"writes that are shadowed", "{legacy.url: \"http://old.example\", routes: [{resource: orders, calls: writes, to: legacy, shadow: true}]}", nil, nil,
			[]string{`portico.yaml:1: routes[0]: shadow must not be true for writes: they would be carried out twice`}},
		{"reads that are mirrored", "{legacy.url: \"http://old.example\", routes: [{resource: orders, calls: reads, to: portico, mirror: true}, {resource: outside, to: portico, mirror: true}]}", nil, nil,
			[]string{`portico.yaml:1: routes[0]: mirror must not be true but for writes to portico: only these are repeated at the legacy store`,
				`portico.yaml:1: routes[1]: mirror must not be true for outside: only writes of the contract's resources can be repeated`,
				`default: legacy.consumer_key: must be set, with legacy.consumer_secret, legacy.token and legacy.token_secret, because routes mirrors writes: Portico repeats them as an Admin of the legacy store`,
				`default: follow.dsn: must be set, because routes mirrors the writes of orders: Portico reads from the legacy store's database what has become of them`}},
		{"own credentials missing", "{legacy.auth: own, legacy.token: t}", nil, nil,
			[]string{`default: legacy.consumer_key: must be set, with legacy.consumer_secret, legacy.token and legacy.token_secret, because legacy.auth is own`}},
		{"legacy store without the path that clients sign", "{public_url: \"https://shop.example/shop\", legacy.url: \"http://old.example\"}", nil, nil,
			[]string{`portico.yaml:1: legacy.url: must end with /shop, the path of public_url, because clients sign it and legacy.auth keep leaves their signatures as they are`}},
		{"base path with /api/rest", "public_url: https://shop.example/shop/api/rest/", nil, nil,
			[]string{`portico.yaml:1: public_url: "https://shop.example/shop/api/rest/" must not include /api/rest: use the URL before it, such as https://shop.example.com/shop`}},
		{"base path with an escape", "public_url: https://shop.example/a%20shop", nil, nil,
			[]string{`portico.yaml:1: public_url: "https://shop.example/a%20shop" must have a path of letters, digits and the characters - . _ ~ between single slashes, such as https://shop.example.com/shop`}},
		{"base path with dot segments", "public_url: https://shop.example/../shop", nil, nil,
			[]string{`portico.yaml:1: public_url: "https://shop.example/../shop" must have a path of letters, digits and the characters - . _ ~ between single slashes, such as https://shop.example.com/shop`}},
		{"legacy timeout over write timeout", "{legacy.url: \"http://old.example\", legacy.timeout: 2m}", nil, nil,
			[]string{`portico.yaml:1: legacy.timeout: must be shorter than server.write_timeout 2m0s`}},
		{"share above 1", "shadow.sample: 1.1", nil, nil,
			[]string{`portico.yaml:1: shadow.sample: "1.1" must be a share from 0 to 1, such as 0.01`}},
		{"no combination check with an invalid value", "ops: {listen: 0.0.0.0:9464, token: short}", nil, nil,
			[]string{`portico.yaml:1: ops.token: value must be 16 to 256 printable ASCII characters without blanks`}},

		{"all at once", "dialect: french\nstock.manage: yes\ncolour: red",
			[]string{"PORTICO_LISTEN=8080", "PORTICO_LOGLEVEL=warn", "PORTICO_OPS_LISTEN=:9464"}, []string{"--log-format=xml"},
			[]string{
				`portico.yaml:3: colour: unknown setting`,
				`portico.yaml:1: dialect: "french" must be one of documented, magento, openmage`,
				`portico.yaml:2: stock.manage: "yes" must be true or false`,
				`environment PORTICO_LOGLEVEL: unknown variable; did you mean PORTICO_LOG_LEVEL?`,
				`environment PORTICO_LISTEN: listen: "8080" must be host:port such as 127.0.0.1:8080, [::1]:8080 or :8080`,
				`flag --log-format: log.format: "xml" must be one of text, json`,
				`default: ops.token: must be set, because ops.listen :9464 is not a loopback address`,
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := writeFile(t, tt.file)
			from := config.Sources{Sections: adapterSections(), Environ: tt.environ, Flags: parseFlags(t, tt.flags...)}
			if tt.file != "" {
				from.File = file
			}
			got, err := config.Load(from)
			var faults config.Faults
			if !errors.As(err, &faults) || got != nil {
				t.Fatalf("Load returned (%v, %v), want faults alone", got, err)
			}
			var lines []string
			for _, f := range faults {
				lines = append(lines, f.String())
			}
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "open-sesame") {
				t.Errorf("a secret shows in %q", err)
			}
		})
	}
}

func TestFaultsAreCut(t *testing.T) {
	file := writeFile(t, strings.Repeat("x", 300)+": 1\n"+manyNames(60))
	_, err := config.Load(config.Sources{Sections: adapterSections(), File: file})
	if err == nil {
		t.Fatal("unknown names were accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 52 || lines[0] != "faults in the configuration: 61" || lines[51] != "  and 11 more" {
		t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

func manyNames(count int) string {
	var text strings.Builder
	for i := range count {
		text.WriteString("unknown" + strings.Repeat("o", i) + ": 1\n")
	}
	return text.String()
}

func TestValidate(t *testing.T) {
	c, err := config.Load(config.Sources{Sections: adapterSections()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatalf("a loaded configuration: %v", err)
	}
	c.OpsListen = "10.0.0.1:9464"
	c.Server.ReadTimeout = time.Second
	want := config.Faults{
		{Setting: "ops.token", Problem: "must be set, because ops.listen 10.0.0.1:9464 is not a loopback address"},
		{Setting: "server.read_header_timeout", Problem: "must not be longer than server.read_timeout 1s"},
	}
	if diff := cmp.Diff(error(want), c.Validate()); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// FuzzLoad loads hostile files and variables. It checks that an accepted configuration is
// equal after every value is set by its environment variable instead, and every table
// entry from its row.
func FuzzLoad(f *testing.F) {
	f.Add("", "PORTICO_LISTEN", ":0")
	f.Add("listen: 127.0.0.1:8080\nlog: {level: warn}\n", "PORTICO_LOG_LEVEL", "debug")
	f.Add("trusted_proxies:\n  - 10.0.0.0/8\n  - ::1\n", "PORTICO_SQL_DSN", "postgres://u:p@h/d")
	f.Add("stock: {min_qty: -0.5, backorders: 2, manage: false}", "PORTICO_STOCK_NOTIFY_QTY", "007")
	f.Add("a: &a [x]\nb: *a\n", "PORTICO_PORT_80_TCP", "tcp://10.0.0.1:80")
	f.Add("store: {timezone: ../../etc/passwd}", "PORTICO_STORE_TIMEZONE", "Local")
	f.Add("public_url: http://[::1]:80/\n---\n", "PORTICO_PUBLIC_URL", "https://example.com//")
	f.Add("attributes:\n- {resource: products, name: a, kind: text, roles: [guest], views: single}\nfields:\n- {resource: orders, role: admin, read: [a, 'b c'], write: []}\n", "PORTICO_X", "")
	path := filepath.Join(f.TempDir(), "portico.yaml")
	f.Fuzz(func(t *testing.T, text, variable, value string) {
		if strings.HasSuffix(variable, "_FILE") || strings.HasPrefix(variable, "PORTICO_CONFIG") {
			return // it would read a file of the machine
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		first, err := config.Load(config.Sources{Sections: adapterSections(), File: path, Environ: []string{variable + "=" + value}})
		if err != nil {
			if _, ok := errors.AsType[config.Faults](err); !ok || len(err.Error()) == 0 {
				t.Fatalf("error %T", err)
			}
			return
		}
		again := config.Sources{Sections: adapterSections()}
		entries := map[string][]string{}
		for _, r := range first.Rows() {
			if table, _, ok := strings.Cut(r.Name, "["); ok {
				entries[table] = append(entries[table], "- "+r.Value+"\n")
			} else if !r.Secret && r.Environment != "" {
				again.Environ = append(again.Environ, r.Environment+"="+r.Value)
			}
		}
		again.Environ = append(again.Environ, "PORTICO_OPS_TOKEN="+first.OpsToken)
		again.File = path
		text = ""
		for table, list := range entries {
			text += table + ":\n" + strings.Join(list, "")
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		second, err := config.Load(again)
		if err != nil {
			t.Fatalf("values that were accepted are refused: %v", err)
		}
		second.Auth, second.Sections = first.Auth, first.Sections
		if diff := cmp.Diff(first, second, compareConfigs()...); diff != "" {
			t.Errorf("a second load differs:\n%s", diff)
		}
	})
}
