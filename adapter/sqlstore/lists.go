package sqlstore

import "math/bits"

// filledUp returns the arguments of a list of alternatives, the last one
// repeated until their number is a power of two. That changes nothing of what
// they select, and lists of all lengths share a few prepared statements.
func filledUp(arguments []any) []any {
	if len(arguments) == 0 {
		return arguments
	}
	last := arguments[len(arguments)-1]
	for wanted := 1 << bits.Len(uint(len(arguments)-1)); len(arguments) < wanted; {
		arguments = append(arguments, last)
	}
	return arguments
}
