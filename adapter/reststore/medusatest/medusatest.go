//go:build linux

// Package medusatest starts Medusa servers for tests.
//
// # Principles
//
//  1. Starting Medusa takes most of a minute, and minutes when npm has to install it. Tests
//     that need it run only on request: PORTICO_TEST_MEDUSA is 1, or names a file with the
//     output of medusa/start.sh for a running server with an empty shop. Otherwise they are
//     skipped with a message.
//  2. Every server has its own database and folder and listens on a free loopback port.
//  3. However the test binary ends, the server ends with it and its folder is removed.
//
// # How it is tested
//
// By the tests that use it.
package medusatest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests/programs"
)

// setting is the environment variable that requests the tests.
const setting = "PORTICO_TEST_MEDUSA"

// startTimeout limits the time to start a server, including npm's installation.
const startTimeout = 20 * time.Minute

// A Medusa is a running server with an empty shop.
type Medusa struct {
	URL string `json:"url"`
	// User and Password are the credentials of an administrator.
	User     string `json:"user"`
	Password string `json:"password"`
	Currency string `json:"currency"`
	// The ids of objects that products and orders refer to: sales region, stock location,
	// shipping profile and sales channel.
	Region   string `json:"region"`
	Location string `json:"location"`
	Profile  string `json:"profile"`
	Channel  string `json:"channel"`

	token string
}

// Start starts a Medusa that ends with the test, or returns the running one that the
// environment names. It skips the test if the environment requests neither.
func Start(tb testing.TB) *Medusa {
	tb.Helper()
	requested := envSetting(tb)
	if requested != "1" {
		text, err := os.ReadFile(requested)
		if err != nil {
			tb.Fatal(err)
		}
		return decode(tb, text)
	}
	programs.Need(tb, "npm")
	return start(tb, sqltest.Postgres(tb))
}

// envSetting returns the value of PORTICO_TEST_MEDUSA. It skips the test unless the
// environment requests tests with Medusa.
func envSetting(tb testing.TB) string {
	tb.Helper()
	switch requested := os.Getenv(setting); requested {
	case "", "0":
		tb.Skipf("tests with Medusa take minutes: set %s=1 to run them", setting)
		return ""
	default:
		return requested
	}
}

// watcher is a shell script that runs "$@" until standard input ends, then stops it and
// removes the folder $DIR.
const watcher = `
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
( read -r end <&3; kill -s TERM $server ) 2>/dev/null &
exec 3<&-
wait $server
rm -rf "$DIR"
`

func start(tb testing.TB, database string) *Medusa {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(here), "..", "medusa", "start.sh")
	dir, err := os.MkdirTemp("", "portico-medusa-")
	if err != nil {
		tb.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	logName := filepath.Join(dir, "log")
	log, err := os.Create(logName)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("sh", "-c", watcher, "sh", script, filepath.Join(dir, "shop"), database, strconv.Itoa(port))
	// Run in its own process group, so that Ctrl-C does not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "DIR="+dir)
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stop, err := cmd.StdinPipe() // stays open until the test or this process ends
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = stop.Close()
		_ = cmd.Wait() // the exit status does not matter: the test stopped it
	})
	line := make(chan []byte, 1)
	go func() {
		text := make([]byte, 0, 4096)
		for {
			n, err := stdout.Read(text[len(text):cap(text)])
			text = text[:len(text)+n]
			if err != nil || bytes.IndexByte(text, '\n') >= 0 || len(text) == cap(text) {
				line <- text
				return
			}
		}
	}()
	select {
	case text := <-line:
		if !bytes.Contains(text, []byte("\n")) {
			stdout, _ := os.ReadFile(logName) // empty if it cannot be read
			tb.Fatalf("Medusa did not start:\n%s", stdout)
		}
		return decode(tb, text)
	case <-time.After(startTimeout):
		tb.Fatalf("Medusa did not answer within %s", startTimeout)
		return nil
	}
}

func decode(tb testing.TB, text []byte) *Medusa {
	tb.Helper()
	m := &Medusa{}
	if err := json.Unmarshal(text, m); err != nil {
		tb.Fatal(err)
	}
	return m
}

// Call sends an administrator's request, with body as JSON unless it is nil, and returns
// the decoded response, with numbers as json.Number. It fails the test unless the status
// is 200. It is not safe for concurrent use.
func (m *Medusa) Call(tb testing.TB, method, path string, body any) map[string]any {
	tb.Helper()
	if m.token == "" {
		reply, err := m.call(tb, http.MethodPost, "/auth/user/emailpass", map[string]any{"email": m.User, "password": m.Password})
		if err != nil {
			tb.Fatalf("log in: %v", err)
		}
		m.token, _ = reply["token"].(string)
	}
	reply, err := m.call(tb, method, path, body)
	if err != nil {
		tb.Fatalf("%s %s: %v", method, path, err)
	}
	return reply
}

func (m *Medusa) call(tb testing.TB, method, path string, body any) (map[string]any, error) {
	var sent io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(tb.Context(), method, m.URL+path, sent)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if m.token != "" {
		request.Header.Set("Authorization", "Bearer "+m.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", response.Status, text)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keep amounts exact
	var reply map[string]any
	return reply, errors.Join(decoder.Decode(&reply))
}

// At returns the value at a path of member names and indexes, such as "variants.0.sku", or
// nil.
func At(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// freePort returns a loopback port that nothing listens on.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}
