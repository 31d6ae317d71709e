package consent

import (
	"strings"
	"unicode"
)

const (
	// maxNameLength is how many characters of a name pages show.
	maxNameLength = 64
	// maxMarks is how many combining marks a character may have: more would cover other text.
	maxMarks = 3
	// brailleBlank is a symbol without ink.
	brailleBlank = '\u2800'
)

// plainName returns a name that another party has chosen so that it cannot pass for anything
// but a name: in one line, of at most maxNameLength characters, and without characters that are
// invisible or change the direction of the text around them.
func plainName(name string) string {
	var plain strings.Builder
	length, marks, blank := 0, 0, false
	for _, r := range name {
		if unicode.IsSpace(r) || r == brailleBlank {
			blank = true
			continue
		}
		if !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			continue
		}
		if !unicode.IsMark(r) {
			marks = 0
		} else if marks++; marks > maxMarks {
			continue
		}
		if length == maxNameLength {
			plain.WriteRune('…')
			break
		}
		if blank && length > 0 {
			plain.WriteByte(' ')
		}
		blank = false
		plain.WriteRune(r)
		length++
	}
	return plain.String()
}
