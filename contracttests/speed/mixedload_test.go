//go:build linux

package speed

import (
	"bufio"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

var mixedFor = flag.Duration("mixed", 10*time.Second, "how long BenchmarkMixedLoad sends requests")

const (
	mixedConnections = 1000
	// mixedReads is the number of reads between two writes of BenchmarkMixedLoad.
	mixedReads = 19
	// mixedWriters is the number of writes in flight at a time, of all workers. As they have workers of their own, a disk
	// that is slow to store a write holds up no reads.
	mixedWriters = 4
)

// BenchmarkMixedLoad sends requests over 1,000 connections, some at a time: one of twenty sets the quantity of a
// product, which ends the cached replies with it, and the others read a product or a list as a Guest.
//
//	requests/s
//	read-p99-ms, write-p99-ms  99th percentiles of the times that requests take
//	write-longest-ms           the longest time of a write
//	pause-ms                   the longest time in which no read ends
//	peak-MB                    maximum of the resident memory of the server
func BenchmarkMixedLoad(b *testing.B) {
	raiseOpenFiles(b, 3*mixedConnections)
	s := newStore(b, diskDir(b))
	environ := append(s.environ, fmt.Sprintf("PORTICO_SERVER_MAX_CONNECTIONS=%d", mixedConnections+100))
	p := apptest.Start(b, environ, "--log-level", "error")
	all := connect(b, p.Contract, "/products/1", mixedConnections)
	load := mixedLoad{began: time.Now(), due: make(chan int, mixedConnections), workers: make([]mixedWorker, workers)}
	for i, connection := range all {
		w := &load.workers[i%workers]
		w.connections = append(w.connections, connection)
	}
	var reading, writing sync.WaitGroup
	for i := range load.workers {
		if i < mixedWriters {
			writing.Go(func() { load.write(&load.workers[i]) })
		} else {
			reading.Go(func() { load.read(&load.workers[i], i) })
		}
	}
	reading.Wait()
	close(load.due)
	writing.Wait()
	took := time.Since(load.began)
	var writes, reads, ends durations
	for i, w := range load.workers {
		switch {
		case w.err != nil:
			b.Fatal(w.err)
		case i < mixedWriters:
			writes = append(writes, w.took...)
		default:
			reads, ends = append(reads, w.took...), append(ends, w.ends...)
		}
	}
	slices.Sort(ends)
	pause := time.Duration(0)
	for i := range ends[1:] {
		pause = max(pause, ends[i+1]-ends[i])
	}
	b.ReportMetric(float64(len(reads)+len(writes))/took.Seconds(), "requests/s")
	b.ReportMetric(reads.quantile(0.99), "read-p99-ms")
	b.ReportMetric(writes.quantile(0.99), "write-p99-ms")
	b.ReportMetric(writes.quantile(1), "write-longest-ms")
	b.ReportMetric(float64(pause.Microseconds())/1000, "pause-ms")
	b.ReportMetric(float64(p.PeakResident(b))/1e6, "peak-MB")
	b.ReportMetric(0, "ns/op")
}

// A mixedLoad is the load of BenchmarkMixedLoad.
type mixedLoad struct {
	began   time.Time
	due     chan int // the writes to make, as quantities
	workers []mixedWorker
}

// A mixedWorker sends one request at a time over its connections, in turn.
type mixedWorker struct {
	connections []openConnection
	reader      bufio.Reader
	took, ends  durations // of each request, and from the beginning to its end
	err         error
}

// send sends a request, and reports whether it succeeded.
func (l *mixedLoad) send(w *mixedWorker, request string) bool {
	sent := time.Since(l.began)
	w.err = w.connections[len(w.ends)%len(w.connections)].exchange(&w.reader, request)
	end := time.Since(l.began)
	w.took, w.ends = append(w.took, end-sent), append(w.ends, end)
	return w.err == nil
}

// read reads one of fifty lists and one of ten products in turn, for as long as -mixed says, and lets a write be made
// from time to time. first is the number of the first read, so that workers differ.
func (l *mixedLoad) read(w *mixedWorker, first int) {
	for n := first; time.Since(l.began) < *mixedFor; n++ {
		path := fmt.Sprintf("/products?page=%d", 1+n%50)
		if n%2 == 0 {
			path = fmt.Sprintf("/products/%d", 105+n%10*100)
		}
		if !l.send(w, guestRead(path)) {
			return
		}
		if n%mixedReads == 0 {
			select {
			case l.due <- n:
			default: // the writers are far behind
			}
		}
	}
}

// write makes the writes that are due.
func (l *mixedLoad) write(w *mixedWorker) {
	for n := range l.due {
		body := fmt.Sprintf(`{"qty":%d}`, 5+n%200)
		if !l.send(w, fmt.Sprintf("PUT /api/rest/stockitems/%d HTTP/1.1\r\nHost: shop\r\n"+
			"Authorization: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			20+n*7919%900, apptest.DemoAdmin(), len(body), body)) {
			return
		}
	}
}
