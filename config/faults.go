package config

import (
	"fmt"
	"github.com/portico-commerce/portico/config/strictyaml"
	"slices"
	"strconv"
	"strings"
)

// A Fault is one problem in the configuration.
type Fault struct {
	Setting string `json:"setting,omitempty"` // name of the setting; empty if the problem concerns a whole source
	Origin  string `json:"origin,omitempty"`  // where the value came from: "portico.yaml:3", "flag --listen"
	Problem string `json:"problem"`           // the problem and the valid values
}

// String returns the problem in one line.
func (f Fault) String() string {
	var line strings.Builder
	if f.Origin != "" {
		line.WriteString(f.Origin + ": ")
	}
	if f.Setting != "" {
		line.WriteString(quoteIfNeeded(f.Setting) + ": ")
	}
	return line.String() + f.Problem
}

// Faults are all problems of a configuration, in the order of the layers.
type Faults []Fault

// maxFaults limits the length of the error message for files that are not configurations.
const maxFaults = 50

// Error returns the number of problems, then each problem in a line of its own.
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

// err returns nil if there are no problems: an empty Faults would be a non-nil error.
func (all Faults) err() error {
	if len(all) == 0 {
		return nil
	}
	return all
}

func (all Faults) hasSetting(setting string) bool {
	return slices.ContainsFunc(all, func(f Fault) bool { return f.Setting == setting })
}

// suggest returns "; did you mean …?" with the most similar name, or "" if none is
// similar or there are too many problems.
func (l *loader) suggest(written string, names []string) string {
	if len(l.faults) > maxFaults {
		return ""
	}
	return strictyaml.DidYouMean(written, names)
}

// quoteIfNeeded quotes text that contains control characters or other characters that
// could disturb a terminal.
func quoteIfNeeded(text string) string {
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
