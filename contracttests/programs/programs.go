// Package programs finds and starts external programs that tests need, such as servers
// and browsers.
//
// # Principles
//
//  1. A developer without a program can run all other tests: the tests that need it are
//     skipped with a message.
//  2. In CI no test may be skipped for a missing program: there the tests that need it
//     fail.
//
// # How it is tested
//
// A table of programs and environments on a testing.TB that records how the test ends,
// and a program that does not exit by itself.
package programs

import (
	"os"
	"os/exec"
	"testing"
)

// Need returns the path of an installed program. If the program is not installed, Need
// skips the test, or fails it if the environment variable CI is "true".
func Need(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("%s is not installed", name)
		}
		tb.Skipf("%s is not installed, so this is not tested", name)
	}
	return path
}

// Start starts a program. The returned channel is closed when the program has exited. If
// it still runs at the end of the test, it is killed.
func Start(tb testing.TB, cmd *exec.Cmd) (ended <-chan struct{}) {
	tb.Helper()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // cmd.ProcessState has the exit code
		close(done)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if the program has exited already
		<-done
	})
	return done
}
