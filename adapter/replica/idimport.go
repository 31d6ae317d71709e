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
	// maxBackendID bounds a backend id, in characters, as ID maps do.
	maxBackendID = 255
)

// An IDImportResult says what an import did, or would do in a dry run.
type IDImportResult struct {
	Rows     int // pairs read
	Existing int // pairs that the ID map already had
	Stored   int // pairs added to the ID map
}

// An idPair is one line of the file.
type idPair struct {
	line    int
	key     adapter.Key
	id      string
	rootKey adapter.Key // 0 if the file does not say
}

// ImportIDs adds mappings to the ID map for records that both the local replica and the
// backend already have. It reads a CSV file with the header resource,legacy_id,backend_id
// and optionally owner_id, the legacy id of the root that a part belongs to. It skips pairs
// that the ID map already has, so that an import can be repeated. The first read of an
// imported record takes over the backend's values. With dryRun it checks the file and stores
// nothing. progress, unless nil, is called now and then with the number of pairs checked or
// stored.
//
// A file with errors fails with adapter.LineErrors, and nothing is stored. Other kinds:
// Unavailable, Internal, and Conflict when another process stored one of the pairs
// meanwhile; some pairs may then have been stored.
func (a *Adapter) ImportIDs(ctx context.Context, file io.Reader, dryRun bool, progress func(done, total int)) (IDImportResult, error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	i := idImport{Adapter: a}
	pairs, err := i.readFile(file)
	if err != nil {
		return IDImportResult{}, err
	}
	result := IDImportResult{Rows: i.total}
	var added []Mapping
	checked := 0
	for _, plan := range a.ordered {
		for batch := range slices.Chunk(pairs[plan.Resource], batchSize) {
			mappings, err := i.checkBatch(ctx, plan, batch)
			if err != nil {
				return result, err
			}
			added = append(added, mappings...)
			checked += len(batch)
			progress(checked, i.total)
		}
	}
	if i.errs != nil {
		return result, i.errs
	}
	result.Existing = i.total - len(added)
	if dryRun {
		return result, nil
	}
	for batch := range slices.Chunk(added, batchSize) {
		if err := a.replica.PutMappings(ctx, batch...); err != nil {
			return result, err
		}
		result.Stored += len(batch)
		progress(result.Existing+result.Stored, i.total)
	}
	return result, nil
}

// An idImport is one run of ImportIDs.
type idImport struct {
	*Adapter
	errs  adapter.LineErrors
	total int // pairs read
	// keyLines and idLines hold the line on which each id was first seen.
	keyLines map[recordRef]int
	idLines  map[backendRef]int
}

// fail adds the error of a line.
func (i *idImport) fail(line int, format string, arguments ...any) {
	i.errs = append(i.errs, adapter.LineError{Line: line, Message: fmt.Sprintf(format, arguments...)})
}

// readFile returns the pairs of a file by resource.
func (i *idImport) readFile(file io.Reader) (map[adapter.Resource][]idPair, error) {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, maxImportLine), maxImportLine)
	pairs, line, columns := map[adapter.Resource][]idPair{}, 0, 0
	i.keyLines, i.idLines = map[recordRef]int{}, map[backendRef]int{}
	for lines.Scan() {
		if line++; line > maxImportLines {
			i.fail(line, "more than %d lines: split the file", maxImportLines)
			return pairs, nil
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
			i.fail(line, "not CSV: check the quotes")
		case columns == 0:
			if columns = headerColumns(fields); columns == 0 {
				i.fail(line, "the header must be resource,legacy_id,backend_id or resource,legacy_id,backend_id,owner_id")
				return nil, nil
			}
		case len(fields) != columns:
			i.fail(line, "%d fields, but the header has %d", len(fields), columns)
		default:
			i.total++
			r := adapter.Resource(fields[0])
			if pair, ok := i.parsePair(line, r, fields[1:]); ok && i.addUnique(r, pair) {
				pairs[r] = append(pairs[r], pair)
			}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		i.fail(line+1, "the line is longer than %d bytes", maxImportLine)
	case err != nil:
		return nil, err
	case columns == 0 && len(i.errs) == 0:
		i.fail(1, "no header: it must be resource,legacy_id,backend_id")
	}
	return pairs, nil
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
func (i *idImport) parsePair(line int, r adapter.Resource, fields []string) (idPair, bool) {
	before, plan := len(i.errs), i.plans[r]
	switch {
	case plan == nil:
		i.fail(line, "the backend has no resource %q", string(r))
		return idPair{}, false
	case !plan.hasMappings():
		i.fail(line, "%s have no ids at the backend: leave them out", r)
		return idPair{}, false
	}
	pair := idPair{line: line, id: fields[1]}
	var ok bool
	if pair.key, ok = parseKey(fields[0]); !ok {
		i.fail(line, "legacy_id %q is not an id: it must be digits", fields[0])
	}
	if why := backendIDProblem(pair.id); why != "" {
		i.fail(line, "backend_id %q %s", pair.id, why)
	}
	if len(fields) == 3 && fields[2] != "" {
		pair.rootKey, ok = parseKey(fields[2])
		switch {
		case plan.isRoot():
			i.fail(line, "%s do not belong to another record: leave owner_id empty", r)
		case !ok || pair.rootKey == 0:
			i.fail(line, "owner_id %q is not an id: it must be digits", fields[2])
		}
	}
	return pair, len(i.errs) == before
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

// addUnique remembers the ids of a pair. It reports false, with an error, if one of them
// was on an earlier line.
func (i *idImport) addUnique(r adapter.Resource, pair idPair) bool {
	key, id := recordRef{r, pair.key}, backendRef{r, pair.id}
	keyLine, keySeen := i.keyLines[key]
	idLine, idSeen := i.idLines[id]
	if keySeen {
		i.fail(pair.line, "%s %d is already on line %d", r, pair.key, keyLine)
	} else {
		i.keyLines[key] = pair.line
	}
	if idSeen {
		i.fail(pair.line, "backend_id %q is already on line %d", pair.id, idLine)
	} else {
		i.idLines[id] = pair.line
	}
	return !keySeen && !idSeen
}

// checkBatch compares pairs of one resource with the local replica and the ID map, and
// returns the mappings to be stored.
func (i *idImport) checkBatch(ctx context.Context, plan *resourcePlan, pairs []idPair) ([]Mapping, error) {
	rows, ids := make([]row, len(pairs)), make([]string, len(pairs))
	for n, pair := range pairs {
		rows[n].key, ids[n] = pair.key, pair.id
	}
	byID, err := i.mappingsByID(ctx, plan.Resource, ids)
	if err := errors.Join(err, i.addRecords(ctx, plan, rows), i.addMappings(ctx, plan, rows)); err != nil {
		return nil, err
	}
	var added []Mapping
	for n, pair := range pairs {
		r, current, other := rows[n], Mapping{}, byID[pair.id]
		if r.mapping != nil {
			current = *r.mapping
		}
		switch {
		case !r.exists:
			i.fail(pair.line, "the database has no record %s %d", plan.Resource, pair.key)
		case pair.rootKey != 0 && pair.rootKey != r.rootKey:
			i.fail(pair.line, "%s %d belongs to %s %d, not to %d", plan.Resource, pair.key, plan.Root, r.rootKey, pair.rootKey)
		case current.BackendID != "" && current.BackendID != pair.id:
			i.fail(pair.line, "%s %d is already mapped to %q", plan.Resource, pair.key, current.BackendID)
		case other != nil && other.Key != pair.key:
			i.fail(pair.line, "backend_id %q is already mapped to %s %d", pair.id, plan.Resource, other.Key)
		case current.BackendID != "": // the ID map has the pair
		case current.Intent != nil:
			i.fail(pair.line, "%s %d is being created at the backend: wait until a running server has finished that", plan.Resource, pair.key)
		default:
			mapping := Mapping{Resource: plan.Resource, Key: pair.key, BackendID: pair.id}
			if !plan.isRoot() {
				mapping = partMapping(plan, pair.key, pair.id, r.rootKey)
			}
			mapping.Base = []byte(emptyBase)
			added = append(added, mapping)
		}
	}
	return added, nil
}
