//go:build linux

// Package medusatest gives tests a Medusa of their own.
//
// # Principles
//
//  1. Starting one takes most of a minute, and minutes when npm has to install it, so
//     tests of it run only where they are asked for: PORTICO_TEST_MEDUSA says 1, or
//     names a file with what medusa/start.sh printed of one that runs, whose shop is
//     empty. Elsewhere they skip and say so.
//  2. Every Medusa has a database and a folder of its own and listens on a free port
//     of loopback.
//  3. However the test binary ends, Medusa ends with it and its folder is removed.
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

// setting is the environment variable that asks for the tests.
const setting = "PORTICO_TEST_MEDUSA"

// startTimeout bounds the start, without what npm has to fetch.
const startTimeout = 20 * time.Minute

// A Medusa is a server that runs, with a shop that is empty.
type Medusa struct {
	URL string `json:"url"`
	// An administrator's e-mail address and password.
	User     string `json:"user"`
	Password string `json:"password"`
	Currency string `json:"currency"`
	// The ids of what products and orders refer to.
	Region   string `json:"region"`
	Location string `json:"location"`
	Profile  string `json:"profile"`
	Channel  string `json:"channel"`

	token string
}

// Start starts a Medusa that ends with the test, or returns the one that the
// environment names.
func Start(tb testing.TB) *Medusa {
	tb.Helper()
	asked := Asked(tb)
	if asked != "1" {
		text, err := os.ReadFile(asked)
		if err != nil {
			tb.Fatal(err)
		}
		return decode(tb, text)
	}
	programs.Need(tb, "npm")
	return start(tb, sqltest.Postgres(tb))
}

// Asked returns what the environment says of tests with a Medusa, and skips the test
// where it does not ask for them.
func Asked(tb testing.TB) string {
	tb.Helper()
	switch asked := os.Getenv(setting); asked {
	case "", "0":
		tb.Skipf("a Medusa is not tested unless %s=1, because it takes minutes", setting)
		return ""
	default:
		return asked
	}
}

// watcher runs the script "$@" until standard input ends, then ends it and removes
// the folder $DIR.
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
	// A group of its own, which an interrupt from the terminal does not reach.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "DIR="+dir)
	cmd.Stderr = log
	said, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stop, err := cmd.StdinPipe() // open until this process ends, or the test does
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = stop.Close()
		_ = cmd.Wait() // it was told to end
	})
	line := make(chan []byte, 1)
	go func() {
		text := make([]byte, 0, 4096)
		for {
			n, err := said.Read(text[len(text):cap(text)])
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
			said, _ := os.ReadFile(logName) // nothing if it cannot be read
			tb.Fatalf("Medusa does not start:\n%s", said)
		}
		return decode(tb, text)
	case <-time.After(startTimeout):
		tb.Fatalf("Medusa does not answer within %s", startTimeout)
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

// Call sends a request of an administrator, with body as JSON unless it is nil, and
// returns the reply. It fails the test unless that is 200. It is not safe for
// concurrent use.
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
	decoder.UseNumber() // amounts as they are written
	var reply map[string]any
	return reply, errors.Join(decoder.Decode(&reply))
}

// At returns what stands in a reply at a path of names and places, "variants.0.sku",
// or nil.
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

// freePort returns a port of the loopback interface that nothing listens on.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}
