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

// maxReportedErrors bounds how many errors [LineErrors.Error] lists.
const maxReportedErrors = 100

// A LineError is one error in a data set.
type LineError struct {
	Line    int    // counted from 1
	Message string // the path in the data, such as "products[0].sku", and what is wrong there
}

// LineErrors are all errors in a data set, sorted by line.
type LineErrors []LineError

// Error returns one line for each error, at most 100.
func (f LineErrors) Error() string {
	var b strings.Builder
	for i, e := range f[:min(len(f), maxReportedErrors)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "line %d: %s", e.Line, e.Message)
	}
	if more := len(f) - maxReportedErrors; more > 0 {
		fmt.Fprintf(&b, "\nand %d more errors", more)
	}
	return b.String()
}

// A locatedError is an error at a position whose line is not known yet.
type locatedError struct {
	pointer jsontext.Pointer
	message string
}

// elementPointer returns the position of an element of a list.
func elementPointer(pointer jsontext.Pointer, i int) jsontext.Pointer {
	return pointer.AppendToken(strconv.Itoa(i))
}

// jsonError explains why text is not a JSON object.
func jsonError(text []byte, err error) LineError {
	var syntax *jsontext.SyntacticError
	var kind *json.SemanticError
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return LineError{1, "the file is empty"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return LineError{1 + bytes.Count(bytes.TrimSpace(text), []byte("\n")), "the file ends before its JSON is complete"}
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(text[:min(int64(len(text)), syntax.ByteOffset)], []byte("\n"))
		return LineError{line, fmt.Sprintf("invalid JSON: %v", syntax.Err)}
	case errors.As(err, &kind):
		return LineError{1, "must be an object with lists of records"}
	default:
		return LineError{1, err.Error()}
	}
}

// withLines finds the lines of errors in text. A position that does not exist gets the line
// of the value that should contain it.
func withLines(text []byte, found []locatedError) LineErrors {
	lines := map[jsontext.Pointer]int{"": 1}
	for _, f := range found {
		for pointer := f.pointer; pointer != ""; pointer = pointer.Parent() {
			lines[pointer] = 0
		}
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	line, counted := 1, int64(0)
	for len(lines) > 1 {
		if _, err := decoder.ReadToken(); err != nil {
			break
		}
		pointer := decoder.StackPointer()
		if at, wanted := lines[pointer]; wanted && at == 0 {
			line += bytes.Count(text[counted:decoder.InputOffset()], []byte("\n"))
			counted = decoder.InputOffset()
			lines[pointer] = line
		}
	}
	errs := make(LineErrors, len(found))
	for i, f := range found {
		pointer := f.pointer
		for lines[pointer] == 0 {
			pointer = pointer.Parent()
		}
		errs[i] = LineError{lines[pointer], messageWithPath(f)}
	}
	slices.SortStableFunc(errs, func(a, b LineError) int { return cmp.Compare(a.Line, b.Line) })
	return errs
}

// messageWithPath returns the message of an error with its path in front.
func messageWithPath(f locatedError) string {
	var b strings.Builder
	for token := range f.pointer.Tokens() {
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
	return b.String() + f.message
}
