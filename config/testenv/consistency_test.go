package testenv_test

import (
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// operations returns the operations that a text names, one each line: the call, the value, its
// begin and end in microseconds, and how a write ended unless it was acknowledged, or that a
// read was early. The first field is the register.
func operations(t *testing.T, text string) (all []testenv.Operation) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(text)) {
		var o testenv.Operation
		var verb, outcome string
		var began, ended int
		if _, err := fmt.Sscan(line+" .", &o.Register, &verb, &o.Value, &began, &ended, &outcome); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		o.Client, o.Write = "test", verb == "write"
		o.Began, o.Ended = time.Duration(began)*time.Microsecond, time.Duration(ended)*time.Microsecond
		o.Early = outcome == "early"
		o.Outcome = map[string]testenv.Outcome{"unknown": testenv.Unknown, "refused": testenv.Refused}[outcome]
		all = append(all, o)
	}
	return all
}

// TestCheck checks histories with a known fault, or none.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, history string
		want          []string // kind, and when the read began
	}{
		{"one after the other", `
			x write a 0 1
			x read  a 2 3
			x write b 4 5
			x read  b 6 7`, nil},
		{"a read during a write may show either value", `
			x write a 0 1
			x write b 4 9
			x read  a 5 6
			x read  b 7 8`, nil},
		{"writes at the same time take effect in any order", `
			x write a 0 1
			x write b 2 9
			x write c 2 9
			x read  c 10 11
			x read  c 12 13`, nil},
		{"a write of unknown outcome may be late", `
			x write a 0 1
			x write b 2 3 unknown
			x read  a 4 5
			x read  b 6 7`, nil},
		{"a write of unknown outcome may have no effect", `
			x write a 0 1
			x write b 2 3 unknown
			x read  a 4 5`, nil},
		{"a refused write has no effect", `
			x write a 0 1
			x write b 2 3 refused
			x read  a 4 5`, nil},
		{"each register is on its own", `
			x write a 0 1
			y write b 2 3
			x read  a 4 5
			y read  b 4 5`, nil},
		{"a stale read after an acknowledged write", `
			x write a 0 1
			x write b 2 3
			x read  a 4 5
			x read  b 6 7`, []string{"stale 4µs"}},
		{"a stale read after a read of the newer value", `
			x write a 0 1
			x write b 2 9
			x read  b 3 4
			x read  a 5 6
			x read  b 7 8`, []string{"stale 5µs"}},
		{"an early read of a write that is not acknowledged yet", `
			x write a 0 1
			x write b 2 9
			x read  b 3 4 early
			x read  a 5 6
			x read  b 10 11`, nil},
		{"a stale early read", `
			x write a 0 1
			x write b 2 3
			x read  a 4 5 early
			x read  b 6 7`, []string{"stale 4µs"}},
		{"a stale read after an early one of an acknowledged write", `
			x write a 0 1
			x write b 2 5
			x read  b 3 4 early
			x read  a 6 7
			x read  b 8 9`, []string{"stale 6µs"}},
		{"an older value comes back after writes at the same time", `
			x write a 0 1
			x write b 2 9
			x write c 2 9
			x read  b 10 11
			x read  c 12 13
			x read  b 14 15
			x read  c 16 17`, []string{"stale 14µs"}},
		{"a lost write", `
			x write a 0 1
			x write b 2 3
			x read  a 4 5
			x read  a 6 7`, []string{"lost 6µs"}},
		{"a lost write of unknown outcome that was seen", `
			x write a 0 1
			x write b 2 3 unknown
			x read  b 4 5
			x read  a 6 7`, []string{"doubled 6µs"}},
		{"a doubled write", `
			x write a 0 1
			x read  a 2 3
			x write b 4 5
			x read  b 6 7
			x read  a 8 9`, []string{"doubled 8µs"}},
		{"a value that nobody wrote", `
			x write a 0 1
			x read  b 2 3`, []string{"phantom 2µs"}},
		{"a value from the future", `
			x write a 0 1
			x read  b 2 3
			x write b 4 5`, []string{"phantom 2µs"}},
		{"a value of another register", `
			x write a 0 1
			y write b 0 1
			x read  b 2 3`, []string{"phantom 2µs"}},
		{"a value that was refused", `
			x write a 0 1
			x write b 2 3 refused
			x read  b 4 5`, []string{"phantom 4µs"}},
		{"faults of two registers", `
			y write a 0 1
			x write a 0 1
			y write b 2 3
			x write b 2 3
			x read  a 4 5
			y read  b 4 5
			y read  a 6 7`, []string{"lost 4µs", "doubled 6µs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range testenv.CheckOperations(operations(t, tt.history)) {
				got = append(got, fmt.Sprintf("%s %v", f.Kind, f.Read.Began))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestEqualWrites checks that a history is refused if a value does not identify the write that
// stored it.
func TestEqualWrites(t *testing.T) {
	all := operations(t, `
		x write a 0 1
		x write a 2 3`)
	defer func() {
		if recover() == nil {
			t.Error("it was checked")
		}
	}()
	testenv.CheckOperations(all)
}

// TestFaultText checks that a fault names the operations that contradict each other.
func TestFaultText(t *testing.T) {
	faults := testenv.CheckOperations(operations(t, `
		x write a 0 1
		x write b 2 3
		x read  a 4 5`))
	want := `x: lost: test read "a" from 4µs to 5µs, after test wrote "b" from 2µs to 3µs; but test wrote "b" from 2µs to 3µs, after test wrote "a" from 0s to 1µs`
	if len(faults) != 1 || faults[0].String() != want {
		t.Errorf("got  %v\nwant [%s]", faults, want)
	}
}

// linearizable reports whether the operations, of one register, can be put in an order
// after the last one of which the register has a value.
func linearizable(rest []testenv.Operation, value string) bool {
	open := false
	for i, next := range rest {
		optional := next.Write && next.Outcome != testenv.Acknowledged
		open = open || !optional
		if next.Write && next.Outcome == testenv.Refused || !next.Write && next.Value != value {
			continue
		}
		isFirst := !slices.ContainsFunc(rest, func(o testenv.Operation) bool {
			return o.Ended < next.Began && (!o.Write || o.Outcome == testenv.Acknowledged)
		})
		if isFirst && linearizable(slices.Delete(slices.Clone(rest), i, i+1), next.Value) {
			return true
		}
	}
	return !open
}

// TestCheckAgainstSearch compares CheckOperations with a search through all orders.
func TestCheckAgainstSearch(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	count := map[bool]int{}
	for range 5_000 {
		var all []testenv.Operation
		for i := range 3 + r.IntN(4) {
			began := time.Duration(r.IntN(12))
			o := testenv.Operation{Register: "x", Client: "test", Write: i < 3 || r.IntN(4) == 0, Began: began, Ended: began + 1 + time.Duration(r.IntN(6))}
			if o.Value = string(rune('a' + r.IntN(3))); o.Write {
				o.Value = string(rune('a' + i))
				o.Outcome = []testenv.Outcome{testenv.Acknowledged, testenv.Acknowledged, testenv.Acknowledged, testenv.Unknown, testenv.Refused}[r.IntN(5)]
			}
			all = append(all, o)
		}
		want := linearizable(all, "")
		count[want]++
		if faults := testenv.CheckOperations(all); (len(faults) == 0) != want {
			t.Fatalf("linearizable %t, but the faults are %v of %v", want, faults, all)
		}
	}
	if min(count[true], count[false]) < 500 {
		t.Errorf("%d histories are linearizable and %d are not: the comparison says little", count[true], count[false])
	}
}

// TestLog checks that a log records calls as they were.
func TestLog(t *testing.T) {
	log := testenv.NewOperationLog()
	log.Initial("x", "a")
	log.Read("reader", "x", func() (string, bool) { return "a", true })
	log.Write("writer", "x", "b", func() testenv.Outcome { return testenv.Acknowledged })
	log.Read("reader", "x", func() (string, bool) { return "", false })
	log.Read("reader", "x", func() (string, bool) { return "a", true })
	all := log.Operations()
	if len(all) != 4 || all[2].Client != "writer" || all[2].Ended < all[2].Began || all[3].Began < all[2].Ended {
		t.Errorf("%v", all)
	}
	if faults := testenv.CheckOperations(all); len(faults) != 1 || faults[0].Kind != testenv.Lost || faults[0].Read != all[3] {
		t.Errorf("%v", faults)
	}
}
