package reststore_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A recording has the responses of a fake shop to reads, by URI.
type recording struct {
	mu      sync.Mutex
	replies map[string]string
	sent    []*http.Request // the reads, each once
}

// record returns an intercept that records the responses of a handler to reads.
func (a *recording) record(handler http.Handler) func(http.ResponseWriter, *http.Request) bool {
	a.replies = map[string]string{}
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		a.mu.Lock()
		if _, known := a.replies[r.URL.RequestURI()]; !known {
			a.replies[r.URL.RequestURI()] = recorder.Body.String()
			a.sent = append(a.sent, r)
		}
		a.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = recorder.Body.WriteTo(w)
		return true
	}
}

// A standInScript configures the stand-in backend: its replies by URI, and the delay before each.
type standInScript struct {
	Replies map[string]string
	Delay   time.Duration
}

// standInName is the name of the program of the stand-in backend.
const standInName = "backend-stand-in"

// standIn is the program: it reads a script, writes its URL, and replies to reads by their URIs
// and to everything else with a session. It is a process of its own, so that the processor time of
// a backend is not counted as Portico's.
func standIn() {
	var script standInScript
	if err := json.NewDecoder(os.Stdin).Decode(&script); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("http://" + listener.Addr().String())
	_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, known := script.Replies[r.URL.RequestURI()]
		if !known && r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if !known {
			body = `{"session": {"token": "any"}}`
		}
		time.Sleep(script.Delay)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write([]byte(body))
	}))
}

// startStandIn starts a process that replies as it was recorded, each time after a delay. It
// returns its URL.
func startStandIn(tb testing.TB, recorded *recording, delay time.Duration) string {
	tb.Helper()
	script, err := json.Marshal(standInScript{recorded.replies, delay})
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(testenv.Self(tb, standInName))
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(script)), os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	testenv.StartProgram(tb, cmd)
	url, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(url)
}
