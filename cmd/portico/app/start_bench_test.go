package app

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkStart starts the program with the demo store repeatedly.
//
//	ready-ms  from the start of the process to the first success of /readyz
//	idle-MB   resident memory once it no longer changes
//
// The program is the test binary, which is larger than the one that users run.
func BenchmarkStart(b *testing.B) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		b.Skip("memory is read from /proc, which is not there")
	}
	var ready time.Duration
	var idle float64
	for b.Loop() {
		began := time.Now()
		p := start(b, nil, "--demo", "--log-level", "error")
		if got := send(b, "GET", p.ops+"/readyz", ""); got.status != http.StatusOK {
			b.Fatalf("/readyz answers %d", got.status)
		}
		ready += time.Since(began)
		idle += settledMemory(b, p.cmd.Process.Pid)
		p.signal(b, syscall.SIGTERM)
		p.wait(b)
	}
	b.ReportMetric(float64(ready.Milliseconds())/float64(b.N), "ready-ms")
	b.ReportMetric(idle/float64(b.N), "idle-MB")
	b.ReportMetric(0, "ns/op")
}

// settledMemory returns the resident memory of a process in MB, once two consecutive
// readings are equal, or after twenty readings.
func settledMemory(b *testing.B, pid int) float64 {
	b.Helper()
	const readings, pause = 20, 100 * time.Millisecond
	last := -1
	for range readings {
		size := residentKB(b, pid)
		if size == last {
			break
		}
		last = size
		time.Sleep(pause) // a process does not report when its memory is stable
	}
	return float64(last) / 1000
}

// residentKB returns VmRSS of a process in kB.
func residentKB(b *testing.B, pid int) int {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, found := bytes.Cut(status, []byte("VmRSS:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	size, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil || !found {
		b.Fatalf("no VmRSS in\n%s", status)
	}
	return size
}

// BenchmarkReset resets the demo store over the operators' port, with the database in a
// file.
func BenchmarkReset(b *testing.B) {
	l := serveLocal(b, true)
	for b.Loop() {
		if got := send(b, "POST", l.ops+"/demo/reset", ""); got.status != http.StatusOK {
			b.Fatalf("%d %s", got.status, got.body)
		}
	}
}
