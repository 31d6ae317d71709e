package idmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// An Importer adds mappings to an ID map for records that both the local replica and the
// backend already have.
type Importer struct {
	Map Map
	// Resources are the resources that the backend owns in part. Pairs are stored in their
	// order.
	Resources []Resource
	// FindRecords looks for records of a resource in the local replica. It returns the keys of
	// the existing ones, each with the key of its root, which is its own for a root.
	FindRecords func(ctx context.Context, r adapter.Resource, keys []adapter.Key) (rootKeys map[adapter.Key]adapter.Key, err error)
}

// A Resource describes a resource for an Importer.
type Resource struct {
	Name adapter.Resource
	Root adapter.Resource // for parts: the resource of their roots; a root is its own root
	// HasMappings: the records have ids at the backend. Some parts have none.
	HasMappings bool
}

func (r *Resource) isRoot() bool { return r.Root == r.Name }

// A Pair is a legacy id with its backend id.
type Pair struct {
	Line      int // line in the file that the pair is from, for errors
	Resource  adapter.Resource
	Key       adapter.Key
	BackendID string
	RootKey   adapter.Key // for a part: the legacy id of its root; 0 if the file does not have it
}

// An ImportResult counts the pairs of an import, or of a dry run.
type ImportResult struct {
	Rows     int // pairs given
	Existing int // pairs that the ID map already had
	Stored   int // pairs added to the ID map
}

// importBatch is the number of pairs that are checked or stored together.
const importBatch = 100

// Import adds pairs to the ID map. It skips pairs that the ID map already has, so that an
// import can be repeated. Their base is EmptyBase. With dryRun it checks the pairs and stores
// nothing. progress, unless nil, is called now and then with the number of pairs checked or
// stored.
//
// If any pair is invalid, Import fails with adapter.LineErrors and stores nothing. Other
// kinds: Unavailable, Internal, and Conflict when another process stored one of the pairs
// meanwhile; some pairs may then have been stored.
func (i *Importer) Import(ctx context.Context, pairs []Pair, dryRun bool, progress func(done, total int)) (ImportResult, error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	c := pairCheck{Importer: i}
	valid := c.group(pairs)
	result := ImportResult{Rows: len(pairs)}
	var added []Mapping
	checked := 0
	for _, r := range i.Resources {
		for batch := range slices.Chunk(valid[r.Name], importBatch) {
			mappings, err := c.checkBatch(ctx, r, batch)
			if err != nil {
				return result, err
			}
			added = append(added, mappings...)
			checked += len(batch)
			progress(checked, len(pairs))
		}
	}
	if c.errs != nil {
		return result, c.errs
	}
	result.Existing = len(pairs) - len(added)
	if dryRun {
		return result, nil
	}
	for batch := range slices.Chunk(added, importBatch) {
		if err := i.Map.PutMappings(ctx, batch...); err != nil {
			return result, err
		}
		result.Stored += len(batch)
		progress(result.Existing+result.Stored, len(pairs))
	}
	return result, nil
}

// A pairCheck checks the pairs of one import.
type pairCheck struct {
	*Importer
	errs adapter.LineErrors
}

// fail adds the error of a line.
func (c *pairCheck) fail(line int, format string, arguments ...any) {
	c.errs = append(c.errs, adapter.LineError{Line: line, Message: fmt.Sprintf(format, arguments...)})
}

// group returns the pairs by resource, without pairs of resources that have no mappings and
// pairs that repeat an id.
func (c *pairCheck) group(pairs []Pair) map[adapter.Resource][]Pair {
	resources := make(map[adapter.Resource]Resource, len(c.Resources))
	for _, r := range c.Resources {
		resources[r.Name] = r
	}
	valid := map[adapter.Resource][]Pair{}
	// The line on which each id was first seen.
	keyLines, idLines := map[ref[adapter.Key]]int{}, map[ref[string]]int{}
	for _, pair := range pairs {
		r, known := resources[pair.Resource]
		key, id := ref[adapter.Key]{r.Name, pair.Key}, ref[string]{r.Name, pair.BackendID}
		switch {
		case !known:
			c.fail(pair.Line, "the backend has no resource %q", string(pair.Resource))
			continue
		case !r.HasMappings:
			c.fail(pair.Line, "%s have no ids at the backend: leave them out", r.Name)
			continue
		case r.isRoot() && pair.RootKey != 0:
			c.fail(pair.Line, "%s do not belong to another record: leave owner_id empty", r.Name)
			continue
		case keyLines[key] != 0:
			c.fail(pair.Line, "%s %d is already on line %d", r.Name, pair.Key, keyLines[key])
		case idLines[id] != 0:
			c.fail(pair.Line, "backend_id %q is already on line %d", pair.BackendID, idLines[id])
		default:
			valid[r.Name] = append(valid[r.Name], pair)
		}
		keyLines[key], idLines[id] = cmp.Or(keyLines[key], pair.Line), cmp.Or(idLines[id], pair.Line)
	}
	return valid
}

// checkBatch compares pairs of one resource with the local replica and the ID map, and
// returns the mappings to be stored.
func (c *pairCheck) checkBatch(ctx context.Context, r Resource, pairs []Pair) ([]Mapping, error) {
	keys, ids := make([]adapter.Key, len(pairs)), make([]string, len(pairs))
	for n, pair := range pairs {
		keys[n], ids[n] = pair.Key, pair.BackendID
	}
	rootKeys, err := c.FindRecords(ctx, r.Name, keys)
	ofKeys, keyErr := c.Map.MappingsByKey(ctx, r.Name, keys)
	ofIDs, idErr := c.Map.MappingsByBackendID(ctx, r.Name, ids)
	if err := errors.Join(err, keyErr, idErr); err != nil {
		return nil, err
	}
	byKey, byID := ByKey(ofKeys), ByBackendID(ofIDs)
	var added []Mapping
	for _, pair := range pairs {
		rootKey, exists := rootKeys[pair.Key]
		var current Mapping
		if m := byKey[pair.Key]; m != nil {
			current = *m
		}
		other := byID[pair.BackendID]
		switch {
		case !exists:
			c.fail(pair.Line, "the database has no record %s %d", r.Name, pair.Key)
		case pair.RootKey != 0 && pair.RootKey != rootKey:
			c.fail(pair.Line, "%s %d belongs to %s %d, not to %d", r.Name, pair.Key, r.Root, rootKey, pair.RootKey)
		case current.BackendID != "" && current.BackendID != pair.BackendID:
			c.fail(pair.Line, "%s %d is already mapped to %q", r.Name, pair.Key, current.BackendID)
		case other != nil && other.Key != pair.Key:
			c.fail(pair.Line, "backend_id %q is already mapped to %s %d", pair.BackendID, r.Name, other.Key)
		case current.BackendID != "": // the ID map has the pair
		case current.Intent != nil:
			c.fail(pair.Line, "%s %d is being created at the backend: wait until a running server has finished that", r.Name, pair.Key)
		default:
			mapping := Mapping{Resource: r.Name, Key: pair.Key, BackendID: pair.BackendID, Base: []byte(EmptyBase)}
			if !r.isRoot() {
				mapping.Root, mapping.RootKey = r.Root, rootKey
			}
			added = append(added, mapping)
		}
	}
	return added, nil
}
