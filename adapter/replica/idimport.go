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
	// maxImportLine bounds a line of a file of ids, in bytes.
	maxImportLine = 4096
	// maxImportLines bounds the lines of one file: all pairs are held in memory, so that
	// one fault is enough to store none.
	maxImportLines = 1_000_001
	// maxImportFaults bounds the faults that are told one by one.
	maxReportedErrors = 1000
	// importBatch is the number of pairs looked up, and stored, at a time.
	importBatchSize = 500
	// maxIDLength bounds an id of the backend, in characters, as ledgers do.
	maxBackendID = 255
)

// An Import puts pairs of ids into a ledger: those of records that both the side and
// the backend have already.
type IDImport struct {
	Replica Replica
	// Kept says which resources the backend keeps, as Backend.Kept.
	Resources []BackendResource
	// Dry looks for faults only.
	DryRun bool
	// Progress, unless nil, is told now and then how many pairs are looked at or stored.
	Progress func(done, total int)
}

// Imported says what an import did, or would do.
type IDImportResult struct {
	Rows     int // pairs read
	Existing int // those the ledger had already
	Stored   int // those it got
}

// An ImportFault is what is wrong with one line.
type LineError struct {
	Line int // from 1
	Text string
}

// ImportFaults are what is wrong with a file of ids.
type LineErrors struct {
	Errors  []LineError // by line, a thousand at most
	Omitted int         // the number of those left out
}

// Error returns one line for each fault.
func (f *LineErrors) Error() string {
	var b strings.Builder
	for i, fault := range f.Errors {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "line %d: %s", fault.Line, fault.Text)
	}
	if f.Omitted > 0 {
		fmt.Fprintf(&b, "\nand %d more faults", f.Omitted)
	}
	return b.String()
}

func (f *LineErrors) add(line int, format string, arguments ...any) {
	if len(f.Errors) == maxReportedErrors {
		f.Omitted++
		return
	}
	f.Errors = append(f.Errors, LineError{line, fmt.Sprintf(format, arguments...)})
}

// count returns the number of faults.
func (f *LineErrors) count() int { return len(f.Errors) + f.Omitted }

// settled returns the faults in order as an error, nil if there are none.
func (f *LineErrors) sortedOrNil() error {
	if f.count() == 0 {
		return nil
	}
	slices.SortStableFunc(f.Errors, func(a, b LineError) int { return a.Line - b.Line })
	return f
}

// An importRow is one pair of a file.
type idPair struct {
	line  int
	key   adapter.Key
	id    string
	owner adapter.Key // 0 when the file does not say
}

// Run reads a CSV file with the header resource,legacy_id,backend_id and, if wanted,
// owner_id, the legacy id of a part's root. The values of the backend are taken over
// when a record is read first. Pairs that the ledger has already are passed over, so
// that an import can be repeated. A file with faults fails with *ImportFaults, and
// nothing is stored. Other kinds: Unavailable, Internal, and Conflict when somebody
// else stored one of the pairs meanwhile; pairs may be stored then.
func (i *IDImport) Run(ctx context.Context, file io.Reader) (IDImportResult, error) {
	var faults LineErrors
	rows, total, err := i.readFile(file, &faults)
	if err != nil {
		return IDImportResult{}, err
	}
	done := IDImportResult{Rows: total}
	var added []Mapping
	checked := 0
	for _, res := range i.Resources {
		for batch := range slices.Chunk(rows[res.Resource], importBatchSize) {
			mappings, err := i.checkBatch(ctx, &res, batch, &faults)
			if err != nil {
				return done, err
			}
			added = append(added, mappings...)
			checked += len(batch)
			i.reportProgress(checked, total)
		}
	}
	if err := faults.sortedOrNil(); err != nil {
		return done, err
	}
	done.Existing = total - len(added)
	if i.DryRun {
		return done, nil
	}
	for batch := range slices.Chunk(added, importBatchSize) {
		if err := i.Replica.PutMappings(ctx, batch...); err != nil {
			return done, err
		}
		done.Stored += len(batch)
		i.reportProgress(done.Existing+done.Stored, total)
	}
	if len(added) == 0 {
		return done, nil
	}
	return done, i.Replica.InvalidateVersions(ctx)
}

func (i *IDImport) reportProgress(done, total int) {
	if i.Progress != nil {
		i.Progress(done, total)
	}
}

// read returns the rows of a file by resource, and their number.
func (i *IDImport) readFile(file io.Reader, faults *LineErrors) (map[adapter.Resource][]idPair, int, error) {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, maxImportLine), maxImportLine)
	rows, total, line, columns := map[adapter.Resource][]idPair{}, 0, 0, 0
	seen := seenIDs{keys: map[legacyRef]int{}, ids: map[backendRef]int{}}
	for lines.Scan() {
		if line++; line > maxImportLines {
			faults.add(line, "more than %d lines: split the file", maxImportLines)
			return rows, total, nil
		}
		text := lines.Bytes()
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // of spreadsheet programs
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		fields, err := csv.NewReader(bytes.NewReader(text)).Read()
		switch {
		case err != nil:
			faults.add(line, "not CSV: check the quotes")
		case columns == 0:
			if columns = headerColumns(fields); columns == 0 {
				faults.add(line, "the header is not resource,legacy_id,backend_id or resource,legacy_id,backend_id,owner_id")
				return nil, 0, nil
			}
		case len(fields) != columns:
			faults.add(line, "%d fields, and the header has %d", len(fields), columns)
		default:
			total++
			r := adapter.Resource(fields[0])
			if row, ok := i.parsePair(line, r, fields[1:], faults); ok && seen.addUnique(r, row, faults) {
				rows[r] = append(rows[r], row)
			}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		faults.add(line+1, "longer than %d bytes", maxImportLine)
	case err != nil:
		return nil, 0, err
	case columns == 0 && faults.count() == 0:
		faults.add(1, "no header: want resource,legacy_id,backend_id")
	}
	return rows, total, nil
}

// header returns the number of columns that a header has, 0 for one that is none.
func headerColumns(fields []string) int {
	want := []string{"resource", "legacy_id", "backend_id", "owner_id"}
	if slices.Equal(fields, want) || slices.Equal(fields, want[:3]) {
		return len(fields)
	}
	return 0
}

// parse reads the fields after the resource and reports whether they are a row.
func (i *IDImport) parsePair(line int, r adapter.Resource, fields []string, faults *LineErrors) (idPair, bool) {
	before := faults.count()
	at := slices.IndexFunc(i.Resources, func(res BackendResource) bool { return res.Resource == r })
	switch {
	case at < 0:
		faults.add(line, "the backend keeps no %q", string(r))
		return idPair{}, false
	case i.Resources[at].RootAttribute != "" && !i.Resources[at].HasIDs:
		faults.add(line, "%s have no ids at the backend: leave them out", r)
		return idPair{}, false
	}
	row := idPair{line: line, id: fields[1]}
	var ok bool
	if row.key, ok = parseKey(fields[0]); !ok {
		faults.add(line, "legacy_id %q is no id: want digits", fields[0])
	}
	if why := backendIDProblem(row.id); why != "" {
		faults.add(line, "backend_id %q %s", row.id, why)
	}
	if len(fields) == 3 && fields[2] != "" {
		row.owner, ok = parseKey(fields[2])
		switch {
		case i.Resources[at].RootAttribute == "":
			faults.add(line, "%s are parts of nothing: leave owner_id empty", r)
		case !ok || row.owner == 0:
			faults.add(line, "owner_id %q is no id: want digits", fields[2])
		}
	}
	return row, faults.count() == before
}

// parseKey reads a legacy id. 0 is one: that of the group of guests.
func parseKey(text string) (adapter.Key, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return adapter.Key(n), err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// badID says what is wrong with an id of the backend, "" if nothing is.
func backendIDProblem(id string) string {
	switch {
	case id == "":
		return "is empty"
	case !utf8.ValidString(id):
		return "is not UTF-8"
	case strings.TrimSpace(id) != id:
		return "has blanks around it"
	case strings.ContainsFunc(id, unicode.IsControl):
		return "has a control character in it"
	case utf8.RuneCountInString(id) > maxBackendID:
		return fmt.Sprintf("has more than %d characters", maxBackendID)
	default:
		return ""
	}
}

// seenRows are the lines at which ids stood first.
type seenIDs struct {
	keys map[legacyRef]int
	ids  map[backendRef]int
}

// first reports whether neither of a row's ids stood on a line before.
func (s *seenIDs) addUnique(r adapter.Resource, row idPair, faults *LineErrors) bool {
	key, id := legacyRef{r, row.key}, backendRef{r, row.id}
	keyLine, keyTwice := s.keys[key]
	idLine, idTwice := s.ids[id]
	if keyTwice {
		faults.add(row.line, "%s %d stands on line %d already", r, row.key, keyLine)
	} else {
		s.keys[key] = row.line
	}
	if idTwice {
		faults.add(row.line, "backend_id %q stands on line %d already", row.id, idLine)
	} else {
		s.ids[id] = row.line
	}
	return !keyTwice && !idTwice
}

// look compares rows of one resource with the side and its ledger, and returns the
// entries that are to be stored.
func (i *IDImport) checkBatch(ctx context.Context, res *BackendResource, rows []idPair, faults *LineErrors) ([]Mapping, error) {
	keys, ids := make([]adapter.Key, len(rows)), make([]string, len(rows))
	for n, row := range rows {
		keys[n], ids[n] = row.key, row.id
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
	for _, row := range rows {
		rootKey, held := roots[row.key]
		had, entered := byKey[row.key]
		other, taken := byID[row.id]
		switch {
		case !held:
			faults.add(row.line, "there is no record %s %d here", res.Resource, row.key)
		case row.owner != 0 && row.owner != rootKey:
			faults.add(row.line, "%s %d belongs to %s %d, and not to %d", res.Resource, row.key, res.Root, rootKey, row.owner)
		case entered && had.BackendID != "" && had.BackendID != row.id:
			faults.add(row.line, "%s %d belongs to %q already", res.Resource, row.key, had.BackendID)
		case taken && other.Key != row.key:
			faults.add(row.line, "backend_id %q belongs to %s %d already", row.id, res.Resource, other.Key)
		case entered && had.BackendID == "" && had.Intent != nil:
			faults.add(row.line, "%s %d is being created at the backend: let a serving process finish that first", res.Resource, row.key)
		case !entered || had.BackendID == "":
			mapping := Mapping{Resource: res.Resource, Key: row.key, BackendID: row.id, Base: []byte("{}")}
			if res.RootAttribute != "" {
				mapping.Root, mapping.RootKey = res.Root, rootKey
			}
			added = append(added, mapping)
		}
	}
	return added, nil
}
