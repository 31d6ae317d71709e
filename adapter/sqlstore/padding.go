package sqlstore

import "math/bits"

// padToPowerOfTwo repeats the last argument of an IN list until the length is a power
// of two. The result selects the same rows, and lists of all lengths share a few
// prepared statements.
func padToPowerOfTwo(arguments []any) []any {
	if len(arguments) == 0 {
		return arguments
	}
	last := arguments[len(arguments)-1]
	for wanted := 1 << bits.Len(uint(len(arguments)-1)); len(arguments) < wanted; {
		arguments = append(arguments, last)
	}
	return arguments
}
