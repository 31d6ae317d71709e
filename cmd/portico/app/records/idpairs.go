package records

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

const (
	// maxPairLine bounds a line of a file of ids, in bytes.
	maxPairLine = 4096
	// maxPairLines bounds its lines. All pairs are held in memory, as no pair is stored if there is
	// a single error.
	maxPairLines = 1_000_001
)

// readIDPairs reads a CSV file with the header resource,legacy_id,backend_id and optionally
// owner_id. It returns the valid pairs and the errors of the other lines.
func readIDPairs(file io.Reader) (pairs []idmap.Pair, faults adapter.LineErrors, err error) {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, maxPairLine), maxPairLine)
	line, columns := 0, 0
	fail := func(line int, format string, arguments ...any) {
		faults = append(faults, adapter.LineError{Line: line, Message: fmt.Sprintf(format, arguments...)})
	}
	for lines.Scan() {
		if line++; line > maxPairLines {
			fail(line, "more than %d lines: split the file", maxPairLines)
			return pairs, faults, nil
		}
		text := lines.Bytes()
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark, as written by spreadsheet programs
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		fields, err := csv.NewReader(bytes.NewReader(text)).Read()
		switch {
		case err != nil:
			fail(line, "not CSV: check the quotes")
		case columns == 0:
			if columns = headerColumns(fields); columns == 0 {
				fail(line, "the header must be resource,legacy_id,backend_id or resource,legacy_id,backend_id,owner_id")
				return nil, faults, nil
			}
		case len(fields) != columns:
			fail(line, "%d fields, but the header has %d", len(fields), columns)
		default:
			before := len(faults)
			pair := parseIDPair(fields, func(format string, arguments ...any) { fail(line, format, arguments...) })
			if pair.Line = line; len(faults) == before {
				pairs = append(pairs, pair)
			}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		fail(line+1, "the line is longer than %d bytes", maxPairLine)
	case err != nil:
		return nil, nil, err
	case columns == 0 && faults == nil:
		fail(1, "no header: it must be resource,legacy_id,backend_id")
	}
	return pairs, faults, nil
}

// headerColumns returns the number of columns of a header, 0 if it is not valid.
func headerColumns(fields []string) int {
	want := []string{"resource", "legacy_id", "backend_id", "owner_id"}
	if slices.Equal(fields, want) || slices.Equal(fields, want[:3]) {
		return len(fields)
	}
	return 0
}

// parseIDPair parses the fields of one line, and calls fail for each that is not valid.
func parseIDPair(fields []string, fail func(format string, arguments ...any)) idmap.Pair {
	pair := idmap.Pair{Resource: adapter.Resource(fields[0]), BackendID: fields[2]}
	var ok bool
	if pair.Key, ok = parseKey(fields[1]); !ok {
		fail("legacy_id %q is not an id: it must be digits", fields[1])
	}
	if why := backendIDProblem(pair.BackendID); why != "" {
		fail("backend_id %q %s", pair.BackendID, why)
	}
	if len(fields) == 4 && fields[3] != "" {
		if pair.RootKey, ok = parseKey(fields[3]); !ok || pair.RootKey == 0 {
			fail("owner_id %q is not an id: it must be digits", fields[3])
		}
	}
	return pair
}

// parseKey parses a legacy id. 0 is valid: it is the customer group of guests.
func parseKey(text string) (adapter.Key, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return adapter.Key(n), err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// backendIDProblem describes the fault of a backend id, "" for a valid id.
func backendIDProblem(id string) string {
	switch {
	case id == "":
		return "is empty"
	case !utf8.ValidString(id):
		return "is not UTF-8"
	case strings.TrimSpace(id) != id:
		return "starts or ends with white space"
	case strings.ContainsFunc(id, unicode.IsControl):
		return "contains a control character"
	case utf8.RuneCountInString(id) > idmap.MaxBackendID:
		return fmt.Sprintf("is longer than %d characters", idmap.MaxBackendID)
	default:
		return ""
	}
}
