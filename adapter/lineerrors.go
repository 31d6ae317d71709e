package adapter

import (
	"fmt"
	"slices"
	"strings"
)

// maxListedErrors bounds how many errors [LineErrors.Error] lists.
const maxListedErrors = 100

// A LineError is an error in one line of a file.
type LineError struct {
	Line    int // counted from 1
	Message string
}

// LineErrors are all errors of a file.
type LineErrors []LineError

// Error returns one line for each error, by line, at most 100.
func (f LineErrors) Error() string {
	sorted := slices.Clone(f)
	slices.SortStableFunc(sorted, func(a, b LineError) int { return a.Line - b.Line })
	var b strings.Builder
	for i, e := range sorted[:min(len(f), maxListedErrors)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "line %d: %s", e.Line, e.Message)
	}
	if more := len(f) - maxListedErrors; more > 0 {
		fmt.Fprintf(&b, "\nand %d more errors", more)
	}
	return b.String()
}
