//go:build linux

package speed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server is a running process that is measured.
type server struct {
	address string // host and port
	pid     int
	ops     string // base URL of the operators' port; "" for a floor
	sent    int    // number of requests that a load generator of ours has sent
}

// startPortico starts "portico serve" with the settings of environ.
func startPortico(b testing.TB, environ []string, arguments ...string) *server {
	b.Helper()
	return startServe(b, testenv.Self(b, porticoProgram), environ, arguments...)
}

// startServe is startPortico for another program. Its log goes to a file, as to the pipe of a service manager,
// whose reader is another process.
func startServe(b testing.TB, program string, environ []string, arguments ...string) *server {
	b.Helper()
	log, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = log.Close() })
	cmd := exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, arguments...)...)
	cmd.Env = append(append(apptest.WithoutSettings(os.Environ()), "TMPDIR="+b.TempDir()), environ...)
	cmd.Dir, cmd.Stderr = b.TempDir(), log
	s := &server{}
	said := startAndRead(b, cmd, "/readyz)")
	words := strings.Fields(said)
	for i, word := range words[:len(words)-1] {
		switch word {
		case "contract":
			s.address = strings.TrimSuffix(strings.TrimPrefix(words[i+1], "http://"), "/api/rest")
		case "operations":
			s.ops = words[i+1]
		}
	}
	s.pid = cmd.Process.Pid
	if s.address == "" {
		b.Fatalf("no address in %q", said)
	}
	return s
}

// startFloor starts a floor.
func startFloor(b testing.TB, f floor) *server {
	b.Helper()
	settings, err := json.Marshal(f)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(testenv.Self(b, floorProgram))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(settings), os.Stderr
	address := strings.TrimSpace(startAndRead(b, cmd, "\n"))
	return &server{address: address, pid: cmd.Process.Pid}
}

// startAndRead starts a program and returns its output up to a line with the text until. It
// discards the output after that.
func startAndRead(b testing.TB, cmd *exec.Cmd, until string) string {
	b.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	testenv.StartProgram(b, cmd)
	lines, said := bufio.NewReader(out), ""
	for !strings.Contains(said, until) {
		line, err := lines.ReadString('\n')
		if said += line; err != nil {
			b.Fatalf("%s ends after %q: %v", filepath.Base(cmd.Path), said, err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return said
}

// startDaemon starts a server program that listens on address, and waits until it does.
func startDaemon(b testing.TB, cmd *exec.Cmd, address string) *server {
	b.Helper()
	ended := testenv.StartProgram(b, cmd)
	b.Cleanup(func() { // or its children would go on
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	testenv.Await(b, "a server at "+address, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return &server{address: address, pid: cmd.Process.Pid}
}

// processorTime returns the processor time that the server and its children have used.
func (s *server) processorTime(b testing.TB) time.Duration {
	b.Helper()
	total := time.Duration(0)
	for pids := []int{s.pid}; len(pids) > 0; pids = pids[1:] {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[0]))
		if err != nil {
			b.Fatal(err)
		}
		const tick = 10 * time.Millisecond // USER_HZ is 100 on all architectures that Go supports
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, at := range []int{11, 12} { // time in user mode and in the kernel, after two fields that are cut
			ticks, err := strconv.Atoi(fields[at])
			if err != nil {
				b.Fatal(err)
			}
			total += time.Duration(ticks) * tick
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pids[0], pids[0]))
		if err != nil {
			b.Fatal(err)
		}
		for _, child := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				b.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return total
}

// A request is the request that the load generator repeats.
type request struct {
	method, path string
	header       map[string]string
	// bodies are sent in turn, one for each request; nil: requests have none.
	bodies []string
	paths  []string // in place of path, in turn, as bodies are; nil: all requests have the same
	status int      // of every reply; 0 means 200
}

// get returns a request for JSON.
func get(path string) request {
	return request{method: http.MethodGet, path: path, header: map[string]string{"Accept": "application/json"}}
}

// with returns r with another header.
func (r request) with(name, value string) request {
	r.header = maps.Clone(r.header)
	r.header[name] = value
	return r
}

// asAdmin returns r as sent by the demo store's administrator.
func (r request) asAdmin() request { return r.with("Authorization", apptest.DemoAdmin()) }

// write returns a request with bodies.
func write(method, path string, bodies ...string) request {
	r := get(path).asAdmin().with("Content-Type", "application/json")
	r.method, r.bodies = method, bodies
	return r
}

// reply sends r once.
func (s *server) reply(b testing.TB, r request) (header http.Header, body string) {
	b.Helper()
	var content io.Reader
	if len(r.bodies) > 0 {
		content = strings.NewReader(r.bodies[0])
	}
	q, err := http.NewRequestWithContext(b.Context(), r.method, "http://"+s.address+r.path, content)
	if err != nil {
		b.Fatal(err)
	}
	for name, value := range r.header {
		q.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		b.Fatal(err)
	}
	read := apptest.ReadReply(b, response)
	if read.Status != max(r.status, http.StatusOK) {
		b.Fatalf("%s %s: %d %.300s", r.method, r.path, read.Status, read.Body)
	}
	return read.Header, read.Body
}

// The parts that differ between two replies to the same request: the key of a form, the address
// of the server, and the address of the page in a link that is encoded.
var differing = regexp.MustCompile(`form_key\\/[A-Z2-7]+|127\.0\.0\.1:[0-9]+|uenc\\/[A-Za-z0-9_,-]+`)

// compareReplies fails unless the two servers give the same reply.
func compareReplies(b testing.TB, portico, floor *server, r request) {
	b.Helper()
	_, got := portico.reply(b, r)
	_, want := floor.reply(b, r)
	if got, want = differing.ReplaceAllString(got, ""), differing.ReplaceAllString(want, ""); got != want {
		b.Fatalf("the servers answer differently:\n%.2000s\n%.2000s", got, want)
	}
}
