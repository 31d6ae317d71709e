package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/portico-commerce/portico/adapter"
)

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
func jsonError(text []byte, err error) adapter.LineError {
	var syntax *jsontext.SyntacticError
	var kind *json.SemanticError
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return adapter.LineError{Line: 1, Message: "the file is empty"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return adapter.LineError{Line: 1 + bytes.Count(bytes.TrimSpace(text), []byte("\n")), Message: "the file ends before its JSON is complete"}
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(text[:min(int64(len(text)), syntax.ByteOffset)], []byte("\n"))
		return adapter.LineError{Line: line, Message: fmt.Sprintf("invalid JSON: %v", syntax.Err)}
	case errors.As(err, &kind):
		return adapter.LineError{Line: 1, Message: "must be an object with lists of records"}
	default:
		return adapter.LineError{Line: 1, Message: err.Error()}
	}
}

// withLines finds the lines of errors in text. A position that does not exist gets the line
// of the value that should contain it.
func withLines(text []byte, found []locatedError) adapter.LineErrors {
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
	errs := make(adapter.LineErrors, len(found))
	for i, f := range found {
		pointer := f.pointer
		for lines[pointer] == 0 {
			pointer = pointer.Parent()
		}
		errs[i] = adapter.LineError{Line: lines[pointer], Message: messageWithPath(f)}
	}
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
