package engine

import (
	"github.com/portico-commerce/portico/adapter"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// IDsPerStatement is the number of ids that one statement looks for.
const IDsPerStatement = 128

// PadToPowerOfTwo repeats the last argument of an IN list until the length is a power
// of two. The result selects the same rows, and lists of all lengths share a few
// prepared statements.
func PadToPowerOfTwo(arguments []any) []any {
	if len(arguments) == 0 {
		return arguments
	}
	last := arguments[len(arguments)-1]
	for wanted := 1 << bits.Len(uint(len(arguments)-1)); len(arguments) < wanted; {
		arguments = append(arguments, last)
	}
	return arguments
}

// KeyArguments returns keys as the arguments of an IN list.
func KeyArguments(keys []adapter.Key) []any {
	arguments := make([]any, len(keys), 2*len(keys))
	for i, key := range keys {
		arguments[i] = int64(key)
	}
	return PadToPowerOfTwo(arguments)
}

// InList returns a condition that a column is one of some arguments.
func InList(column string, arguments []any) string {
	return column + " IN (" + strings.Repeat("?, ", len(arguments)-1) + "?)"
}

// NullIfZero returns v, or nil for the zero value.
func NullIfZero[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}

// Flag returns 1 for true and 0 for false.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// StorableText returns a text for people in its stored form, in at most most bytes.
func StorableText(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Storable reports whether every engine can store a text of at most longest characters;
// 0 means any number.
func Storable(text string, longest int) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && (longest == 0 || utf8.RuneCountInString(text) <= longest)
}
