//go:build linux

package operation

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// BenchmarkStart starts the program with the demo store repeatedly.
//
//	ready-ms  from the start of the process to the first success of /readyz
//	idle-MB   resident memory once it no longer changes
//
// The program is the test binary, which is larger than the one that users run.
func BenchmarkStart(b *testing.B) {
	var ready time.Duration
	var idle float64
	for b.Loop() {
		began := time.Now()
		p := apptest.Start(b, nil, "--demo", "--log-level", "error")
		if got := apptest.Send(b, "GET", p.Ops+"/readyz", ""); got.Status != http.StatusOK {
			b.Fatalf("/readyz answers %d", got.Status)
		}
		ready += time.Since(began)
		idle += settledMemory(b, p)
		p.Signal(b, syscall.SIGTERM)
		p.Wait(b)
	}
	b.ReportMetric(float64(ready.Milliseconds())/float64(b.N), "ready-ms")
	b.ReportMetric(idle/float64(b.N), "idle-MB")
	b.ReportMetric(0, "ns/op")
}

// settledMemory returns the resident memory of a process in MB, once two consecutive
// readings are equal, or after twenty readings.
func settledMemory(b *testing.B, p *apptest.Process) float64 {
	b.Helper()
	const readings, pause = 20, 100 * time.Millisecond
	var last uint64
	for range readings {
		size := p.StatusBytes(b, "VmRSS")
		if size == last {
			break
		}
		last = size
		time.Sleep(pause) // a process does not report when its memory is stable
	}
	return float64(last) / 1e6
}

// BenchmarkReset resets the demo store over the operators' port, with the database in a
// file.
func BenchmarkReset(b *testing.B) {
	l := apptest.Start(b, nil, "--demo")
	for b.Loop() {
		if got := apptest.Send(b, "POST", l.Ops+"/demo/reset", ""); got.Status != http.StatusOK {
			b.Fatalf("%d %s", got.Status, got.Body)
		}
	}
}
