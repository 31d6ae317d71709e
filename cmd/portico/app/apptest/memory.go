//go:build linux

package apptest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// PeakResident returns the maximum resident memory of the program so far, in bytes.
func (p *Process) PeakResident(t testing.TB) uint64 { return p.StatusBytes(t, "VmHWM") }

// WaitForPeak is Wait, and also returns the maximum resident memory shortly before the end. It does
// not use the count of the system for an ended process, which includes the process that started it.
func (p *Process) WaitForPeak(t testing.TB) (code int, peak uint64) {
	t.Helper()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case <-p.Ended:
			tick.Stop()
			return p.Wait(t), peak
		case <-tick.C:
			// The status of a process that has just ended has no such line.
			if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid)); err == nil && strings.Contains(string(status), "VmHWM:") {
				peak = statusBytes(t, string(status), "VmHWM")
			}
		}
	}
}

// StatusBytes returns a size from /proc/PID/status, in bytes.
func (p *Process) StatusBytes(t testing.TB, name string) uint64 {
	t.Helper()
	return statusBytes(t, ReadFile(t, fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid)), name)
}

func statusBytes(t testing.TB, status, name string) uint64 {
	t.Helper()
	_, rest, _ := strings.Cut(status, name+":")
	digits, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return kib << 10
}
