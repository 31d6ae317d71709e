package testenv

import (
	"os"
	"testing"
)

// Nightly reports whether tests cover everything instead of a sample. This is the case if
// the environment variable PORTICO_TEST_NIGHTLY is not empty.
func Nightly() bool { return os.Getenv("PORTICO_TEST_NIGHTLY") != "" }

// OnlyNightly skips the test unless this is a nightly run. stage is the stage of .ci/nightly
// that runs it.
func OnlyNightly(tb testing.TB, stage string) {
	tb.Helper()
	if !Nightly() {
		tb.Skipf("skipped because it takes minutes: \".ci/nightly %s\" runs it", stage)
	}
}
