//go:build linux

package app

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/doctor"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestDoctorRedis examines a Redis that evicts nothing, one without a memory limit, and a missing
// one.
func TestDoctorRedis(t *testing.T) {
	t.Parallel()
	redis := apptest.NewRedis(t)
	commands, _ := demoStore(t)
	commands = commands.With("PORTICO_CACHE_REDIS_URL=" + strings.Replace(redis.URL(), "//", "//:swordfish@", 1))
	redis.Command("CONFIG SET requirepass swordfish")
	requireFinding(t, runDoctor(t, commands), "Redis memory", doctor.Warning, "is not limited")
	other := commands.With("PORTICO_CACHE_REDIS_URL=" + redis.URL())
	requireFinding(t, runDoctor(t, other), "Redis", doctor.Fault, "NOAUTH")
	requireFinding(t, runDoctor(t, commands.With("PORTICO_CACHE_REDIS_URL=redis://:swordfish-2@"+redis.Address)), "Redis", doctor.Fault, "WRONGPASS")
	redis.Kill()
	requireFinding(t, runDoctor(t, commands), "Redis", doctor.Fault, "connection refused")
	redis.Start()
	redis.Command("CONFIG SET maxmemory 64mb")
	requireFinding(t, runDoctor(t, other), "Redis memory", doctor.Warning, "nothing is evicted")
}

// newShop returns the URL of a legacy store that gives every call the same reply, with the time of
// now.
func newShop(t *testing.T, now func() time.Time, status int, mediaType, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", now().UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Type", mediaType)
		answer := status
		if r.Header.Get("Authorization") == "" && status == http.StatusUnauthorized {
			answer = http.StatusForbidden
		}
		w.WriteHeader(answer)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// newTLSServer returns a server with a certificate of an unknown authority.
func newTLSServer(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients end handshakes
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// TestDoctorOldShop examines legacy stores that give other replies, or have another time.
func TestDoctorOldShop(t *testing.T) {
	t.Parallel()
	const refused = `{"messages":{"error":[{"code":401,"message":"oauth_problem=timestamp_refused"}]}}`
	ahead := func(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }
	commands, _ := demoStore(t)
	for _, tt := range []struct {
		name, url string
		check     string
		level     doctor.Level
		want      string
	}{
		{"Guests refused", newShop(t, time.Now, 403, "application/json", `{"messages":{"error":[{"code":403}]}}`), "legacy store", doctor.OK, "as a Guest: 403"},
		{"a page", newShop(t, time.Now, 200, "text/html; charset=utf-8", "<html>Welcome"), "legacy store", doctor.Fault, `status 200, of type "text/html"`},
		{"another interface", newShop(t, time.Now, 404, "application/json", `{"error":"not found"}`), "legacy store", doctor.Fault, "without messages of the interface"},
		{"elsewhere", newShop(t, time.Now, 301, "text/html", ""), "legacy store", doctor.Fault, "redirects calls"},
		{"closed", newShop(t, time.Now, 503, "text/html", ""), "legacy store", doctor.Fault, "cannot answer calls now (status 503)"},
		{"not there", "http://" + testenv.FreeAddress(t), "legacy store", doctor.Fault, "connection refused"},
		{"a little ahead", newShop(t, ahead(2*time.Minute+30*time.Second), 200, "application/json", "[]"), "legacy store clock", doctor.Warning, "2m…s ahead of this machine's"},
		{"far behind", newShop(t, ahead(-time.Hour-30*time.Second), 200, "application/json", "[]"), "legacy store clock", doctor.Fault, "1h0m3…s behind this machine's; timestamps of signed calls may be 10m0s ahead"},
		{"credentials accepted", newShop(t, time.Now, 200, "application/json", "[]"), "legacy store credentials", doctor.OK, "accepted"},
		{"credentials refused", newShop(t, time.Now, 401, "application/json", refused), "legacy store credentials", doctor.Fault, "status 401, timestamp_refused"},
		{"credentials without rights", newShop(t, time.Now, 403, "application/json", refused), "legacy store credentials", doctor.Warning, "may not read products"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := runDoctor(t, commands.With(apptest.LegacyConsumer()...).With("PORTICO_LEGACY_URL="+tt.url))
			for part := range strings.SplitSeq(tt.want, "…") { // in place of seconds, which the call may take
				requireFinding(t, r, tt.check, tt.level, part)
			}
		})
	}
	t.Run("untrusted", func(t *testing.T) {
		shop := newTLSServer(t, http.NotFoundHandler())
		r := runDoctor(t, commands.With("PORTICO_LEGACY_URL="+shop.URL))
		requireFinding(t, r, "legacy store certificate", doctor.Fault, "unknown authority")
		requireFinding(t, r, "legacy store", doctor.Fault, "unknown authority")
	})
}

// TestDoctorFollow examines databases of legacy stores.
func TestDoctorFollow(t *testing.T) {
	t.Parallel()
	commands, _ := demoStore(t)
	requireFinding(t, runDoctor(t, commands.With("PORTICO_FOLLOW_DSN=mysql:u:swordfish@tcp("+testenv.FreeAddress(t)+")/old")), "followed database", doctor.Fault, "connection refused")
	requireFinding(t, runDoctor(t, commands.With("PORTICO_FOLLOW_DSN="+sqltest.MariaDB(t))), "followed database", doctor.Warning, `log_bin`)
}

// TestDoctorLegacySettings compares settings with the configuration of a legacy store. The
// differences come in the order in which they hurt.
func TestDoctorLegacySettings(t *testing.T) {
	t.Parallel()
	const check = "settings of the legacy store"
	dsn, db := magento1test.NewShop(t, magento1test.Rich, "")
	magento1test.Break(t, db, "DELETE FROM core_config_data WHERE path = 'cataloginventory/options/show_out_of_stock'",
		"REPLACE INTO core_config_data (scope, scope_id, path, value) VALUES ('default', 0, 'general/locale/timezone', 'Europe/Berlin'), ('default', 0, 'tax/calculation/based_on', '')")
	commands, _ := demoStore(t)
	commands = commands.With("PORTICO_FOLLOW_DSN="+dsn, "PORTICO_STOCK_MIN_QTY=1.0000", "PORTICO_CUSTOMERS_COUNTRIES=US,CA", "PORTICO_STORE_TAX_CLASSES=0,1,2,3,4,5,6,7,8,9,77")
	r := runDoctor(t, commands)
	requireFinding(t, r, check, doctor.Warning, `customers.countries is "US,CA", and "" in the legacy store`)
	requireFinding(t, r, check, doctor.Warning, `store.timezone is "UTC", and "Europe/Berlin" in the legacy store (from core_config_data default 0 general/locale/timezone)`)
	requireFinding(t, r, check, doctor.Warning, `stock.hide_sold_out is "false", and "true" in the legacy store (from built-in default of cataloginventory/options/show_out_of_stock)`)
	requireFinding(t, r, check, doctor.Warning, `store.tax_based_on is "shipping", and "" in the legacy store, a value that the setting cannot have (from core_config_data default 0 tax/calculation/based_on)`)
	requireFinding(t, r, check, doctor.Warning, `attributes lacks the entry {resource: products, name: size`)
	var order []string
	for _, f := range r.Findings {
		if f.Check == check {
			name, _, _ := strings.Cut(f.Found, " ")
			order = append(order, name)
		}
	}
	zone, hidden, notify := slices.Index(order, "store.timezone"), slices.Index(order, "stock.hide_sold_out"), slices.Index(order, "stock.notify_qty")
	if zone != 0 || hidden != 1 || notify < 2 || slices.Contains(order, "stock.min_qty") || slices.Contains(order, "store.tax_classes") {
		t.Errorf("%q", order)
	}
	r = runDoctor(t, commands.With("PORTICO_STORE_TIMEZONE=Europe/Berlin", "PORTICO_STOCK_HIDE_SOLD_OUT=true"))
	for _, f := range r.Findings {
		if f.Check == check && (strings.Contains(f.Found, "timezone") || strings.Contains(f.Found, "hide_sold_out")) {
			t.Errorf("%+v", f)
		}
	}
}

// TestDoctorBackend examines backends.
func TestDoctorBackend(t *testing.T) {
	t.Parallel()
	commands, _ := demoStore(t)
	mapping := apptest.NewFile(t, "people.yaml", apptest.PeopleMapping)
	good := httptest.NewServer(&apptest.People{})
	defer good.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refusing.Close()
	secure := newTLSServer(t, &apptest.People{})
	for _, tt := range []struct {
		name, url, mapping string
		check              string
		level              doctor.Level
		want               string
	}{
		{"good", good.URL, mapping, "backend", doctor.OK, "answers"},
		{"refused", refusing.URL, mapping, "backend", doctor.Fault, "401"},
		{"not there", "http://" + testenv.FreeAddress(t), mapping, "backend", doctor.Fault, "connection refused"},
		{"a faulty mapping", good.URL, filepath.Join("doctor_test.go"), "backend", doctor.Fault, "doctor_test.go"},
		{"no mapping", good.URL, "./nowhere.yaml", "backend", doctor.Fault, "rest.mapping"},
		{"untrusted", secure.URL, mapping, "backend certificate", doctor.Fault, "unknown authority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := runDoctor(t, commands.With("PORTICO_ADAPTER=rest", "PORTICO_REST_URL="+tt.url, "PORTICO_REST_MAPPING="+tt.mapping, "PORTICO_REST_SECRET=swordfish"))
			for part := range strings.SplitSeq(tt.want, "…") { // in place of seconds, which the call may take
				requireFinding(t, r, tt.check, tt.level, part)
			}
		})
	}
}
