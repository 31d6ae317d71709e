package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Fault is one thing that is wrong with the configuration.
type Fault struct {
	Setting string // the setting's name; empty when a whole source is at fault
	Origin  string // where the value came from: "portico.yaml:3", "flag --listen"
	Problem string // what is wrong, and what would be valid
}

// String returns the fault in one line.
func (f Fault) String() string {
	var line strings.Builder
	if f.Origin != "" {
		line.WriteString(f.Origin + ": ")
	}
	if f.Setting != "" {
		line.WriteString(printable(f.Setting) + ": ")
	}
	return line.String() + f.Problem
}

// Faults is all that is wrong with a configuration, in the order of the layers.
type Faults []Fault

// maxFaults keeps a file that is no configuration at all from filling the
// screen.
const maxFaults = 50

// Error returns the number of faults, then each in a line of its own.
func (all Faults) Error() string {
	var text strings.Builder
	text.WriteString("faults in the configuration: " + strconv.Itoa(len(all)))
	for i, f := range all {
		if i == maxFaults {
			fmt.Fprintf(&text, "\n  and %d more", len(all)-maxFaults)
			break
		}
		text.WriteString("\n  " + f.String())
	}
	return text.String()
}

// err returns nil when there is no fault; a nil Faults would be an error.
func (all Faults) err() error {
	if len(all) == 0 {
		return nil
	}
	return all
}

func (all Faults) about(setting string) bool {
	return slices.ContainsFunc(all, func(f Fault) bool { return f.Setting == setting })
}

// suggest returns a hint at the one of the names that is next to what was written,
// or nothing when none is near.
func (l *loader) suggest(written string, names []string) string {
	const longest = 64
	if len(written) > longest || len(l.faults) > maxFaults {
		return ""
	}
	best, least := "", 1+max(2, len(written)/4)
	for _, name := range names {
		if d := distance(written, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the least number of bytes to insert, remove or replace that turns
// a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// printable returns text as it is, or quoted when it holds anything that would
// disturb a terminal.
func printable(text string) string {
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
