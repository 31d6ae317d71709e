// Package programs finds and starts the programs that tests run, such as servers and
// browsers, which Go does not bring.
//
// # Principles
//
//  1. Whoever lacks a program can run all other tests: the ones that need it skip
//     and say so.
//  2. Where everything is checked nothing may be skipped: there they fail.
//
// # How it is tested
//
// A table of programs and environments, on a testing.TB that keeps what it is told; a
// program that does not end by itself.
package programs

import (
	"os"
	"os/exec"
	"testing"
)

// Need returns the path of a program. It skips the test where the program is not
// installed, which must not happen where everything is checked.
func Need(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("%s is not installed", name)
		}
		tb.Skipf("%s is not installed, so what it would do is not tested", name)
	}
	return path
}

// Start starts a program and returns what is closed when it has ended. At the end of
// the test it is killed if it still runs.
func Start(tb testing.TB, cmd *exec.Cmd) (ended <-chan struct{}) {
	tb.Helper()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state says how it ended
		close(done)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it has usually ended before
		<-done
	})
	return done
}
