// Package nightly tells tests whether they run for every commit, where they take a
// sample, or at night, where they take all there is.
//
// # Principles
//
//  1. What runs for every commit finds what a change breaks within minutes. What only
//     repeats it, on another engine, with more values or for longer, runs at night.
//  2. A test that runs at night alone says so, and names the stage that runs it.
//
// # How it is tested
//
// By the stages of .ci/nightly, which set the variable that it reads.
package nightly

import (
	"os"
	"testing"
)

// Whole reports whether tests take everything and not a sample: it is true where the
// environment variable PORTICO_TEST_NIGHTLY is set.
func Whole() bool { return os.Getenv("PORTICO_TEST_NIGHTLY") != "" }

// Only skips a test that is for the stage of .ci/nightly of that name alone.
func Only(tb testing.TB, stage string) {
	tb.Helper()
	if !Whole() {
		tb.Skipf("this takes minutes: \".ci/nightly %s\" runs it", stage)
	}
}
