package nightly

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// A Sample picks some of very many tests: another selection in each run by day, and
// forty times as many at night, most of them all there are.
type Sample struct{ *rand.Rand }

// NewSample returns a sample, and logs its seed. The environment variable
// PORTICO_TEST_SEED repeats the sample of a seed.
func NewSample(tb testing.TB) *Sample {
	tb.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("PORTICO_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("PORTICO_TEST_SEED: %v", err)
		}
	}
	tb.Logf("the sample is that of PORTICO_TEST_SEED=%d", seed)
	return &Sample{rand.New(rand.NewPCG(seed, 0))}
}

// Takes reports whether the next test runs, of which a run by day takes one in oneIn.
// With -short, for the race detector, which slows tests down, it is a quarter of that.
func (s *Sample) Takes(oneIn int) bool {
	switch {
	case Whole():
		oneIn = max(oneIn/40, 1)
	case testing.Short():
		oneIn *= 4
	}
	return s.IntN(oneIn) == 0
}
