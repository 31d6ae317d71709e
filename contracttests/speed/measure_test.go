//go:build linux

package speed

import (
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// durations are the times that repeated calls took.
type durations []time.Duration

// quantile returns the time that a part of the calls, between 0 and 1, did not exceed, in milliseconds.
func (t durations) quantile(part float64) float64 {
	sorted := slices.Sorted(slices.Values(t))
	return float64(sorted[int(part*float64(len(sorted)-1))].Nanoseconds()) / 1e6
}

// median returns the median in milliseconds.
func (t durations) median() float64 { return t.quantile(0.5) }

// takeTurns runs all calls in turn, with the number of the round, and returns the times of each.
func takeTurns(rounds int, calls ...func(round int)) []durations {
	took := make([]durations, len(calls))
	for round := range rounds {
		for i, call := range calls {
			began := time.Now()
			call(round)
			took[i] = append(took[i], time.Since(began))
		}
	}
	return took
}

// mustGet reads a path, which must succeed with some records.
func mustGet(b *testing.B, c *apptest.Client, path string) {
	b.Helper()
	if got := c.Get(b, path); got.Status != http.StatusOK || len(got.Body) < 100 {
		b.Fatalf("%s: %d %.200s", path, got.Status, got.Body)
	}
}

// processorTime returns the processor time that all threads of a running process have used.
func processorTime(tb testing.TB, p *apptest.Process) (used time.Duration) {
	tb.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.Cmd.Process.Pid))
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range threads { // the runtime of Go ends no threads that have run Go code only
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		nanoseconds, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		used += time.Duration(nanoseconds)
	}
	return used
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

// medianOf returns the median of numbers.
func medianOf(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[len(sorted)/2]
}
