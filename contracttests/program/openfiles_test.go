//go:build linux

package program

import (
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestFewOpenFiles checks that a process that may open few files logs its limit of connections, and
// that clients cannot take the files that the operators' port and the store need.
func TestFewOpenFiles(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{64: 16, 100: 25, 256: 64} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			p := apptest.StartProgram(t, []string{apptest.FastPasswordHashing, "PORTICO_CACHE_MEMORY_BYTES=0"}, "/bin/sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, limit),
				apptest.Program(t), "serve", "--demo", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
			p.AwaitAddresses(t, true)
			said := p.Stderr.Await(t, p, "msg=started")
			warned, _, _ := strings.Cut(said, "msg=started")
			for _, text := range []string{"level=WARN", "server.max_connections", fmt.Sprintf("connections=%d max_connections=4096 open_files=%d", want, limit)} {
				if !strings.Contains(warned, text) {
					t.Errorf("no %q in\n%s", text, warned)
				}
			}
			for range 150 {
				conn, err := net.Dial("tcp", addressOf(p.Contract))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if _, err := io.WriteString(conn, "GET /api/rest/products HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
			}
			testenv.Await(t, "as many requests are answered", func() bool {
				return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_requests_total") == float64(want)
			})
			for range 3 {
				for path, want := range map[string]string{"/readyz": "ready\n", "/metrics": "portico_requests_total"} {
					if got := apptest.Send(t, http.MethodGet, p.Ops+path, ""); got.Status != http.StatusOK || !strings.Contains(got.Body, want) {
						t.Errorf("%s answers %d %.100q", path, got.Status, got.Body)
					}
				}
			}
			for _, text := range []string{"too many open files", "unable to open"} {
				if said := p.Stderr.Text(); strings.Contains(said, text) {
					t.Errorf("%q in\n%s", text, said)
				}
			}
		})
	}
}
