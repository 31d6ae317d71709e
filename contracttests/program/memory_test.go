//go:build linux

package program

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

const (
	// maxResident is the memory that the program may use under any attack, in bytes, besides the
	// memory that its cache is given.
	maxResident = 256 << 20
	cacheBytes  = 16 << 20
	// maxAddressGrowth is how much its address space may grow after the start, in bytes. The
	// program crashes if it needs more.
	maxAddressGrowth = 512 << 20
	attackedProducts = 20_000 // products
)

// An attack makes the program use as much memory as it can. run returns while its
// connections are still open.
type attack struct {
	name string
	run  func(*attacker)
}

// attacks returns all attacks.
func attacks() []attack {
	const mib = 1 << 20
	pairs := func(bytes int) string {
		var b strings.Builder
		for i := 0; b.Len() < bytes; i++ {
			fmt.Fprintf(&b, "%x&", i)
		}
		return b.String()
	}
	long := pairs(200 << 10)
	const form = "Content-Type: application/x-www-form-urlencoded"
	const list = "GET /api/rest/products?limit=0&attrs=name,description "
	return []attack{
		{"forms without a name of OAuth's", func(a *attacker) {
			body := pairs(16 * mib)
			a.repeat(6, func(int) { a.exchange("PUT /api/rest/stockitems/1 HTTP/1.1", body, form, "Authorization: OAuth") })
		}},
		{"forms sent slowly", func(a *attacker) {
			a.repeat(400, func(int) {
				a.sendPartialBody("PUT /api/rest/stockitems/1 HTTP/1.1", long[:60<<10], 64<<10, form, "Authorization: OAuth")
			})
		}},
		{"queries as credentials", func(a *attacker) {
			a.repeat(200, func(int) { a.exchange("GET /api/rest/products?"+long+" HTTP/1.1", "", "Authorization: OAuth") })
		}},
		{"queries of Guests", func(a *attacker) {
			a.repeat(200, func(int) { a.exchange("GET /api/rest/products?"+long+" HTTP/1.1", "") })
		}},
		{"nested queries of Guests", func(a *attacker) {
			nested := strings.Repeat("a"+strings.Repeat("[]", 60)+"&", 1500)
			a.repeat(200, func(int) { a.exchange("GET /api/rest/products?"+nested+" HTTP/1.1", "") })
		}},
		{"queries of the consent pages", func(a *attacker) {
			a.repeat(200, func(int) { a.exchange("GET /oauth/authorize?"+long+" HTTP/1.1", "") })
		}},
		{"bodies of strangers sent slowly", func(a *attacker) {
			body := strings.Repeat(" ", 15*mib)
			a.repeat(20, func(int) {
				a.sendPartialBody("PUT /api/rest/stockitems/1 HTTP/1.1", body, 16*mib, "Content-Type: application/json")
			})
		}},
		{"refused bodies whose rest is sent slowly", func(a *attacker) {
			a.repeat(1200, func(int) { a.sendPartialBody("POST /api/rest/products HTTP/1.1", long[:60<<10], 16*mib) })
		}},
		{"bodies of an Admin sent slowly", func(a *attacker) {
			body := strings.Repeat(" ", 15*mib)
			a.repeat(20, func(int) {
				a.sendPartialBody("PUT /api/rest/stockitems/1 HTTP/1.1", body, 16*mib, "Content-Type: application/json", a.admin)
			})
		}},
		{"bodies of an Admin with many values", func(a *attacker) {
			body := "[" + strings.Repeat("{},", 60_000) + "1]"
			a.repeat(20, func(int) {
				a.exchange("PUT /api/rest/stockitems HTTP/1.1", body, "Content-Type: application/json", a.admin)
			})
		}},
		{"headers sent slowly", func(a *attacker) {
			a.repeat(1000, func(int) { a.sendPartialRequest("GET /api/rest/products HTTP/1.1\r\nHost: x\r\nX: " + long) })
		}},
		{"idle connections", func(a *attacker) {
			a.repeat(1000, func(int) { a.open().request("GET /api/rest/products/1 HTTP/1.1", "") })
		}},
		{"lists read slowly over HTTP/1.0", func(a *attacker) {
			a.repeat(20, func(int) { a.open().request(list+"HTTP/1.0", "") })
		}},
		{"lists read slowly over HTTP/1.1", func(a *attacker) {
			a.repeat(100, func(int) { a.open().request(list+"HTTP/1.1", "") })
		}},
		{"pages read slowly", func(a *attacker) {
			a.repeat(300, func(i int) {
				a.open().request(fmt.Sprintf("GET /api/rest/products?limit=100&page=%d HTTP/1.1", i%200), "")
			})
		}},
		{"a cached page read slowly", func(a *attacker) {
			const page = "GET /api/rest/products?limit=%d HTTP/1.1"
			for _, limit := range []int{1, 100} {
				a.exchange(fmt.Sprintf(page, limit), "")
			}
			a.repeat(3500, func(int) { // without a body, on a connection that has been used
				c := a.open()
				for _, limit := range []int{1, 100} {
					_, _ = fmt.Fprintf(c.conn, page+"\r\nHost: x\r\n\r\n", limit)
					if limit == 1 {
						c.readReply()
					}
				}
			})
		}},
	}
}

// TestMemoryUnderAttack checks that no client, with or without credentials, makes the
// program use more memory than it may, and that the program answers others meanwhile.
func TestMemoryUnderAttack(t *testing.T) {
	testenv.OnlyNightly(t, "attacks")
	dir := t.TempDir()
	db, _ := demotest.NewCatalog(t, dir, attackedProducts)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	lengthenDescriptions(t, filepath.Join(dir, "demo.db"))
	for _, attack := range attacks() {
		t.Run(attack.name, func(t *testing.T) {
			p := apptest.Start(t, []string{
				"PORTICO_SQL_DSN=sqlite:" + filepath.Join(dir, "demo.db"), fmt.Sprintf("PORTICO_CACHE_MEMORY_BYTES=%d", cacheBytes), "PORTICO_LOG_LEVEL=error",
			})
			limitAddressSpace(t, p, maxAddressGrowth)
			a := &attacker{t: t, address: strings.TrimPrefix(p.Contract, "http://"), admin: "Authorization: " + apptest.DemoAdmin()}
			defer a.end()
			attack.run(a)
			// Many calls may reach the limit of the upstream for a moment.
			testenv.Await(t, "an Admin is answered", func() bool {
				return apptest.Send(t, "GET", p.Contract+"/api/rest/stockitems/1", "", "Authorization", apptest.DemoAdmin()).Status == http.StatusOK
			})
			testenv.Await(t, "a Guest is answered", func() bool {
				return apptest.Send(t, "GET", p.Contract+"/api/rest/products/1", "").Status == http.StatusOK
			})
			most := p.PeakResident(t)
			t.Logf("at most %d MiB resident; replies: %v", most>>20, a.replies())
			if most > maxResident+cacheBytes {
				t.Errorf("%d bytes were resident, the bound is %d", most, maxResident+cacheBytes)
			}
			select {
			case <-p.Ended:
				t.Errorf("the program has ended: %s", p.Stderr.Text())
			default:
			}
		})
	}
}

// lengthenDescriptions gives every product in the database a description of some
// kilobytes.
func lengthenDescriptions(t *testing.T, path string) {
	t.Helper()
	pool := apptest.OpenStore(t, "sqlite", "file:"+path+"?_pragma=synchronous(OFF)")
	defer func() { _ = pool.Close() }()
	if _, err := pool.ExecContext(t.Context(), "UPDATE product SET description = REPLACE(HEX(ZEROBLOB(3500)), '00', 'ab') WHERE entity_id >= ?", demotest.FirstGeneratedID); err != nil {
		t.Fatal(err)
	}
}

// limitAddressSpace lets the address space of the program grow by more bytes at most.
func limitAddressSpace(t *testing.T, p *apptest.Process, more uint64) {
	t.Helper()
	limit := p.StatusBytes(t, "VmSize") + more
	if err := unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
		t.Fatal(err)
	}
}

// An attacker opens connections and keeps them open.
type attacker struct {
	t       *testing.T
	address string
	admin   string // a header

	mu       sync.Mutex
	held     []*openConn
	statuses map[int]int
}

// An openConn is a connection of an attacker. It sends requests as bytes and need not read
// the replies.
type openConn struct {
	*attacker
	conn net.Conn
}

// repeat calls do n times concurrently.
func (a *attacker) repeat(n int, do func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

// open opens a connection, which stays open until end.
func (a *attacker) open() *openConn {
	conn, err := net.DialTimeout("tcp", a.address, apptest.WaitTimeout)
	if err != nil {
		a.t.Error(err)
		conn, _ = net.Pipe()
	}
	_ = conn.SetDeadline(time.Now().Add(2 * apptest.WaitTimeout))
	c := &openConn{a, conn}
	a.mu.Lock()
	a.held = append(a.held, c)
	a.mu.Unlock()
	return c
}

// end closes all connections.
func (a *attacker) end() {
	for _, c := range a.held {
		_ = c.conn.Close()
	}
}

// sendPartialRequest sends the beginning of a request over a new connection.
func (a *attacker) sendPartialRequest(text string) {
	_, _ = io.WriteString(a.open().conn, text) // the server may close the connection at any moment
}

// sendPartialBody sends a request that announces a body of the given length, and only the
// shorter body.
func (a *attacker) sendPartialBody(line, body string, length int, header ...string) {
	c := a.open()
	head := append([]string{line, "Host: x", "Content-Length: " + strconv.Itoa(length)}, header...)
	_ = c.conn.SetWriteDeadline(time.Now().Add(3 * time.Second)) // data that the program does not read takes none of its memory
	_, _ = io.WriteString(c.conn, strings.Join(head, "\r\n")+"\r\n\r\n"+body)
}

// exchange sends a request over a new connection and reads the reply.
func (a *attacker) exchange(line, body string, header ...string) {
	c := a.open()
	done := make(chan struct{})
	go func() {
		defer close(done)
		response, err := http.ReadResponse(bufio.NewReader(c.conn), nil)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				a.count(-1)
			}
			return
		}
		a.count(response.StatusCode)
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}()
	c.request(line, body, header...)
	<-done
	_ = c.conn.Close()
}

// readReply reads one reply.
func (c *openConn) readReply() {
	reply, err := http.ReadResponse(bufio.NewReader(c.conn), nil)
	if err == nil {
		_, err = io.Copy(io.Discard, reply.Body)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// request sends a request and does not read the reply.
func (c *openConn) request(line, body string, header ...string) {
	head := append([]string{line, "Host: x", "Content-Length: " + strconv.Itoa(len(body))}, header...)
	_, _ = io.WriteString(c.conn, strings.Join(head, "\r\n")+"\r\n\r\n"+body)
}

// count counts a reply by its status.
func (a *attacker) count(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.statuses == nil {
		a.statuses = map[int]int{}
	}
	a.statuses[status]++
}

// replies returns the number of replies by status.
func (a *attacker) replies() map[int]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.statuses
}
