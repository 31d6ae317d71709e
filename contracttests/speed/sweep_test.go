//go:build linux

package speed

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

var before = flag.String("before", "", "program of an earlier commit, which BenchmarkCatalog/Sweep measures beside this one")

// benchmarkSweep compares two servers with the same store by "portico compare --sweep", which reads all lists, and
// some 500 products alone. -count repeats it.
//
//	requests/s          to each system
//	command-us/request  processor time of the command for a request to both systems
//	server-us/request   processor time of one system for a request
//	rate-ratio          requests/s as a multiple of the program of -before
func benchmarkSweep(b *testing.B, dsn string) {
	cost := measureSweep(b, buildProgram(b), dsn)
	b.ReportMetric(1/cost.request.Seconds(), "requests/s")
	b.ReportMetric(float64(cost.command.Microseconds()), "command-us/request")
	b.ReportMetric(float64(cost.server.Microseconds()), "server-us/request")
	if *before != "" {
		b.ReportMetric(measureSweep(b, *before, dsn).request.Seconds()/cost.request.Seconds(), "rate-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// A sweepCost has the time that a request of a sweep to both systems takes, and the processor time of the command
// and of one server for it.
type sweepCost struct{ request, command, server time.Duration }

// measureSweep lets a program sweep two servers of its own.
func measureSweep(b *testing.B, program, dsn string) sweepCost {
	b.Helper()
	const base = "http://shop.example" // as a store that moves keeps its address
	environ := []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_PUBLIC_URL=" + base, "PORTICO_LOG_LEVEL=warn"}
	legacy, candidate := startServe(b, program, environ), startServe(b, program, environ)
	defer func() { // before another program is measured
		_ = syscall.Kill(legacy.pid, syscall.SIGKILL)
		_ = syscall.Kill(candidate.pid, syscall.SIGKILL)
	}()
	sample := fmt.Sprintf("%.6f%%", min(100, 100*500/float64(*products)))
	cmd := exec.CommandContext(b.Context(), program, "compare", "--sweep", "--rate", "0", "--sample", sample, "--json", "-",
		"--legacy", "http://"+legacy.address, "--candidate", "http://"+candidate.address, "--legacy-base", base, "--candidate-base", base)
	var out, said bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = apptest.WithoutSettings(os.Environ()), &out, &said
	began, used := time.Now(), legacy.processorTime(b)+candidate.processorTime(b)
	err := cmd.Run()
	took := time.Since(began)
	used = legacy.processorTime(b) + candidate.processorTime(b) - used
	if err != nil {
		b.Fatalf("%v\n%s", err, said.String())
	}
	var result struct{ Compared, Different int }
	if err := json.Unmarshal(out.Bytes(), &result); err != nil || result.Compared == 0 || result.Different > 0 {
		b.Fatalf("%+v, %v\n%s", result, err, said.String())
	}
	n := time.Duration(result.Compared)
	return sweepCost{took / n, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()) / n, used / 2 / n}
}
