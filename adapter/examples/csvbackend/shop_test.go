package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/testenv"
)

// programName is the name under which the test binary is the program itself.
const programName = "csvbackend"

func TestMain(m *testing.M) { testenv.Main(m, map[string]func(){programName: main}) }

// A shopProcess runs the program's commands in a folder of its own.
type shopProcess struct {
	t       *testing.T
	folder  string
	program string
}

func newShopProcess(t *testing.T) *shopProcess {
	t.Helper()
	s := &shopProcess{t: t, folder: t.TempDir(), program: testenv.Self(t, programName)}
	if err := os.Mkdir(filepath.Join(s.folder, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shopProcess) command(arguments ...string) *exec.Cmd {
	c := exec.Command(s.program, arguments...)
	c.Dir = s.folder
	c.Env = append(os.Environ(), "PORTICO_ADAPTER=csv", "PORTICO_AUTH_BEARER=true", "PORTICO_CSV_SCAN_EVERY=1s",
		"PORTICO_CSV_UNMAPPED=allocate", "PORTICO_LISTEN=127.0.0.1:0", "PORTICO_OPS_LISTEN=127.0.0.1:0", "PORTICO_LOG_LEVEL=error")
	return c
}

// run runs a command and returns its output.
func (s *shopProcess) run(arguments ...string) string {
	s.t.Helper()
	c := s.command(arguments...)
	c.Stderr = s.t.Output()
	out, err := c.Output()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// serve starts the server and returns the base URL of the contract.
func (s *shopProcess) serve() string {
	s.t.Helper()
	c := s.command("serve")
	c.Stderr = s.t.Output()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			s.t.Error(err)
		}
		if err := c.Wait(); err != nil {
			s.t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found := regexp.MustCompile(`contract +(\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return found[1]
		}
	}
	s.t.Fatal("the server does not say where it listens")
	return ""
}

func (s *shopProcess) writeCustomers(lines string) {
	s.t.Helper()
	if err := os.WriteFile(s.customers(), []byte("id,number,email,firstname,lastname\n"+lines), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shopProcess) customers() string { return filepath.Join(s.folder, "shop", "customers.csv") }

// seed fills the local replica with the demo store, without customers and their records.
func (s *shopProcess) seed() {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "dataset", "dataset.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	var data map[string]json.RawMessage
	if err := json.Unmarshal(text, &data); err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{"customers", "customer_addresses", "orders", "credentials"} {
		delete(data, name)
	}
	if text, err = json.Marshal(data); err == nil {
		err = os.WriteFile(filepath.Join(s.folder, "store.json"), text, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.run("seed", "--adapter", "sql", "--dataset", "store.json")
}

// TestLegacyClient reads and writes the customers of the CSV file as a legacy client.
func TestLegacyClient(t *testing.T) {
	s := newShopProcess(t)
	s.seed()
	s.writeCustomers("ada,7,ada@example.com,Ada,Byron\nbob,,bob@example.com,Bob,Stone\n")
	var key struct{ Key string }
	if err := json.Unmarshal([]byte(s.run("credentials", "add-key", "--name", "erp", "--admin", "--json")), &key); err != nil {
		t.Fatal(err)
	}
	base := s.serve()
	send := func(method, path, body string) (*http.Response, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key.Key)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(text)
	}
	call := func(method, path, body string, status int) string {
		t.Helper()
		response, text := send(method, path, body)
		if response.StatusCode != status {
			t.Fatalf("%s %s: %d %s, want %d", method, path, response.StatusCode, text, status)
		}
		if method == http.MethodPost {
			return strings.TrimPrefix(response.Header.Get("Location"), "/api/rest")
		}
		return text
	}
	read := func(path, want string) {
		t.Helper()
		if got := call(http.MethodGet, path, "", http.StatusOK); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	file := func(want string) {
		t.Helper()
		text, err := os.ReadFile(s.customers())
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("the file is %q (%v), want %q", text, err, want)
		}
	}

	// The first scan imports the customers one by one, soon after the start.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, list := send(http.MethodGet, "/customers", ""); strings.Contains(list, `"firstname":"Ada"`) && strings.Contains(list, `"firstname":"Bob"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the customers of the file do not appear")
		}
	}
	read("/customers/7", `"email":"ada@example.com"`)
	call(http.MethodPut, "/customers/7", `{"firstname":"Augusta"}`, http.StatusOK)
	file("ada,7,ada@example.com,Augusta,Byron\n")
	s.writeCustomers("ada,7,ada@example.com,Ada,Lovelace\nbob,,bob@example.com,Bob,Stone\n")
	read("/customers/7", `"lastname":"Lovelace"`)
	created := call(http.MethodPost, "/customers", `{"website_id":1,"group_id":1,"firstname":"Eve","lastname":"Moss","email":"eve@example.com","password":"eve-password"}`, http.StatusOK)
	file(fmt.Sprintf("c%s,%[1]s,eve@example.com,Eve,Moss\n", strings.TrimPrefix(created, "/customers/")))
	call(http.MethodDelete, created, "", http.StatusOK)
	call(http.MethodGet, created, "", http.StatusNotFound)
	if got := s.run("ids", "check"); strings.Contains(got, "ada") {
		t.Errorf("ids check: %s", got)
	}
}

// TestHelpHasTheSettings checks that the program's settings include the backend's.
func TestHelpHasTheSettings(t *testing.T) {
	s := newShopProcess(t)
	s.writeCustomers("")
	for _, want := range []string{"csv.folder", "csv.unmapped", "csv.scan_every"} {
		if got := s.run("config"); !strings.Contains(got, want) {
			t.Errorf("config lacks %s:\n%s", want, got)
		}
	}
}
