//go:build linux

package speed

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// starts is how often each start is measured.
const starts = 11

// buildProgram builds the program as for a release, and returns its path.
func buildProgram(b *testing.B) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "portico")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-tags", "nomsgpack", "-ldflags", "-s -w", "-o", path, "./cmd/portico")
	build.Dir = testenv.Root(b)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, output)
	}
	return path
}

// A startCost is the cost of a start until /readyz succeeded.
type startCost struct {
	ready     time.Duration
	processor time.Duration
	idle      float64 // resident memory afterwards, in MB, if it was asked for
}

// measureStart starts the program until it is ready, and ends it. withIdle measures its memory, too.
func measureStart(b *testing.B, program string, withIdle bool, environ []string, arguments ...string) (cost startCost) {
	b.Helper()
	began := time.Now()
	p := apptest.StartProgram(b, environ, program, append([]string{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--log-level", "error"}, arguments...)...)
	p.AwaitAddresses(b, len(arguments) > 0)
	testenv.Await(b, "readiness", func() bool { return apptest.Send(b, "GET", p.Ops+"/readyz", "").Status == http.StatusOK })
	cost.ready, cost.processor = time.Since(began), processorTime(b, p)
	if withIdle {
		cost.idle = settledMemory(b, p)
	}
	p.Signal(b, syscall.SIGTERM)
	p.Wait(b)
	return cost
}

// BenchmarkStart starts the program as users have it, with the demo store.
//
//	ready-ms      from the start of the process to the first success of /readyz: the median
//	processor-ms  processor time of the process until then: the median
//	idle-MB       resident memory once it no longer changes
//	program-MB    size of the program
func BenchmarkStart(b *testing.B) {
	program := buildProgram(b)
	info, err := os.Stat(program)
	if err != nil {
		b.Fatal(err)
	}
	var ready, processor durations
	var idle float64
	for i := range starts {
		cost := measureStart(b, program, i == 0, nil, "--demo")
		ready, processor, idle = append(ready, cost.ready), append(processor, cost.processor), idle+cost.idle
	}
	b.ReportMetric(ready.median(), "ready-ms")
	b.ReportMetric(processor.median(), "processor-ms")
	b.ReportMetric(idle, "idle-MB")
	b.ReportMetric(float64(info.Size())/1e6, "program-MB")
	b.ReportMetric(0, "ns/op")
}

// benchmarkStart starts the program with a large store, and in turn with one of the same engine that
// has the products of the demo store only.
//
//	large-ready-ms, large-processor-ms, small-ready-ms, small-processor-ms  as in BenchmarkStart
func benchmarkStart(b *testing.B, dsn string) {
	program := buildProgram(b)
	small := demotest.SQLite(b)
	if !strings.HasPrefix(dsn, "sqlite:") {
		small = sqltest.StartLargePostgres(b).Database("small")
		if err := demotest.Load(small); err != nil {
			b.Fatal(err)
		}
	}
	var ready, processor [2]durations
	for range starts {
		for i, store := range []string{dsn, small} {
			cost := measureStart(b, program, false, []string{"PORTICO_SQL_DSN=" + store})
			ready[i], processor[i] = append(ready[i], cost.ready), append(processor[i], cost.processor)
		}
	}
	for i, name := range []string{"large", "small"} {
		b.ReportMetric(ready[i].median(), fmt.Sprintf("%s-ready-ms", name))
		b.ReportMetric(processor[i].median(), fmt.Sprintf("%s-processor-ms", name))
	}
	b.ReportMetric(0, "ns/op")
}
