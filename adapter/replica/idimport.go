package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// An IDImportResult says what an import did, or would do in a dry run.
type IDImportResult struct {
	Rows     int // pairs given
	Existing int // pairs that the ID map already had
	Stored   int // pairs added to the ID map
}

// An IDPair says which backend id a legacy id belongs to.
type IDPair struct {
	Line      int // in the file that the pair is from, for errors
	Resource  adapter.Resource
	Key       adapter.Key
	BackendID string
	RootKey   adapter.Key // of a part: the legacy id of its root; 0 if the file does not say
}

// ImportIDs adds mappings to the ID map for records that both the local replica and the
// backend already have. It skips pairs that the ID map already has, so that an import can be
// repeated. The first read of an imported record takes over the backend's values. With
// dryRun it checks the pairs and stores nothing. progress, unless nil, is called now and
// then with the number of pairs checked or stored.
//
// If there is anything wrong with the pairs, ImportIDs fails with adapter.LineErrors and
// stores nothing. Other kinds: Unavailable, Internal, and Conflict when another process
// stored one of the pairs meanwhile; some pairs may then have been stored.
func (a *Adapter) ImportIDs(ctx context.Context, pairs []IDPair, dryRun bool, progress func(done, total int)) (IDImportResult, error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	i := idImport{Adapter: a}
	valid := i.group(pairs)
	result := IDImportResult{Rows: len(pairs)}
	var added []Mapping
	checked := 0
	for _, plan := range a.ordered {
		for batch := range slices.Chunk(valid[plan.Resource], batchSize) {
			mappings, err := i.checkBatch(ctx, plan, batch)
			if err != nil {
				return result, err
			}
			added = append(added, mappings...)
			checked += len(batch)
			progress(checked, len(pairs))
		}
	}
	if i.errs != nil {
		return result, i.errs
	}
	result.Existing = len(pairs) - len(added)
	if dryRun {
		return result, nil
	}
	for batch := range slices.Chunk(added, batchSize) {
		if err := a.replica.PutMappings(ctx, batch...); err != nil {
			return result, err
		}
		result.Stored += len(batch)
		progress(result.Existing+result.Stored, len(pairs))
	}
	return result, nil
}

// An idImport is one run of ImportIDs.
type idImport struct {
	*Adapter
	errs adapter.LineErrors
}

// fail adds the error of a line.
func (i *idImport) fail(line int, format string, arguments ...any) {
	i.errs = append(i.errs, adapter.LineError{Line: line, Message: fmt.Sprintf(format, arguments...)})
}

// group returns the pairs by resource, without those of resources that have no mappings and
// those that repeat an id.
func (i *idImport) group(pairs []IDPair) map[adapter.Resource][]IDPair {
	valid := map[adapter.Resource][]IDPair{}
	// The line on which each id was first seen.
	keyLines, idLines := map[recordRef]int{}, map[backendRef]int{}
	for _, pair := range pairs {
		r, plan := pair.Resource, i.plans[pair.Resource]
		key, id := recordRef{r, pair.Key}, backendRef{r, pair.BackendID}
		switch {
		case plan == nil:
			i.fail(pair.Line, "the backend has no resource %q", string(r))
			continue
		case !plan.hasMappings():
			i.fail(pair.Line, "%s have no ids at the backend: leave them out", r)
			continue
		case plan.isRoot() && pair.RootKey != 0:
			i.fail(pair.Line, "%s do not belong to another record: leave owner_id empty", r)
			continue
		case keyLines[key] != 0:
			i.fail(pair.Line, "%s %d is already on line %d", r, pair.Key, keyLines[key])
		case idLines[id] != 0:
			i.fail(pair.Line, "backend_id %q is already on line %d", pair.BackendID, idLines[id])
		default:
			valid[r] = append(valid[r], pair)
		}
		keyLines[key], idLines[id] = cmp.Or(keyLines[key], pair.Line), cmp.Or(idLines[id], pair.Line)
	}
	return valid
}

// checkBatch compares pairs of one resource with the local replica and the ID map, and
// returns the mappings to be stored.
func (i *idImport) checkBatch(ctx context.Context, plan *resourcePlan, pairs []IDPair) ([]Mapping, error) {
	rows, err := i.rowsOf(ctx, plan, convert(pairs, func(p IDPair) adapter.Key { return p.Key }))
	byID, idErr := i.mappingsByID(ctx, plan.Resource, convert(pairs, func(p IDPair) string { return p.BackendID }))
	if err := errors.Join(err, idErr, i.addRecords(ctx, plan, rows)); err != nil {
		return nil, err
	}
	var added []Mapping
	for n, pair := range pairs {
		r, current, other := rows[n], Mapping{}, byID[pair.BackendID]
		if r.mapping != nil {
			current = *r.mapping
		}
		switch {
		case !r.exists:
			i.fail(pair.Line, "the database has no record %s %d", plan.Resource, pair.Key)
		case pair.RootKey != 0 && pair.RootKey != r.rootKey:
			i.fail(pair.Line, "%s %d belongs to %s %d, not to %d", plan.Resource, pair.Key, plan.Root, r.rootKey, pair.RootKey)
		case current.BackendID != "" && current.BackendID != pair.BackendID:
			i.fail(pair.Line, "%s %d is already mapped to %q", plan.Resource, pair.Key, current.BackendID)
		case other != nil && other.Key != pair.Key:
			i.fail(pair.Line, "backend_id %q is already mapped to %s %d", pair.BackendID, plan.Resource, other.Key)
		case current.BackendID != "": // the ID map has the pair
		case current.Intent != nil:
			i.fail(pair.Line, "%s %d is being created at the backend: wait until a running server has finished that", plan.Resource, pair.Key)
		default:
			mapping := Mapping{Resource: plan.Resource, Key: pair.Key, BackendID: pair.BackendID}
			if !plan.isRoot() {
				mapping = partMapping(plan, pair.Key, pair.BackendID, r.rootKey)
			}
			mapping.Base = []byte(emptyBase)
			added = append(added, mapping)
		}
	}
	return added, nil
}
