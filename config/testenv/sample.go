package testenv

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// A Sample selects some of very many tests at random. Each run selects others, and
// nightly runs select forty times as many. It is not safe for concurrent use.
type Sample struct{ *rand.Rand }

// NewSample returns a sample and logs its seed. The environment variable
// PORTICO_TEST_SEED sets the seed, which repeats an earlier selection.
func NewSample(tb testing.TB) *Sample {
	tb.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("PORTICO_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("PORTICO_TEST_SEED: %v", err)
		}
	}
	tb.Logf("to repeat this sample, set PORTICO_TEST_SEED=%d", seed)
	return &Sample{rand.New(rand.NewPCG(seed, 0))}
}

// Takes reports whether the next test is selected. The chance is one in oneIn. Nightly
// runs select forty times as many, and runs with -short a quarter, because the race
// detector that they are for is slow.
func (s *Sample) Takes(oneIn int) bool {
	switch {
	case Nightly():
		oneIn = max(oneIn/40, 1)
	case testing.Short():
		oneIn *= 4
	}
	return s.IntN(oneIn) == 0
}

// Rows selects one in oneIn of the rows of a table, at least one, and keeps their order. Nightly runs
// select all of them, and runs with -short a quarter as many. It logs the seed, as [NewSample] does.
func Rows[T any](tb testing.TB, rows []T, oneIn int) []T {
	tb.Helper()
	if Nightly() {
		return rows
	}
	if testing.Short() {
		oneIn *= 4
	}
	chosen := NewSample(tb).Perm(len(rows))[:(len(rows)+oneIn-1)/oneIn]
	slices.Sort(chosen)
	selected := make([]T, 0, len(chosen))
	for _, i := range chosen {
		selected = append(selected, rows[i])
	}
	return selected
}
