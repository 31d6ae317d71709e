//go:build linux

package trial

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"database/sql"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// A shop is a store behind replicas of Portico that share a Redis, each a process.
type shop struct {
	tb       testing.TB
	engine   string
	redis    *apptest.Redis
	database *sql.DB // of PostgreSQL, or nil
	replicas []*apptest.Process
	client   http.Client
	hosts    atomic.Int64
}

// newShop starts a shop on an engine, with more settings in environ.
func newShop(tb testing.TB, engine string, replicas int, environ ...string) *shop {
	tb.Helper()
	s := &shop{tb: tb, engine: engine, redis: apptest.NewRedis(tb, "--appendonly", "no")}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	tb.Cleanup(transport.CloseIdleConnections)
	s.client = http.Client{Transport: transport, Timeout: apptest.WaitTimeout}
	dsn := ""
	if engine == "postgres" {
		server := sqltest.StartPostgres(tb)
		dsn = server.Database("shop")
		sqltest.Exec(tb, dsn, "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
		server.Kill()
		server.Start()
		sqltest.Exec(tb, dsn, "CREATE EXTENSION pg_stat_statements")
		loadCatalog(tb, dsn)
		s.database = sqltest.Raw(tb, dsn)
	} else {
		dsn = "sqlite:" + filepath.Join(tb.TempDir(), "shop.db")
		loadCatalog(tb, dsn)
	}
	environ = append([]string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + tb.TempDir(), "PORTICO_LOG_LEVEL=error", "PORTICO_CACHE_REDIS_URL=" + s.redis.URL(),
		// A busy machine must not change what is counted.
		"PORTICO_CACHE_TIMEOUT=5s"}, environ...)
	for range replicas {
		s.replicas = append(s.replicas, apptest.Start(tb, environ))
	}
	return s
}

// A call is a request of a kind. A Guest's has no body and no signature.
type call struct {
	method, path, body string
	signed             bool
	host               string // of the request: each has replies of its own
}

// newHost returns a host for which no reply is cached.
func (s *shop) newHost() string { return "shop" + strconv.FormatInt(s.hosts.Add(1), 10) + ".example" }

// send sends a call to a replica, and returns the size of the reply and how the cache answered it.
func (s *shop) send(ctx context.Context, replica int, c call) (size int, outcome string, err error) {
	path := "/api/rest" + c.path
	request, err := http.NewRequestWithContext(ctx, c.method, s.replicas[replica].Contract+path, strings.NewReader(c.body))
	if err != nil {
		return 0, "", err
	}
	request.Host = c.host
	request.Header.Set("Accept", "application/json")
	if c.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.signed {
		request.Header.Set("Authorization", signature(c.method, "http://"+c.host+path))
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return 0, "", err
	}
	if response.StatusCode/100 != 2 {
		return 0, "", fmt.Errorf("%s %s: %d %s", c.method, c.path, response.StatusCode, body)
	}
	return len(body), response.Header.Get("X-Cache"), nil
}

// signature returns the Authorization header of the demo store's administrator.
func signature(method, address string) string {
	of := func(letter string) string { return strings.Repeat(letter, 32) }
	parameters := url.Values{
		"oauth_consumer_key": {of("a")}, "oauth_token": {of("c")}, "oauth_signature_method": {"HMAC-SHA1"}, "oauth_version": {"1.0"},
		"oauth_nonce": {rand.Text()}, "oauth_timestamp": {strconv.FormatInt(time.Now().Unix(), 10)},
	}
	mac := hmac.New(sha1.New, []byte(of("b")+"&"+of("d")))
	mac.Write([]byte(method + "&" + url.QueryEscape(address) + "&" + url.QueryEscape(parameters.Encode())))
	parameters.Set("oauth_signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return "OAuth " + strings.ReplaceAll(parameters.Encode(), "&", ", ")
}

// sendAll sends n calls, workers at a time, to replica 0. It returns the mean size of the replies.
func (s *shop) sendAll(n, workers int, next func() call) float64 {
	s.tb.Helper()
	var sent, size atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for sent.Add(1) <= int64(n) {
				got, _, err := s.send(s.tb.Context(), 0, next())
				if err != nil {
					s.tb.Error(err)
					return
				}
				size.Add(int64(got))
			}
		})
	}
	all.Wait()
	return float64(size.Load()) / float64(n)
}

// A usage is what servers have used so far: processor times in microseconds, and counts.
type usage struct {
	portico, database, redis         float64
	statements, commands, roundTrips float64
}

// minus returns the difference of two usages for each of n requests.
func (u usage) minus(before usage, n float64) usage {
	return usage{(u.portico - before.portico) / n, (u.database - before.database) / n, (u.redis - before.redis) / n,
		(u.statements - before.statements) / n, (u.commands - before.commands) / n, (u.roundTrips - before.roundTrips) / n}
}

// usage reads what the servers have used. Its own commands to Redis are not counted.
func (s *shop) usage() (u usage) {
	s.tb.Helper()
	for _, p := range s.replicas {
		u.portico += processorTime(s.tb, p.Cmd.Process.Pid)
		metrics := apptest.ScrapeMetrics(s.tb, p.Ops)
		u.roundTrips += metrics.Sum("portico_redis_commands_total", `!operation="ping"`, `!operation="subscribe"`)
	}
	if s.database != nil {
		u.database = s.databaseTime()
		row := s.database.QueryRowContext(s.tb.Context(), "SELECT COALESCE(SUM(calls), 0) FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%'")
		if err := row.Scan(&u.statements); err != nil {
			s.tb.Fatal(err)
		}
	}
	processor, commands := s.info("cpu"), s.info("commandstats")
	u.redis = 1e6 * (processor["used_cpu_user"] + processor["used_cpu_sys"])
	for name, calls := range commands {
		if command, ok := strings.CutPrefix(name, "cmdstat_"); ok && command != "info" && command != "ping" {
			u.commands += calls
		}
	}
	return u
}

// info returns the numbers of a section of Redis's INFO. Of a list it takes the first, the calls.
func (s *shop) info(section string) map[string]float64 {
	s.tb.Helper()
	conn := dialRedis(s.tb, s.redis.Address)
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "INFO %s\r\nQUIT\r\n", section); err != nil {
		s.tb.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		s.tb.Fatal(err)
	}
	found := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value, _, _ = strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = n
		}
	}
	return found
}

// ticksPerSecond is the unit of processor times in /proc (USER_HZ), which is the same on all
// platforms that Go runs on.
const ticksPerSecond = 100

// processorTime returns the processor time of a process in microseconds.
func processorTime(tb testing.TB, pid int) float64 {
	tb.Helper()
	own, _, _, err := processTimes(pid)
	if err != nil {
		tb.Fatal(err)
	}
	return own
}

// processTimes returns the processor time of a process and of its children that have ended, in
// microseconds, and its parent.
func processTimes(pid int) (own, children float64, parent int, err error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, 0, 0, err
	}
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, '('):]), ") ")
	fields := strings.Fields(rest) // from the third on: state ppid … utime stime cutime cstime
	number := func(i int) float64 {
		n, _ := strconv.ParseFloat(fields[i-3], 64)
		return n
	}
	const micros = 1e6 / ticksPerSecond
	return micros * (number(14) + number(15)), micros * (number(16) + number(17)), int(number(4)), nil
}

// databaseTime returns the processor time of all processes of the database server.
func (s *shop) databaseTime() (total float64) {
	s.tb.Helper()
	var backend int
	if err := s.database.QueryRowContext(s.tb.Context(), "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		s.tb.Fatal(err)
	}
	_, _, main, err := processTimes(backend)
	if err != nil {
		s.tb.Fatal(err)
	}
	own, ended, _, err := processTimes(main)
	if err != nil {
		s.tb.Fatal(err)
	}
	total = own + ended
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, folder := range all {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		if own, _, parent, err := processTimes(pid); err == nil && parent == main { // others may have ended
			total += own
		}
	}
	return total
}
