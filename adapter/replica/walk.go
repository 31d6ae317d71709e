package replica

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// A walker joins the data of the local replica, the ID map and the backend.
type walker struct {
	replica Replica
	backend Backend
	schemas *adapter.Schemas
	plans   map[adapter.Resource]*resourcePlan
	ordered []*resourcePlan // plans in the order of Backend.Resources
	closed  atomic.Bool
}

var errClosed = errors.New("the adapter is closed")

// checkOpen returns an error once the adapter is closed.
func (w *walker) checkOpen(op string) error {
	if w.closed.Load() {
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: errClosed}
	}
	return nil
}

// A row is one row of the join of the local replica, the ID map and the backend: the data that
// each of them holds of one record.
type row struct {
	key     adapter.Key    // the legacy id; 0 for a document without a mapping
	exists  bool           // the local replica has the record
	mapping *idmap.Mapping // nil for none
	doc     *Document      // nil for none, or one that was not looked up
	// outdated: the document refers to a record that has got its legacy id since the
	// document was last reconciled.
	outdated bool
}

// rowsOf returns rows of these keys, with their mappings. As all reads and changes of records
// begin with it, it fails once the adapter is closed.
func (w *walker) rowsOf(ctx context.Context, plan *resourcePlan, keys []adapter.Key) ([]row, error) {
	rows := convert(keys, func(key adapter.Key) row { return row{key: key} })
	if err := w.checkOpen("read records"); err != nil {
		return rows, err
	}
	return rows, w.addMappings(ctx, plan, rows)
}

// rowsToCompare is rowsOf for comparing versions: the mappings come from
// [idmap.Map.VersionsByKey], unless the base has unresolved references, and cannot be merged.
func (w *walker) rowsToCompare(ctx context.Context, plan *resourcePlan, keys []adapter.Key) ([]row, error) {
	if err := w.checkOpen("read records"); err != nil {
		return nil, err
	}
	mappings, err := w.replica.VersionsByKey(ctx, plan.Resource, keys)
	if err != nil {
		return nil, err
	}
	rows := convert(keys, func(key adapter.Key) row { return row{key: key} })
	setMappings(rows, mappings)
	var unresolved []adapter.Key
	for _, m := range mappings {
		if hasUnresolved(m.Base) {
			unresolved = append(unresolved, m.Key)
		}
	}
	if len(unresolved) > 0 {
		mappings, err = w.replica.MappingsByKey(ctx, plan.Resource, unresolved)
		setMappings(rows, mappings)
	}
	return rows, err
}

// setMappings sets the mappings of the rows that have one among mappings.
func setMappings(rows []row, mappings []idmap.Mapping) {
	byKey := idmap.ByKey(mappings)
	for i := range rows {
		if m := byKey[rows[i].key]; m != nil {
			rows[i].mapping = m
		}
	}
}

// rowOf returns the row of a key, with its mapping.
func (w *walker) rowOf(ctx context.Context, plan *resourcePlan, key adapter.Key) (row, error) {
	rows, err := w.rowsOf(ctx, plan, []adapter.Key{key})
	return rows[0], err
}

// rowWithRecord is rowOf with the data of the local replica.
func (w *walker) rowWithRecord(ctx context.Context, plan *resourcePlan, key adapter.Key) (row, error) {
	rows, err := w.rowsOf(ctx, plan, []adapter.Key{key})
	if err == nil {
		err = w.addRecords(ctx, plan, rows)
	}
	return rows[0], err
}

// keysOf returns the keys of rows.
func keysOf(rows []row) []adapter.Key {
	return convert(rows, func(r row) adapter.Key { return r.key })
}

// A source is the system whose records a walk follows.
type source string

const (
	fromReplica source = "records"   // every record of the local replica, with its mapping
	fromIDMap   source = "mappings"  // every mapping, with its record, and its document if it is a root
	fromBackend source = "documents" // every document of a root, with its mapping
)

// batchSize is the number of rows that a walk passes on at a time, except that the backend
// decides how many documents it returns.
const batchSize = 100

// walk passes one row for each record that a source holds of a resource to act, batch by
// batch. It stops at the first error of act and returns it. since is for documents (see
// Backend.Scan).
func (w *walker) walk(ctx context.Context, plan *resourcePlan, from source, since time.Time, act func([]row) error) error {
	if from == fromBackend {
		return w.backend.Scan(ctx, plan.Resource, since, func(docs []Document) error {
			rows, err := w.rowsOfDocuments(ctx, plan, docs)
			if err != nil {
				return err
			}
			return act(rows)
		})
	}
	next := w.nextRecords
	if from == fromIDMap {
		next = w.nextMappings
	}
	for after := adapter.Key(-1); ; { // the customer group of guests has key 0
		rows, err := next(ctx, plan, after)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := act(rows); err != nil {
			return err
		}
		after = rows[len(rows)-1].key
	}
}

// nextRecords returns the records of the local replica whose keys follow after.
func (w *walker) nextRecords(ctx context.Context, plan *resourcePlan, after adapter.Key) ([]row, error) {
	q := adapter.Query{Limit: batchSize}
	if after >= 0 {
		q.After = &adapter.Cursor{Key: after}
	}
	records, err := plan.localRecords().List(ctx, &adapter.ListParams{Query: q, Only: []string{}})
	if err != nil {
		return nil, err
	}
	rows := convert(records, func(r adapter.Record) row { return row{key: r.Key(), exists: true} })
	return rows, w.addMappings(ctx, plan, rows)
}

// nextMappings returns the mappings whose keys follow after.
func (w *walker) nextMappings(ctx context.Context, plan *resourcePlan, after adapter.Key) ([]row, error) {
	mappings, err := w.replica.ListMappings(ctx, plan.Resource, after, batchSize)
	if err != nil {
		return nil, err
	}
	rows := convert(mappings, func(m idmap.Mapping) row { return row{key: m.Key, mapping: &m} })
	if err := w.addRecords(ctx, plan, rows); err != nil || !plan.isRoot() {
		return rows, err
	}
	return rows, w.addDocuments(ctx, plan, rows)
}

// rowsOfDocuments returns documents with their mappings.
func (w *walker) rowsOfDocuments(ctx context.Context, root *resourcePlan, docs []Document) ([]row, error) {
	mappings, err := w.replica.MappingsByBackendID(ctx, root.Resource, convert(docs, func(d Document) string { return d.ID }))
	if err != nil {
		return nil, err
	}
	byID := idmap.ByBackendID(mappings)
	rows := convert(docs, func(d Document) row {
		if m := byID[d.ID]; m != nil {
			return row{key: m.Key, mapping: m, doc: &d}
		}
		return row{doc: &d}
	})
	return rows, w.addOutdated(ctx, rows)
}

// addRecords looks up the rows that the local replica has, by their keys.
func (w *walker) addRecords(ctx context.Context, plan *resourcePlan, rows []row) error {
	rootKeys, err := plan.findRecords(ctx, keysOf(rows))
	for i := range rows {
		_, rows[i].exists = rootKeys[rows[i].key]
	}
	return err
}

// addMappings looks up the mappings of rows by their keys.
func (w *walker) addMappings(ctx context.Context, plan *resourcePlan, rows []row) error {
	mappings, err := w.replica.MappingsByKey(ctx, plan.Resource, keysOf(rows))
	setMappings(rows, mappings)
	return err
}

// addDocuments fetches the documents of the rows that have none, by the backend ids of their
// mappings.
func (w *walker) addDocuments(ctx context.Context, root *resourcePlan, rows []row) error {
	byID := make(map[string]*row, len(rows))
	ids := make([]string, 0, len(rows))
	for i := range rows {
		if m := rows[i].mapping; m != nil && m.BackendID != "" && rows[i].doc == nil {
			byID[m.BackendID], ids = &rows[i], append(ids, m.BackendID)
		}
	}
	if len(ids) > 0 {
		docs, err := w.backend.Fetch(ctx, root.Resource, ids)
		if err != nil {
			return asUnavailable("fetch "+string(root.Resource), err)
		}
		for i := range docs {
			if r, requested := byID[docs[i].ID]; requested {
				r.doc = &docs[i]
			}
		}
	}
	return w.addOutdated(ctx, rows)
}

// find returns the document of a root whose backend id is unknown: see Backend.Find. A document that the ID map
// has for another root is not its document.
func (w *walker) find(ctx context.Context, root *resourcePlan, key adapter.Key) (doc Document, err error) {
	record, err := root.get(ctx, key)
	if err != nil && adapter.KindOf(err) != adapter.NotFound {
		return doc, err
	}
	if doc, err = w.backend.Find(ctx, root.Resource, key, record); err != nil {
		return doc, err
	}
	mappings, err := w.replica.MappingsByBackendID(ctx, root.Resource, []string{doc.ID})
	if err == nil && len(mappings) > 0 && mappings[0].Key != key {
		err = notFound("find", root.Resource, key)
	}
	return doc, err
}

// addOutdated finds the unchanged documents that must be read again because one of their
// references can be resolved now.
func (w *walker) addOutdated(ctx context.Context, rows []row) error {
	all := map[adapter.Resource][]string{}
	for i := range rows {
		for r, ids := range rows[i].unresolved() {
			all[r] = append(all[r], ids...)
		}
	}
	for r, ids := range all {
		slices.Sort(ids)
		mappings, err := w.replica.MappingsByBackendID(ctx, r, slices.Compact(ids))
		if err != nil {
			return err
		}
		resolved := idmap.ByBackendID(mappings)
		hasKey := func(id string) bool { return resolved[id] != nil && resolved[id].Key != 0 } // no document can refer to key 0
		for i := range rows {
			rows[i].outdated = rows[i].outdated || slices.ContainsFunc(rows[i].unresolved()[r], hasKey)
		}
	}
	return nil
}

// unresolved returns the unresolved references of a row that is in sync.
func (r *row) unresolved() map[adapter.Resource][]string {
	if r.doc == nil || r.state() != inSync {
		return nil
	}
	return unresolvedIn(r.mapping.Base)
}

// reordered reports whether the elements that two lists without duplicates share are in another order
// in the second one.
func reordered(before, after []string) bool {
	return !slices.Equal(sharedWith(after, before), sharedWith(before, after))
}

// sharedWith returns the elements of a list that another list has, too.
func sharedWith(other, list []string) []string {
	has := make(map[string]bool, len(other))
	for _, one := range other {
		has[one] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return !has[one] })
}

// pending remembers roots for later work. It remembers maxPending of a resource at most.
type pending struct {
	mu   sync.Mutex
	keys map[adapter.Resource]map[adapter.Key]bool
}

const maxPending = 10_000

// Add remembers a root.
func (p *pending) Add(r adapter.Resource, key adapter.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == nil {
		p.keys = map[adapter.Resource]map[adapter.Key]bool{}
	}
	if p.keys[r] == nil {
		p.keys[r] = map[adapter.Key]bool{}
	}
	if len(p.keys[r]) < maxPending {
		p.keys[r][key] = true
	}
}

// Take returns the roots of a resource, sorted, and forgets them.
func (p *pending) Take(r adapter.Resource) []adapter.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := slices.Sorted(maps.Keys(p.keys[r]))
	delete(p.keys, r)
	return keys
}
