//go:build linux

package apptest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// PeakResident returns the maximum resident memory of the program so far, in bytes.
func (p *Process) PeakResident(t testing.TB) uint64 { return p.StatusBytes(t, "VmHWM") }

// StatusBytes returns a size from /proc/PID/status, in bytes.
func (p *Process) StatusBytes(t testing.TB, name string) uint64 {
	t.Helper()
	_, rest, _ := strings.Cut(ReadFile(t, fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid)), name+":")
	digits, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return kib << 10
}
