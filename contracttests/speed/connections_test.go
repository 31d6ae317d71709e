//go:build linux

package speed

import (
	"bufio"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// workers is how many requests are in flight at a time.
const workers = 32

// An openConnection is one persistent connection to a server.
type openConnection struct{ net.Conn }

// connect opens connections to a server, and sends a request for path over each, so that the server
// has allocated everything that it ever holds for a connection.
func connect(b *testing.B, base, path string, count int) []openConnection {
	b.Helper()
	address := strings.TrimPrefix(base, "http://")
	all := make([]openConnection, count)
	for i := range all {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatalf("connection %d: %v", i, err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		all[i] = openConnection{conn}
	}
	if err := exchangeAll(all, count, func(int) string { return path }); err != nil {
		b.Fatal(err)
	}
	return all
}

// exchangeAll sends requests over all connections in turn, some of them at a time. path returns the
// path of a request by its number. Connections must be at least as many as workers.
func exchangeAll(all []openConnection, requests int, path func(request int) string) error {
	var group sync.WaitGroup
	failed := make(chan error, workers)
	for worker := range workers {
		group.Go(func() {
			reader := bufio.NewReader(nil)
			own := (len(all) - worker + workers - 1) / workers // connections of this worker
			for i, n := worker, 0; i < requests; i, n = i+workers, n+1 {
				if err := all[worker+n%own*workers].exchange(reader, guestRead(path(i))); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failed)
	return <-failed
}

// guestRead returns a request that reads a path as a Guest.
func guestRead(path string) string {
	return "GET /api/rest" + path + " HTTP/1.1\r\nHost: shop\r\nAccept: application/json\r\n\r\n"
}

// exchange sends a request, and reads the reply, which must be a success.
func (c openConnection) exchange(reader *bufio.Reader, request string) error {
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	reader.Reset(c)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		line, _, _ := strings.Cut(request, "\r\n")
		return fmt.Errorf("%s: %s", line, response.Status)
	}
	return nil
}

// A requestCost is the average cost of a request.
type requestCost struct {
	processor time.Duration // of the server, for each
	rate      float64       // requests in a second
}

// measureRequests sends requests over all connections and returns their cost.
func measureRequests(b *testing.B, p *apptest.Process, all []openConnection, requests int, path func(request int) string) requestCost {
	b.Helper()
	began, before := time.Now(), processorTime(b, p)
	if err := exchangeAll(all, requests, path); err != nil {
		b.Fatal(err)
	}
	return requestCost{(processorTime(b, p) - before) / time.Duration(requests), float64(requests) / time.Since(began).Seconds()}
}

// raiseOpenFiles lets this process, and the processes that it starts, open so many files.
func raiseOpenFiles(b *testing.B, files uint64) {
	b.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		b.Fatal(err)
	}
	if limit.Cur >= files {
		return
	}
	limit.Cur, limit.Max = files, max(limit.Max, files)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		b.Skipf("%d open files are not allowed: %v", files, err)
	}
}

// BenchmarkConnections keeps many connections open and sends requests over all of them, and in turn
// over 32. The replies come from the cache, so that the connections are most of the cost.
//
//	KB/connection    resident memory of the server for each idle connection
//	processor/32     processor time of a request, and requests a second, as multiples of those over
//	rate/32          32 connections
//	processor-us     processor time of a request over 32 connections
func BenchmarkConnections(b *testing.B) {
	for _, count := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			raiseOpenFiles(b, uint64(2*count+1000)) // two for each connection of the server
			p := apptest.Start(b, []string{fmt.Sprintf("PORTICO_SERVER_MAX_CONNECTIONS=%d", count+100)}, "--demo", "--log-level", "error")
			path := func(int) string { return "/products/1" }
			few := connect(b, p.Contract, path(0), workers)
			measureRequests(b, p, few, 5*count, path) // the heap grows to the size that requests need
			before := settledMemory(b, p)
			many := connect(b, p.Contract, path(0), count)
			b.ReportMetric((settledMemory(b, p)-before)*1000/float64(count), "KB/connection")
			var processor, processorFew durations
			var rates []float64
			for range 7 {
				one, other := measureRequests(b, p, few, 2*count, path), measureRequests(b, p, many, 2*count, path)
				processor, processorFew = append(processor, other.processor), append(processorFew, one.processor)
				rates = append(rates, other.rate/one.rate)
			}
			b.ReportMetric(processorFew.median()*1000, "processor-us")
			b.ReportMetric(processor.median()/processorFew.median(), "processor/32")
			b.ReportMetric(medianOf(rates), "rate/32")
			b.ReportMetric(0, "ns/op")
		})
	}
}
