package testenv

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Sample selects some of very many tests. Each run selects others, and nightly runs select forty
// times as many. It is also a source of random numbers. It is not safe for concurrent use.
type Sample struct {
	*rand.Rand
	seed  uint64
	asked map[int]int // by oneIn: the number of calls of Takes
}

// NewSample returns a sample and logs its seed. The environment variable
// PORTICO_TEST_SEED sets the seed, which repeats an earlier selection. .ci/run sets it to the number of
// the run.
func NewSample(tb testing.TB) *Sample {
	tb.Helper()
	seed := newSeed(tb)
	return &Sample{Rand: rand.New(rand.NewPCG(seed, 0)), seed: seed, asked: map[int]int{}}
}

// newSeed returns the seed of a sample, and logs it.
func newSeed(tb testing.TB) (seed uint64) {
	tb.Helper()
	seed = rand.Uint64()
	if text := os.Getenv("PORTICO_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("PORTICO_TEST_SEED: %v", err)
		}
	}
	tb.Logf("to repeat this sample, set PORTICO_TEST_SEED=%d", seed)
	return seed
}

// Takes reports whether the next test is selected, as one of oneIn in a row. Runs with consecutive seeds
// take turns: oneIn of them select every test. Nightly runs select forty times as many, and runs with
// -short a quarter, because the race detector that they are for is slow.
func (s *Sample) Takes(oneIn int) bool {
	switch {
	case Nightly():
		oneIn = max(oneIn/40, 1)
	case testing.Short():
		oneIn *= 4
	}
	row, place := s.asked[oneIn]/oneIn, s.asked[oneIn]%oneIn
	s.asked[oneIn]++
	// Where the turns of a row begin is random, or a run would select similar tests of each.
	begin := rand.New(rand.NewPCG(uint64(oneIn), uint64(row))).Uint64()
	turns := uint64(oneIn)
	return uint64(place) == (s.seed%turns+begin%turns)%turns
}

// Rows selects one in oneIn of the rows of a table, at least one, and keeps their order. Runs with
// consecutive seeds take turns: oneIn of them select every row. Nightly runs select all rows, as do
// runs that choose among them with -run TEST/ROW, and runs with -short a quarter as many. It logs the seed, as [NewSample] does.
func Rows[T any](tb testing.TB, rows []T, oneIn int) []T {
	tb.Helper()
	if run := flag.Lookup("test.run"); Nightly() || len(rows) == 0 || run != nil && strings.Contains(run.Value.String(), "/") {
		return rows
	}
	if testing.Short() {
		oneIn *= 4
	}
	selected := make([]T, 0, len(rows)/oneIn+1)
	for _, i := range turn(tb.Name(), newSeed(tb), len(rows), oneIn) {
		selected = append(selected, rows[i])
	}
	return selected
}

// turn returns the numbers, in order, of the rows that a seed selects of n. A shuffle that depends on the
// name of the test alone spreads similar rows over the seeds.
func turn(name string, seed uint64, n, oneIn int) []int {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // it never fails
	shuffled := rand.New(rand.NewPCG(hash.Sum64(), 0)).Perm(n)
	size := (n + oneIn - 1) / oneIn
	first := int(seed%uint64(oneIn)) * size
	chosen := make([]int, size)
	for i := range chosen {
		chosen[i] = shuffled[(first+i)%n]
	}
	slices.Sort(chosen)
	return chosen
}
