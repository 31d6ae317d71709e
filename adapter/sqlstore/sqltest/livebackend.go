//go:build linux

package sqltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// liveStartTimeout limits the time to start a server, including npm's installation.
const liveStartTimeout = 20 * time.Minute

// StartLive starts the backend of the script adapter/reststore/name/start.sh, which ends with the test, or uses
// the running one that the environment names. It decodes the script's line of JSON to server. It skips the
// test if the environment requests neither.
func StartLive(tb testing.TB, name string, server any) {
	tb.Helper()
	var line []byte
	if request := requested(tb, name); request == "1" {
		testenv.Need(tb, "npm")
		line = run(tb, name, Postgres(tb))
	} else {
		var err error
		if line, err = os.ReadFile(request); err != nil {
			tb.Fatal(err)
		}
	}
	if err := json.Unmarshal(line, server); err != nil {
		tb.Fatal(err)
	}
}

// requested returns the value of the variable that requests tests with a backend. It skips
// the test unless the environment requests them.
func requested(tb testing.TB, name string) string {
	tb.Helper()
	setting := "PORTICO_TEST_" + strings.ToUpper(name)
	value := os.Getenv(setting)
	if value == "" || value == "0" {
		tb.Skipf("tests with a live %s take minutes: set %s=1 to run them", name, setting)
	}
	return value
}

// watcher is a shell script that runs "$@" until standard input ends, then stops it and
// removes the folder $DIR.
const watcher = `
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
( read -r end <&3; kill -s TERM $server ) >/dev/null 2>&1 &
exec 3<&-
wait $server
rm -rf "$DIR"
`

// run starts a server with a database and returns its line of JSON.
func run(tb testing.TB, name, database string) []byte {
	tb.Helper()
	script := filepath.Join(testenv.Root(tb), "adapter", "reststore", name, "start.sh")
	dir, err := os.MkdirTemp("", "portico-"+name+"-")
	if err != nil {
		tb.Fatal(err)
	}
	port, err := testenv.FreePort()
	if err != nil {
		tb.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
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
			report, _ := io.ReadAll(io.NewSectionReader(log, 0, 1<<20)) // the watcher has removed the file
			tb.Fatalf("%s did not start:\n%s", name, report)
		}
		return text
	case <-time.After(liveStartTimeout):
		tb.Fatalf("%s did not answer within %s", name, liveStartTimeout)
		return nil
	}
}

// SendLive sends a request, with body as JSON unless it is nil, decodes the body of the response to
// reply, with numbers as json.Number, and returns its header. It fails unless the status is 200.
func SendLive(tb testing.TB, method, url, authorization string, body, reply any) (http.Header, error) {
	tb.Helper()
	var sent io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(tb.Context(), method, url, sent)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keep amounts exact
	return response.Header, decoder.Decode(reply)
}

// LiveValue returns the value at a path of member names and indexes, such as "variants.0.sku", or
// nil.
func LiveValue(value any, path string) any {
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
