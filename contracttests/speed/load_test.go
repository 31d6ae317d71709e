//go:build linux

package speed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	slice       = flag.Duration("slice", 2*time.Second, "how long a server is measured at a time, in whole seconds")
	pairs       = flag.Int("pairs", 7, "how often each server is measured")
	connections = flag.Int("connections", 32, "connections of the load generator")
)

// compare measures both servers in turn and reports the medians of all pairs.
func compare(b *testing.B, portico, floor *server, r request) {
	b.Helper()
	compareWith(b, portico, floor, r, r)
}

// compareWith is compare with a request for each of the servers.
func compareWith(b *testing.B, portico, floor *server, ours, theirs request) {
	b.Helper()
	comparePairs(b,
		func(took time.Duration) (rate, processor float64) { return generate(b, portico, ours, took) },
		func(took time.Duration) (rate, processor float64) { return generate(b, floor, theirs, took) })
}

// comparePairs measures both in turn and reports the medians of all pairs. ours and theirs send requests for about
// a duration, and return what generate returns.
func comparePairs(b *testing.B, ours, theirs func(time.Duration) (rate, processor float64)) {
	b.Helper()
	const warm = time.Second
	ours(warm)
	theirs(warm)
	b.ResetTimer()
	var rates, times, own, least []float64
	for range *pairs {
		floorRate, floorTime := theirs(*slice)
		rate, took := ours(*slice)
		rates, times = append(rates, rate/floorRate), append(times, took/floorTime)
		own, least = append(own, took), append(least, floorTime)
	}
	b.StopTimer()
	for unit, values := range map[string][]float64{"rate-ratio": rates, "cpu-ratio": times, "us/request": own, "floor-us/request": least} {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
	b.ReportMetric(0, "ns/op")
}

// generate sends requests to a server for about the duration. It returns the rate of replies a second, and the
// processor time of the server for one of them, in microseconds.
func generate(b *testing.B, s *server, r request, took time.Duration) (rate, processor float64) {
	b.Helper()
	if _, err := exec.LookPath("wrk"); err == nil && r.method == http.MethodGet {
		return generateAtAll(b, []*server{s}, r, took)
	}
	before := s.processorTime(b)
	replies, seconds := runLoad(b, s, r, took)
	used := s.processorTime(b) - before
	return float64(replies) / seconds, float64(used.Microseconds()) / float64(replies)
}

// generateAtAll is generate for several servers at once, which share the connections of the load generator, wrk. It
// returns the rate of all, and the processor time of a reply of any.
func generateAtAll(b *testing.B, servers []*server, r request, took time.Duration) (rate, processor float64) {
	b.Helper()
	used := func() (total time.Duration) {
		for _, s := range servers {
			total += s.processorTime(b)
		}
		return total
	}
	runs, failures := make([]sent, len(servers)), make([]error, len(servers))
	before := used()
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { runs[i], failures[i] = runWrk(b.Context(), s, r, max(*connections/len(servers), 1), took) })
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		b.Fatal(err)
	}
	replies := 0
	for _, run := range runs {
		rate += float64(run.Replies) / run.Seconds
		replies += run.Replies
	}
	return rate, float64((used() - before).Microseconds()) / float64(replies)
}

var (
	wrkCount = regexp.MustCompile(`(\d+) requests in ([0-9.]+)s`)
	wrkFault = regexp.MustCompile(`Non-2xx or 3xx responses.*|Socket errors.*`)
)

// runWrk sends the requests with wrk over so many connections.
func runWrk(ctx context.Context, s *server, r request, connections int, took time.Duration) (done sent, err error) {
	arguments := []string{"-t1", "-c" + strconv.Itoa(connections), "-d" + strconv.Itoa(int(took.Seconds())) + "s"}
	for name, value := range r.header {
		arguments = append(arguments, "-H", name+": "+value)
	}
	out, err := exec.CommandContext(ctx, "wrk", append(arguments, "http://"+s.address+r.path)...).CombinedOutput()
	found := wrkCount.FindSubmatch(out)
	if err != nil || found == nil || wrkFault.Match(out) {
		return done, fmt.Errorf("wrk: %v\n%s", err, out)
	}
	if done.Replies, err = strconv.Atoi(string(found[1])); err == nil {
		done.Seconds, err = strconv.ParseFloat(string(found[2]), 64)
	}
	return done, err
}

// A load describes the requests that a process of our own sends.
type load struct {
	Address     string
	Requests    [][]byte // in turn
	Status      int      // of every reply
	Connections int
	Took        time.Duration
}

// A sent is the result of a load generator.
type sent struct {
	Replies int
	Seconds float64
}

// runLoad sends the requests with a process of the test binary. The position among the bodies
// of r goes on from one run to the next, so that a body that creates a record is sent once.
func runLoad(b *testing.B, s *server, r request, took time.Duration) (replies int, seconds float64) {
	b.Helper()
	l := load{Address: s.address, Status: max(r.status, http.StatusOK), Connections: *connections, Took: took}
	bodies := r.bodies
	if bodies == nil {
		bodies = []string{""}
	}
	for i := range bodies {
		at := (s.sent + i) % len(bodies)
		if r.paths != nil {
			r.path = r.paths[at%len(r.paths)]
		}
		l.Requests = append(l.Requests, r.bytes(bodies[at]))
	}
	settings, err := json.Marshal(l)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), testenv.Self(b, loadProgram))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(settings), os.Stderr
	out, err := cmd.Output()
	var done sent
	if err == nil {
		err = json.Unmarshal(out, &done)
	}
	if err != nil {
		b.Fatal(err)
	}
	s.sent += done.Replies
	return done.Replies, done.Seconds
}

// bytes returns the request as sent.
func (r request) bytes(body string) []byte {
	out := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: shop.example\r\n", r.method, r.path)
	for name, value := range r.header {
		out = fmt.Appendf(out, "%s: %s\r\n", name, value)
	}
	if body != "" {
		out = fmt.Appendf(out, "Content-Length: %d\r\n", len(body))
	}
	return append(append(out, "\r\n"...), body...)
}

// loadMain is the main function of the load generator. It reads a load and prints the result.
func loadMain() {
	var l load
	err := json.NewDecoder(os.Stdin).Decode(&l)
	var done sent
	if err == nil {
		done, err = l.run()
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(done)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run sends the requests over persistent connections. It does not allocate, so that it takes little processor time.
func (l *load) run() (sent, error) {
	var wg sync.WaitGroup
	var next, replies atomic.Int64
	failures := make([]error, l.Connections)
	start := time.Now()
	for i := range l.Connections {
		wg.Go(func() {
			conn, err := net.Dial("tcp", l.Address)
			if failures[i] = err; err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			in := bufio.NewReaderSize(conn, 64<<10)
			for time.Since(start) < l.Took && failures[i] == nil {
				failures[i] = l.exchange(conn, in, l.Requests[int(next.Add(1)-1)%len(l.Requests)])
				replies.Add(1)
			}
		})
	}
	wg.Wait()
	for _, err := range failures {
		if err != nil {
			return sent{}, err
		}
	}
	return sent{int(replies.Load()), time.Since(start).Seconds()}, nil
}

// exchange sends a request and reads the whole reply.
func (l *load) exchange(conn net.Conn, in *bufio.Reader, request []byte) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch {
		case first:
			if status := string(line[len("HTTP/1.1 "):len("HTTP/1.1 200")]); status != strconv.Itoa(l.Status) {
				rest, _ := io.ReadAll(io.LimitReader(in, int64(in.Buffered())))
				return fmt.Errorf("unexpected reply %q %s", line, rest)
			}
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			length = 0
			for _, c := range line[len("Content-Length: ") : len(line)-2] {
				length = length*10 + int(c-'0')
			}
		case len(line) == 2:
			_, err := in.Discard(length)
			return err
		}
	}
}
