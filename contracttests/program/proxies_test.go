package program

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A frontProxy is a proxy that the guide PROXIES.md configures.
type frontProxy struct {
	program string
	file    string // in config/proxies
	// arguments run the configuration in a file, whose folder is the proxy's.
	arguments func(folder, file string) []string
	// around is a configuration that includes the file, where %s is its path. It makes an ordinary user
	// able to run the proxy.
	around string
	// hasGap: a replica may start again that the proxy has not noticed while it notices that the other ends.
	hasGap bool
	// withDefaults are pairs of a text and its replacement: they remove what the guide explains.
	withDefaults []string
}

// frontProxies returns the proxies by their names.
func frontProxies() map[string]frontProxy {
	return map[string]frontProxy{
		"nginx": {program: "nginx", file: "nginx.conf",
			arguments: func(folder, file string) []string { return []string{"-p", folder, "-c", file, "-e", "stderr"} },
			around: `daemon off; user root; pid pid; error_log stderr; events {}
http { access_log off; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e; include %s; }`,
			withDefaults: []string{" max_fails=0", "", "  keepalive 32;\n", "", "  keepalive_timeout 2s;", ""}},
		"haproxy": {program: "haproxy", file: "haproxy.cfg",
			arguments:    func(_, file string) []string { return []string{"-db", "-f", file} },
			withDefaults: []string{"  option redispatch 1\n", "", "  option httpchk GET /readyz\n", "", "  default-server check inter 500ms fall 3 rise 1\n", ""}},
		"caddy": {program: "caddy", file: "Caddyfile", hasGap: true,
			arguments:    func(_, file string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
			around:       "{\n\tadmin off\n\tauto_https disable_redirects\n}\nimport %s\n",
			withDefaults: []string{"\t\tlb_try_duration 5s\n\t\thealth_uri /readyz\n\t\thealth_port 9464\n\t\thealth_interval 500ms\n", "", "\t\t\tkeepalive 2s\n", ""}},
	}
}

// TestRollingRestartBehindNginx is TestRollingRestarts in the size of every change.
func TestRollingRestartBehindNginx(t *testing.T) {
	t.Parallel()
	s := newProxiedShop(t, frontProxies()["nginx"])
	s.checkForwarding(t)
	if failed, calls := s.restart(t, 1, false); failed > 0 {
		t.Errorf("%d of %d calls failed", failed, calls)
	}
}

// TestRollingRestarts restarts two replicas behind each proxy with the settings of the guide, one after the
// other, while clients read and write: no call fails. With the defaults of the proxy and of Portico it
// counts the failures.
func TestRollingRestarts(t *testing.T) {
	testenv.OnlyNightly(t, "proxies")
	for name, p := range frontProxies() {
		t.Run(name, func(t *testing.T) {
			s := newProxiedShop(t, p)
			s.checkForwarding(t)
			failed, calls := s.restart(t, 20, p.hasGap)
			if failed > 0 {
				t.Errorf("%d of %d calls failed", failed, calls)
			}
			s.drainDelay = "0s"
			s.startProxy(t, p, p.withDefaults...)
			lost, all := s.restart(t, 5, false)
			t.Logf("%d of %d calls failed in 20 rolling restarts; with the defaults %d of %d in 5", failed, calls, lost, all)
		})
	}
}

// A proxiedShop is a shop of two replicas behind a proxy that ends TLS.
type proxiedShop struct {
	environ       []string
	drainDelay    string
	contract, ops [2]string // addresses of the replicas
	replicas      [2]*apptest.Process
	pair          apptest.KeyPair
	base          string // URL of the proxy
}

// newProxiedShop starts the replicas and the proxy.
func newProxiedShop(t *testing.T, p frontProxy) *proxiedShop {
	t.Helper()
	testenv.Need(t, p.program)
	s := &proxiedShop{
		environ:    []string{"PORTICO_SQL_DSN=" + demotest.SQLite(t), "PORTICO_TRUSTED_PROXIES=127.0.0.1"},
		drainDelay: "3s", pair: apptest.NewKeyPair(t, 1),
	}
	contract, ops := portOf(t, testenv.FreeAddress(t)), portOf(t, testenv.FreeAddress(t))
	for i, host := range []string{"127.0.0.1", "127.0.0.2"} { // as Caddy asks for the health of all replicas at one port
		s.contract[i], s.ops[i] = net.JoinHostPort(host, contract), net.JoinHostPort(host, ops)
		s.start(t, i, "info")
	}
	s.startProxy(t, p)
	return s
}

// start starts a replica, at the same address as before, and waits until it is ready.
func (s *proxiedShop) start(t *testing.T, i int, logLevel string) {
	t.Helper()
	environ := append([]string{"PORTICO_SERVER_DRAIN_DELAY=" + s.drainDelay, "PORTICO_LOG_LEVEL=" + logLevel}, s.environ...)
	s.replicas[i] = apptest.Launch(t, environ, "--listen", s.contract[i], "--ops-listen", s.ops[i])
	s.replicas[i].AwaitAddresses(t, false)
	testenv.Await(t, "the readiness of a replica", func() bool { return isReady(s.replicas[i]) })
}

// startProxy starts a proxy with its file of config/proxies, for the addresses and the certificate of the
// test and with other changes, which are pairs of a text and its replacement.
func (s *proxiedShop) startProxy(t *testing.T, p frontProxy, changes ...string) {
	t.Helper()
	address, folder := testenv.FreeAddress(t), t.TempDir()
	keys := apptest.NewKeyFolder(t, s.pair)
	both := filepath.Join(folder, "tls.pem")
	apptest.WriteFile(t, both, string(s.pair.Cert)+string(s.pair.Key))
	text := apptest.ReadFile(t, filepath.Join(testenv.Root(t), "config", "proxies", p.file))
	pairs := append([]string{"/etc/haproxy/tls.pem", both, "/etc/nginx/tls.crt", keys.Cert, "/etc/nginx/tls.key", keys.Key, "/etc/caddy/tls.crt", keys.Cert, "/etc/caddy/tls.key", keys.Key,
		"127.0.0.1:8080", s.contract[0], "127.0.0.1:8081", s.contract[1], "10.0.0.11:8080", s.contract[0], "10.0.0.12:8080", s.contract[1], "port 9464", "port " + portOf(t, s.ops[0]), "port 9465", "port " + portOf(t, s.ops[1]),
		"listen 443", "listen " + address, "bind :443", "bind " + address, "shop.example.com {", "https://" + address + " {"}, changes...)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("%s has no %q", p.file, changes[i])
		}
	}
	file := filepath.Join(folder, p.file)
	apptest.WriteFile(t, file, strings.NewReplacer(pairs...).Replace(text))
	if p.around != "" {
		around := filepath.Join(folder, "around")
		apptest.WriteFile(t, around, fmt.Sprintf(p.around, file))
		file = around
	}
	running := apptest.StartProgram(t, []string{"HOME=" + folder, "XDG_DATA_HOME=" + folder, "XDG_CONFIG_HOME=" + folder}, p.program, p.arguments(folder, file)...)
	t.Cleanup(func() { // or its children would go on
		running.Signal(t, syscall.SIGTERM)
		<-running.Ended
	})
	testenv.Await(t, "the proxy", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	s.base = "https://" + address
}

// portOf returns the port of an address.
func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// client returns a client of the shop that trusts its certificate.
func (s *proxiedShop) client(t *testing.T, authorization string) *apptest.Client {
	t.Helper()
	return &apptest.Client{Base: s.base, Authorization: authorization, HTTP: *apptest.NewTLSClient(t, &tls.Config{NextProtos: []string{"http/1.1"}}, s.pair)}
}

// checkForwarding checks that Portico gets what the proxy knows of the client, and nothing that the client
// claims, and that the proxy lets Portico refuse a body that is too large.
func (s *proxiedShop) checkForwarding(t *testing.T) {
	t.Helper()
	const path = "/api/rest/stockitems/1"
	for i := range 2 { // one call for each replica
		signed := s.client(t, apptest.SignedHeader(http.MethodGet, s.base+path, fmt.Sprint("nonce", i)))
		if got := signed.Get(t, s.base+path); got.Status != http.StatusOK {
			t.Fatalf("a call that is signed for %s: %d %s", s.base, got.Status, got.Body)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/api/rest/products/1", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header["X-Forwarded-For"] = []string{"192.0.2.9", "192.0.2.10"}
	response, err := s.client(t, "").HTTP.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	id := "request_id=" + apptest.ReadReply(t, response).Header.Get("X-Request-Id") + " "
	testenv.Await(t, "the line of a call that claims another address", func() bool {
		for line := range strings.Lines(s.replicas[0].Stderr.Text() + s.replicas[1].Stderr.Text()) {
			if strings.Contains(line, id) && strings.Contains(line, "client=127.0.0.1") {
				return true
			}
		}
		return false
	})
	large, err := s.client(t, apptest.DemoAdmin()).Call(t.Context(), http.MethodPut, "/stockitems/1", strings.Repeat(" ", 16<<20+1))
	if err != nil || large.Status != http.StatusBadRequest || !strings.Contains(large.Body, `{"messages":`) {
		t.Errorf("a body that is too large: %v %d %s, not the 400 of Portico", err, large.Status, large.Body)
	}
}

// restart restarts the replicas in turn so many times while clients read and write, and with waits goes on only
// when a replica gets calls again. It returns the number of failures among all calls.
func (s *proxiedShop) restart(t *testing.T, rounds int, waits bool) (failed, calls int64) {
	t.Helper()
	const clients, enough = 6, 100 // calls between two steps
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	defer load.Wait()
	defer stop()
	var answered, refused atomic.Int64
	var first sync.Once
	for number := range clients {
		client := s.client(t, apptest.DemoAdmin())
		load.Go(func() {
			for round, tick := 0, pace(); ctx.Err() == nil; round++ {
				method, path, body := http.MethodGet, "/products?limit=5", ""
				switch number % 3 {
				case 1:
					method, path, body = http.MethodPut, fmt.Sprintf("/stockitems/%d", number), fmt.Sprintf(`{"qty":"%d"}`, 10+round%10)
				case 2: // which a proxy must not repeat
					method, path = http.MethodPost, "/customers"
					body = fmt.Sprintf(`{"firstname":"A","lastname":"B","email":"%s-%d-%d@example.com","password":"secret77","website_id":1,"group_id":1}`, portOf(t, strings.TrimPrefix(s.base, "https://")), number, round)
				}
				got, err := client.Call(t.Context(), method, path, body)
				if err != nil || got.Status != http.StatusOK {
					refused.Add(1)
					first.Do(func() { t.Logf("the first failure: %s %s: %d %s (%v)", method, path, got.Status, got.Body, err) })
				}
				answered.Add(1)
				<-tick
			}
		})
	}
	for range rounds {
		for i, p := range s.replicas {
			until := answered.Load() + enough
			testenv.Await(t, "answers", func() bool { return answered.Load() >= until })
			p.Stop(t)
			s.start(t, i, "warn")
			if waits {
				testenv.Await(t, "calls at the replica", func() bool { return apptest.ScrapeMetrics(t, s.replicas[i].Ops).Sum("portico_requests_total") > 0 })
			}
		}
	}
	stop()
	load.Wait()
	return refused.Load(), answered.Load()
}
