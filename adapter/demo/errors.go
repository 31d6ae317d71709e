package demo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// mostFaults bounds the faults that [Faults.Error] lists.
const mostFaults = 100

// A Fault is one thing that is wrong with a data set.
type LineError struct {
	Line int    // of the file, from 1
	Text string // the place in the data, such as "products[0].sku", and what is wrong with it
}

// Faults are all that is wrong with a data set, by line.
type LineErrors []LineError

// Error returns a line for each fault, of which there are 100 at most.
func (f LineErrors) Error() string {
	var b strings.Builder
	for i, fault := range f[:min(len(f), mostFaults)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "line %d: %s", fault.Line, fault.Text)
	}
	if more := len(f) - mostFaults; more > 0 {
		fmt.Fprintf(&b, "\nand %d more faults", more)
	}
	return b.String()
}

// A foundFault is a fault whose line is not known yet.
type foundFault struct {
	place jsontext.Pointer
	text  string
}

// entry returns the place of an entry of the list at place.
func entry(place jsontext.Pointer, i int) jsontext.Pointer {
	return place.AppendToken(strconv.Itoa(i))
}

// notJSON puts into words why text is no JSON object.
func notJSON(text []byte, err error) LineError {
	var syntax *jsontext.SyntacticError
	var kind *json.SemanticError
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return LineError{1, "the file is empty"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return LineError{1 + bytes.Count(bytes.TrimSpace(text), []byte("\n")), "the file ends before its JSON is complete"}
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(text[:min(int64(len(text)), syntax.ByteOffset)], []byte("\n"))
		return LineError{line, fmt.Sprintf("no valid JSON: %v", syntax.Err)}
	case errors.As(err, &kind):
		return LineError{1, "want an object with lists of records"}
	default:
		return LineError{1, err.Error()}
	}
}

// locate finds the lines of faults in text. A place that is not there has the line of
// what it should be in.
func locate(text []byte, found []foundFault) LineErrors {
	lines := map[jsontext.Pointer]int{"": 1}
	for _, f := range found {
		for place := f.place; place != ""; place = place.Parent() {
			lines[place] = 0
		}
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	line, counted := 1, int64(0)
	for len(lines) > 1 {
		if _, err := decoder.ReadToken(); err != nil {
			break
		}
		place := decoder.StackPointer()
		if at, wanted := lines[place]; wanted && at == 0 {
			line += bytes.Count(text[counted:decoder.InputOffset()], []byte("\n"))
			counted = decoder.InputOffset()
			lines[place] = line
		}
	}
	faults := make(LineErrors, len(found))
	for i, f := range found {
		place := f.place
		for lines[place] == 0 {
			place = place.Parent()
		}
		faults[i] = LineError{lines[place], describe(f)}
	}
	slices.SortStableFunc(faults, func(a, b LineError) int { return cmp.Compare(a.Line, b.Line) })
	return faults
}

// describe returns the text of a fault with its place in front.
func describe(f foundFault) string {
	var b strings.Builder
	for token := range f.place.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	return b.String() + f.text
}
