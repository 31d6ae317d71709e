package replica

import (
	"bufio"
	"bytes"
	"context"
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
)

const (
	// maxImportLine bounds a line of the file, in bytes.
	maxImportLine = 4096
	// maxImportLines bounds the lines of one file. All pairs are held in memory, as a
	// single error means that none is stored.
	maxImportLines = 1_000_001
	// maxReportedErrors bounds how many errors are reported one by one.
	maxReportedErrors = 1000
	// importBatchSize is the number of pairs looked up, and stored, at a time.
	importBatchSize = 500
	// maxBackendID bounds a backend id, in characters, as ID maps do.
	maxBackendID = 255
)

// An IDImport adds mappings to the ID map for records that both the local replica and the
// backend already have.
type IDImport struct {
	Replica Replica
	// Resources are those of Backend.Resources.
	Resources []BackendResource
	// DryRun checks the file and stores nothing.
	DryRun bool
	// Progress, unless nil, is called now and then with the number of pairs checked or
	// stored.
	Progress func(done, total int)
}

// An IDImportResult says what an import did, or would do in a dry run.
type IDImportResult struct {
	Rows     int // pairs read
	Existing int // pairs that the ID map already had
	Stored   int // pairs added to the ID map
}

// A LineError is an error in one line of the file.
type LineError struct {
	Line int // counted from 1
	Text string
}

// LineErrors are the errors of a file, as one error.
type LineErrors struct {
	Errors  []LineError // sorted by line, at most 1000
	Omitted int         // number of errors left out of Errors
}

// Error returns one line for each error.
func (f *LineErrors) Error() string {
	var b strings.Builder
	for i, fault := range f.Errors {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "line %d: %s", fault.Line, fault.Text)
	}
	if f.Omitted > 0 {
		fmt.Fprintf(&b, "\nand %d more errors", f.Omitted)
	}
	return b.String()
}

// add adds the error of a line, or only counts it once maxReportedErrors are listed.
func (f *LineErrors) add(line int, format string, arguments ...any) {
	if len(f.Errors) == maxReportedErrors {
		f.Omitted++
		return
	}
	f.Errors = append(f.Errors, LineError{line, fmt.Sprintf(format, arguments...)})
}

// count returns the number of errors, omitted ones included.
func (f *LineErrors) count() int { return len(f.Errors) + f.Omitted }

// sortedOrNil returns the errors sorted by line, or nil if there are none.
func (f *LineErrors) sortedOrNil() error {
	if f.count() == 0 {
		return nil
	}
	slices.SortStableFunc(f.Errors, func(a, b LineError) int { return a.Line - b.Line })
	return f
}

// An idPair is one line of the file.
type idPair struct {
	line    int
	key     adapter.Key
	id      string
	rootKey adapter.Key // 0 if the file does not say
}

// Run reads a CSV file with the header resource,legacy_id,backend_id and optionally
// owner_id, the legacy id of the root that a part belongs to. It skips pairs that the ID
// map already has, so that an import can be repeated. The first read of an imported record
// takes over the backend's values. A file with errors fails with *LineErrors, and nothing
// is stored. Other kinds: Unavailable, Internal, and Conflict when another process stored
// one of the pairs meanwhile; some pairs may then have been stored.
func (i *IDImport) Run(ctx context.Context, file io.Reader) (IDImportResult, error) {
	var errs LineErrors
	pairs, total, err := i.readFile(file, &errs)
	if err != nil {
		return IDImportResult{}, err
	}
	result := IDImportResult{Rows: total}
	var added []Mapping
	checked := 0
	for _, res := range i.Resources {
		for batch := range slices.Chunk(pairs[res.Resource], importBatchSize) {
			mappings, err := i.checkBatch(ctx, &res, batch, &errs)
			if err != nil {
				return result, err
			}
			added = append(added, mappings...)
			checked += len(batch)
			i.reportProgress(checked, total)
		}
	}
	if err := errs.sortedOrNil(); err != nil {
		return result, err
	}
	result.Existing = total - len(added)
	if i.DryRun {
		return result, nil
	}
	for batch := range slices.Chunk(added, importBatchSize) {
		if err := i.Replica.PutMappings(ctx, batch...); err != nil {
			return result, err
		}
		result.Stored += len(batch)
		i.reportProgress(result.Existing+result.Stored, total)
	}
	if len(added) == 0 {
		return result, nil
	}
	return result, i.Replica.InvalidateVersions(ctx)
}

func (i *IDImport) reportProgress(done, total int) {
	if i.Progress != nil {
		i.Progress(done, total)
	}
}

// readFile returns the pairs of a file by resource, and their number.
func (i *IDImport) readFile(file io.Reader, errs *LineErrors) (map[adapter.Resource][]idPair, int, error) {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, maxImportLine), maxImportLine)
	pairs, total, line, columns := map[adapter.Resource][]idPair{}, 0, 0, 0
	seen := seenIDs{keys: map[legacyRef]int{}, ids: map[backendRef]int{}}
	for lines.Scan() {
		if line++; line > maxImportLines {
			errs.add(line, "more than %d lines: split the file", maxImportLines)
			return pairs, total, nil
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
			errs.add(line, "not CSV: check the quotes")
		case columns == 0:
			if columns = headerColumns(fields); columns == 0 {
				errs.add(line, "the header must be resource,legacy_id,backend_id or resource,legacy_id,backend_id,owner_id")
				return nil, 0, nil
			}
		case len(fields) != columns:
			errs.add(line, "%d fields, but the header has %d", len(fields), columns)
		default:
			total++
			r := adapter.Resource(fields[0])
			if pair, ok := i.parsePair(line, r, fields[1:], errs); ok && seen.addUnique(r, pair, errs) {
				pairs[r] = append(pairs[r], pair)
			}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		errs.add(line+1, "the line is longer than %d bytes", maxImportLine)
	case err != nil:
		return nil, 0, err
	case columns == 0 && errs.count() == 0:
		errs.add(1, "no header: it must be resource,legacy_id,backend_id")
	}
	return pairs, total, nil
}

// headerColumns returns the number of columns of a header, 0 if it is not valid.
func headerColumns(fields []string) int {
	want := []string{"resource", "legacy_id", "backend_id", "owner_id"}
	if slices.Equal(fields, want) || slices.Equal(fields, want[:3]) {
		return len(fields)
	}
	return 0
}

// parsePair parses the fields that follow the resource. It reports whether they are valid.
func (i *IDImport) parsePair(line int, r adapter.Resource, fields []string, errs *LineErrors) (idPair, bool) {
	before := errs.count()
	at := slices.IndexFunc(i.Resources, func(res BackendResource) bool { return res.Resource == r })
	switch {
	case at < 0:
		errs.add(line, "the backend has no resource %q", string(r))
		return idPair{}, false
	case i.Resources[at].RootAttribute != "" && !i.Resources[at].HasIDs:
		errs.add(line, "%s have no ids at the backend: leave them out", r)
		return idPair{}, false
	}
	pair := idPair{line: line, id: fields[1]}
	var ok bool
	if pair.key, ok = parseKey(fields[0]); !ok {
		errs.add(line, "legacy_id %q is not an id: it must be digits", fields[0])
	}
	if why := backendIDProblem(pair.id); why != "" {
		errs.add(line, "backend_id %q %s", pair.id, why)
	}
	if len(fields) == 3 && fields[2] != "" {
		pair.rootKey, ok = parseKey(fields[2])
		switch {
		case i.Resources[at].RootAttribute == "":
			errs.add(line, "%s do not belong to another record: leave owner_id empty", r)
		case !ok || pair.rootKey == 0:
			errs.add(line, "owner_id %q is not an id: it must be digits", fields[2])
		}
	}
	return pair, errs.count() == before
}

// parseKey parses a legacy id. 0 is valid: it is the customer group of guests.
func parseKey(text string) (adapter.Key, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return adapter.Key(n), err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// backendIDProblem returns what is wrong with a backend id, "" if nothing is.
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
	case utf8.RuneCountInString(id) > maxBackendID:
		return fmt.Sprintf("is longer than %d characters", maxBackendID)
	default:
		return ""
	}
}

// seenIDs holds the line at which each id was first seen.
type seenIDs struct {
	keys map[legacyRef]int
	ids  map[backendRef]int
}

// addUnique remembers the ids of a pair. It reports false, with an error, if one of them
// was on an earlier line.
func (s *seenIDs) addUnique(r adapter.Resource, pair idPair, errs *LineErrors) bool {
	key, id := legacyRef{r, pair.key}, backendRef{r, pair.id}
	keyLine, keySeen := s.keys[key]
	idLine, idSeen := s.ids[id]
	if keySeen {
		errs.add(pair.line, "%s %d is already on line %d", r, pair.key, keyLine)
	} else {
		s.keys[key] = pair.line
	}
	if idSeen {
		errs.add(pair.line, "backend_id %q is already on line %d", pair.id, idLine)
	} else {
		s.ids[id] = pair.line
	}
	return !keySeen && !idSeen
}

// checkBatch compares pairs of one resource with the local replica and the ID map, and
// returns the mappings to be stored.
func (i *IDImport) checkBatch(ctx context.Context, res *BackendResource, pairs []idPair, errs *LineErrors) ([]Mapping, error) {
	keys, ids := make([]adapter.Key, len(pairs)), make([]string, len(pairs))
	for n, pair := range pairs {
		keys[n], ids[n] = pair.key, pair.id
	}
	roots, err := rootKeys(ctx, i.Replica, res, keys)
	if err != nil {
		return nil, err
	}
	byKey, err := mappingsByKey(ctx, i.Replica, res.Resource, keys)
	if err != nil {
		return nil, err
	}
	byID, err := mappingsByBackendID(ctx, i.Replica, res.Resource, ids)
	if err != nil {
		return nil, err
	}
	var added []Mapping
	for _, pair := range pairs {
		rootKey, exists := roots[pair.key]
		current, isMapped := byKey[pair.key]
		other, taken := byID[pair.id]
		switch {
		case !exists:
			errs.add(pair.line, "the database has no record %s %d", res.Resource, pair.key)
		case pair.rootKey != 0 && pair.rootKey != rootKey:
			errs.add(pair.line, "%s %d belongs to %s %d, not to %d", res.Resource, pair.key, res.Root, rootKey, pair.rootKey)
		case isMapped && current.BackendID != "" && current.BackendID != pair.id:
			errs.add(pair.line, "%s %d is already mapped to %q", res.Resource, pair.key, current.BackendID)
		case taken && other.Key != pair.key:
			errs.add(pair.line, "backend_id %q is already mapped to %s %d", pair.id, res.Resource, other.Key)
		case isMapped && current.BackendID == "" && current.Intent != nil:
			errs.add(pair.line, "%s %d is being created at the backend: wait until a running server has finished that", res.Resource, pair.key)
		case !isMapped || current.BackendID == "":
			mapping := Mapping{Resource: res.Resource, Key: pair.key, BackendID: pair.id, Base: []byte(emptyBase)}
			if res.RootAttribute != "" {
				mapping.Root, mapping.RootKey = res.Root, rootKey
			}
			added = append(added, mapping)
		}
	}
	return added, nil
}
