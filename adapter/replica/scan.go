package replica

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// maxTold bounds what is remembered of what the log was told.
const maxTold = 10_000

// told remembers what the log was told, so that it is told once.
type told struct {
	mu   sync.Mutex
	what map[string]bool
}

// once tells the log of a record, unless it knows. id is the backend's, or says that
// it is not.
func (t *told) once(log *slog.Logger, message string, r adapter.Resource, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what := message + string(r) + " " + id
	if t.what[what] || len(t.what) >= maxTold {
		return
	}
	if t.what == nil {
		t.what = map[string]bool{}
	}
	t.what[what] = true
	log.Warn(message, "resource", r, "record", id)
}

// legacy names the entry for the log.
func (e Mapping) legacy() string { return "legacy id " + strconv.FormatInt(int64(e.Key), 10) }

// scanAlways scans at once, and then ever again, until ctx ends.
func (a *Adapter) scanAlways(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := a.Scan(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("the backend was not scanned to the end", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// overlap is how much of the time before the last scan the next one looks at again:
// the clock of the backend is another one.
const overlap = 5 * time.Minute

// Scan looks once for writes that did not come to their end, and then for what is new
// or changed at the backend. It returns when all of that is done, or the first error
// of a side that does not answer.
func (a *Adapter) Scan(ctx context.Context) error {
	if err := a.open("scan " + a.Name()); err != nil {
		return err
	}
	select {
	case a.scanning <- struct{}{}:
		defer func() { <-a.scanning }()
	case <-ctx.Done():
		return ctx.Err()
	}
	a.settleAll(ctx, "")
	var faults []error
	for _, root := range a.roots {
		begun := time.Now()
		since := a.scans[root.Resource]
		if !since.IsZero() {
			since = since.Add(-overlap)
		}
		whole := true
		err := a.backend.Scan(ctx, root.Resource, since, func(docs []Document) error {
			all, err := a.meet(ctx, root, docs)
			whole = whole && all
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if adapter.KindOf(err) == adapter.Unsupported && err != nil {
			continue // it cannot list them
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if whole {
			a.scans[root.Resource] = begun
		}
	}
	return errors.Join(faults...)
}

// settleLimit bounds how many notes one scan looks after.
const settleLimit = 1000

// settleAll looks after the writes of a resource, or of all for "", that did not come
// to their end and that nobody is at. It returns how many are settled.
func (a *Adapter) settleAll(ctx context.Context, r adapter.Resource) (settled int) {
	noted, err := a.side.MappingsWithIntent(ctx, time.Now().Add(time.Second), settleLimit)
	if err != nil {
		a.log.Warn("notes of writes cannot be read", "error", err)
		return 0
	}
	open := 0
	for _, e := range noted {
		root := a.kept[e.Resource]
		if root == nil || !root.isRoot() || r != "" && r != e.Resource || ctx.Err() != nil {
			continue
		}
		done, err := a.settleOne(ctx, root, e.Key)
		if adapter.KindOf(err) == adapter.Unavailable {
			open = len(noted) - settled // it would be as it is with this one
			break
		}
		if done {
			settled++
		} else {
			open++
		}
	}
	if r == "" {
		a.metrics.noted.Set(float64(open))
	}
	return settled
}

// settleOne looks after the note of one root, unless its writer is still at it. It
// reports whether the note is gone.
func (a *Adapter) settleOne(ctx context.Context, root *keeping, key adapter.Key) (bool, error) {
	unlock, ok := a.locks.try(record{root.Resource, key})
	if !ok {
		return false, nil
	}
	defer unlock()
	if _, err := a.current(ctx, root, []adapter.Key{key}); err != nil {
		return false, err
	}
	entries, err := a.side.MappingsByKey(ctx, root.Resource, []adapter.Key{key})
	return err == nil && (len(entries) == 0 || entries[0].Intent == nil), err
}

// meet looks at documents of the backend: what is known is brought up to date, and
// what is not is taken over. It reports whether it could decide on all of them.
func (a *Adapter) meet(ctx context.Context, root *keeping, docs []Document) (all bool, err error) {
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.ID
	}
	entries, err := a.side.MappingsByBackendID(ctx, root.Resource, ids)
	if err != nil {
		return false, err
	}
	known := make(map[string]Mapping, len(entries))
	for _, e := range entries {
		known[e.BackendID] = e
	}
	var late []adapter.Key
	all = true
	for _, doc := range docs {
		if e, ok := known[doc.ID]; ok {
			a.hidden.show(root.Resource, e.Key)
			if e.Version != doc.Version || e.Base == nil || e.Intent != nil {
				late = append(late, e.Key)
			}
			continue
		}
		decided, err := a.welcome(ctx, root, doc)
		if err != nil {
			return false, err
		}
		all = all && decided
	}
	if err := a.refreshMet(ctx, root, late); err != nil {
		return false, err
	}
	return all, nil
}

// refreshMet brings roots up to date that a scan has met. One that cannot be is said,
// and does not keep the others from it.
func (a *Adapter) refreshMet(ctx context.Context, root *keeping, late []adapter.Key) error {
	if len(late) == 0 {
		return nil
	}
	_, err := a.refresh(ctx, root, late)
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, key := range late {
		if _, err := a.refresh(ctx, root, []adapter.Key{key}); err != nil {
			a.log.Warn("a record is not brought up to date with the backend", "resource", root.Resource, "id", key, "error", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// welcome takes over a document that has no entry. It reports whether it could decide
// on it: one that may be of a record that is just being created is left to the next
// scan.
func (a *Adapter) welcome(ctx context.Context, root *keeping, doc Document) (decided bool, err error) {
	item, parts, err := doc.Read(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		a.unknown.once(a.log, "a record of the backend cannot be read: "+err.Error(), root.Resource, doc.ID)
		return false, nil
	}
	if item.Key != 0 {
		return a.claim(ctx, root, doc, item, parts)
	}
	noted, err := a.side.MappingsWithIntent(ctx, time.Now().Add(time.Second), settleLimit)
	if err != nil {
		return false, err
	}
	for _, e := range noted {
		if e.Resource == root.Resource && e.BackendID == "" {
			return false, nil
		}
	}
	// What this adapter or another one created stands in the ledger by now.
	entries, err := a.side.MappingsByBackendID(ctx, root.Resource, []string{doc.ID})
	if err != nil || len(entries) > 0 {
		return true, err
	}
	if a.unmapped == RefuseUnmapped {
		a.metrics.unmapped.WithLabelValues(string(root.Resource)).Inc()
		a.unknown.once(a.log, "a record of the backend has no legacy id: import one, or have ids allocated", root.Resource, doc.ID)
		return true, nil
	}
	return true, a.adopt(ctx, root, 0, doc, item, parts)
}

// claim takes over a document that carries a legacy id.
func (a *Adapter) claim(ctx context.Context, root *keeping, doc Document, item Item, parts map[adapter.Resource][]Item) (decided bool, err error) {
	unlock, err := a.locks.lock(ctx, record{root.Resource, item.Key})
	if err != nil {
		return false, err
	}
	defer unlock()
	entries, err := a.side.MappingsByKey(ctx, root.Resource, []adapter.Key{item.Key})
	switch {
	case err != nil:
		return false, err
	case len(entries) == 0:
		_, err := root.get(ctx, item.Key)
		if adapter.KindOf(err) == adapter.NotFound {
			return true, a.adopt(ctx, root, item.Key, doc, item, parts)
		}
		if err != nil {
			return false, err
		}
		e, _, err := a.merge(ctx, root, Mapping{Resource: root.Resource, Key: item.Key, BackendID: doc.ID, Base: []byte(nothingKnown)}, doc, nil)
		if err == nil {
			a.hidden.show(root.Resource, e.Key)
		}
		return true, err
	case entries[0].BackendID == "":
		e, err := a.made(ctx, root, entries[0], doc)
		if err == nil && e.BackendID != "" {
			a.hidden.show(root.Resource, e.Key)
		}
		return e.BackendID != "", err
	case entries[0].BackendID != doc.ID:
		a.metrics.unmapped.WithLabelValues(string(root.Resource)).Inc()
		a.unknown.once(a.log, "a record of the backend carries the legacy id of another one: correct it there", root.Resource, doc.ID)
		return true, nil
	default:
		return true, nil
	}
}

// adopt stores a record that only the backend has, with its parts, under a key, or the
// next for 0. What the side refuses is left out, and said.
func (a *Adapter) adopt(ctx context.Context, root *keeping, key adapter.Key, doc Document, item Item, parts map[adapter.Resource][]Item) error {
	is := base{item: item.Record, parts: map[adapter.Resource][]Item{}}
	records := []ImportedRecord{{Mapping: Mapping{Resource: root.Resource, Key: key, BackendID: doc.ID, Version: doc.Version}, Record: root.adopted(item)}}
	for _, k := range root.parts {
		items, said := parts[k.Resource]
		if !said {
			continue
		}
		is.parts[k.Resource] = items
		for _, part := range items {
			if k.ImportsParts {
				records = append(records, ImportedRecord{Mapping: Mapping{Resource: k.Resource, Key: part.Key, BackendID: part.ID, Root: root.Resource}, RootAttribute: k.RootAttribute, Record: k.adopted(part)})
			}
		}
	}
	var err error
	if records[0].Mapping, err = writeBase(records[0].Mapping, is); err != nil {
		return err
	}
	_, err = a.side.ImportRecords(ctx, records)
	switch {
	case err == nil:
		a.metrics.adopted(root.Resource)
		if referredTo(root.Resource) {
			return a.side.InvalidateVersions(ctx)
		}
		return nil
	case refused(err):
		a.metrics.left(root.Resource)
		a.unknown.once(a.log, "a record of the backend is not taken over: "+err.Error(), root.Resource, doc.ID)
		return nil
	default:
		return err
	}
}

// referredTo reports whether documents that are known may refer to a record that has
// just got its legacy id. Customers and products, which are many, come before the
// orders that name them.
func referredTo(r adapter.Resource) bool {
	return r == adapter.Websites || r == adapter.CustomerGroups || r == adapter.Categories
}

// nothingKnown is the base of an entry that says no more than that a document is of a
// legacy id: all that the document says is taken over.
const nothingKnown = "{}"

// admit adopts a record that has an entry already, which somebody imported, if the
// side has not got it. It reports whether the side has it then. The root is locked.
func (a *Adapter) admit(ctx context.Context, root *keeping, e Mapping, doc Document) (Mapping, bool, error) {
	if _, err := root.get(ctx, e.Key); adapter.KindOf(err) != adapter.NotFound {
		return e, err == nil, err
	}
	item, parts, err := doc.Read(ctx)
	if err != nil {
		return e, false, err
	}
	owned, err := a.side.MappingsOfParts(ctx, root.Resource, e.Key)
	if err != nil {
		return e, false, err
	}
	for _, part := range owned {
		items := parts[part.Resource]
		for i := range items {
			if items[i].ID == part.BackendID && part.BackendID != "" {
				items[i].Key = part.Key
			}
		}
	}
	if err := a.side.DeleteMapping(ctx, root.Resource, e.Key); err != nil {
		return e, false, err
	}
	if err := a.adopt(ctx, root, e.Key, doc, item, parts); err != nil {
		return e, false, errors.Join(err, a.enterAside(ctx, append(owned, e)...))
	}
	entries, err := a.side.MappingsByKey(ctx, root.Resource, []adapter.Key{e.Key})
	if err != nil {
		return e, false, err
	}
	if len(entries) == 1 {
		return entries[0], true, nil
	}
	return e, false, a.enterAside(ctx, append(owned, e)...) // refused, so they stay as they were
}
