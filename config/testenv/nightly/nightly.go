// Package nightly distinguishes runs of the tests for every commit, which test samples,
// from nightly runs, which test everything.
//
// # Principles
//
//  1. The run for every commit finds faults of a change within minutes. Repetitions on
//     another engine, with more values or for a longer time run at night.
//  2. A test that runs only at night says so when it is skipped, and names the stage of
//     .ci/nightly that runs it.
//
// # How it is tested
//
// The stages of .ci/nightly, which set the environment variable that this package reads,
// run the tests that use it.
package nightly

import (
	"os"
	"testing"
)

// Whole reports whether tests cover everything instead of a sample. This is the case if
// the environment variable PORTICO_TEST_NIGHTLY is not empty.
func Whole() bool { return os.Getenv("PORTICO_TEST_NIGHTLY") != "" }

// Only skips the test unless this is a nightly run. stage is the stage of .ci/nightly
// that runs it.
func Only(tb testing.TB, stage string) {
	tb.Helper()
	if !Whole() {
		tb.Skipf("skipped because it takes minutes: \".ci/nightly %s\" runs it", stage)
	}
}
