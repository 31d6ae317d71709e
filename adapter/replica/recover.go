package replica

import (
	"context"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// settleCreated finds out about a root that was being created: it is at the backend
// and gets its id, or it is not, and then it is removed. The entry returned has no id
// where that is not known, or the record not there. The root is locked.
func (a *Adapter) settleCreated(ctx context.Context, root *keeping, e Mapping) (Mapping, error) {
	n, err := readNote(e)
	if err != nil {
		return e, err
	}
	doc, err := a.backend.FindByKey(ctx, root.Resource, e.Key)
	switch {
	case err == nil:
		return a.made(ctx, root, e, doc)
	case adapter.KindOf(err) == adapter.NotFound:
		if n.By != a.self && time.Since(e.ChangedAt) < a.foreignNote {
			return e, nil // another process may be at it
		}
		if n.Op == created {
			if err := a.remove(ctx, root, e.Key); err != nil {
				return e, err
			}
		}
		e.Intent = nil
		return e, a.side.DeleteMapping(ctx, root.Resource, e.Key)
	case adapter.KindOf(err) == adapter.Unsupported:
		a.unknown.once(a.log, "a record may have been created or not: import its id if the backend has it", root.Resource, e.legacy())
		return e, nil
	default:
		return e, err
	}
}

// made completes the entry of a root with the document that its creation has made. The
// root is locked. The entry has no id where the document is another root's.
func (a *Adapter) made(ctx context.Context, root *keeping, e Mapping, doc Document) (Mapping, error) {
	e.BackendID, e.Intent = doc.ID, nil
	e, _, err := a.merge(ctx, root, e, doc, nil)
	if adapter.KindOf(err) == adapter.Conflict {
		a.unknown.once(a.log, "a record of the backend carries the legacy id of another one: correct it there", root.Resource, doc.ID)
		e.BackendID = ""
		return e, nil
	}
	return e, err
}

// remove deletes a record at the side, if it is there, at all levels.
func (a *Adapter) remove(ctx context.Context, k *keeping, key adapter.Key) error {
	if k.amends {
		err := a.side.DeleteReadOnly(ctx, k.Resource, key)
		if adapter.KindOf(err) == adapter.NotFound {
			return nil
		}
		return err
	}
	levels := []int64{0}
	if k.Resource == adapter.ProductImages { // it stays as long as a level uses it
		views, err := a.views(ctx)
		if err != nil {
			return err
		}
		levels = append(levels, views...)
	}
	for _, level := range levels {
		err := k.store.Delete(ctx, &adapter.DeleteParams{Key: key, StoreID: level})
		if adapter.KindOf(err) == adapter.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// views returns all store views.
func (a *Adapter) views(ctx context.Context) ([]int64, error) {
	stores, err := a.side.Store(adapter.Stores)
	if err != nil {
		return nil, err
	}
	found, err := stores.List(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	views := make([]int64, len(found.Records))
	for i, r := range found.Records {
		views[i] = int64(keyOf(r))
	}
	return views, nil
}

// settle finds out about the write that a note is of, by the document of the root as
// it now is, and makes the side follow. The note still stands in the entry, which is
// stored without it once the document is compared; or the entry has no id any more
// because the record is gone. The root is locked.
func (a *Adapter) settle(ctx context.Context, root *keeping, e Mapping, doc Document, there bool) (Mapping, error) {
	if e.BackendID == "" {
		return e, nil
	}
	n, err := readNote(e)
	if err != nil {
		return e, err
	}
	if n.Op == deleted && n.Resource == root.Resource && !there {
		if err := a.remove(ctx, root, e.Key); err != nil {
			return e, err
		}
		return Mapping{Resource: e.Resource, Key: e.Key}, a.side.DeleteMapping(ctx, root.Resource, e.Key)
	}
	k := a.kept[n.Resource]
	if !there || k == nil {
		return e, nil
	}
	item, parts, err := doc.Read(ctx)
	if err != nil {
		return e, err
	}
	switch {
	case n.Op == updated:
		return e, a.settleUpdated(ctx, root, e, n, item, parts)
	case k.isRoot():
		return e, nil
	case n.Op == deleted:
		return e, a.settlePartDeleted(ctx, k, e, n, parts)
	default:
		return e, a.settlePartCreated(ctx, k, e, n, parts)
	}
}

// settleUpdated puts old values back unless the backend has taken an update: what
// it says of one of the attributes is then something else than before. The side gets
// that when the document is compared.
func (a *Adapter) settleUpdated(ctx context.Context, root *keeping, e Mapping, n note, item Item, parts map[adapter.Resource][]Item) error {
	if e.Base != nil {
		was, err := readBase(root, e)
		if err != nil {
			return err
		}
		k := a.kept[n.Resource]
		before, now := was.item, item.Record
		if !k.isRoot() {
			if before, now, err = a.partItems(ctx, k, e, n.Key, was.parts[k.Resource], parts[k.Resource]); err != nil {
				return err
			}
		}
		for _, name := range n.Named {
			at, ok := k.schema.Index(name)
			if ok && now.Values[at].Kind() != adapter.Absent && !same(before.Values[at], now.Values[at]) {
				return nil
			}
		}
		for _, r := range a.nested(k, n.Named) {
			if items, said := parts[r]; said && !slices.EqualFunc(was.parts[r], items, sameItem) {
				return nil
			}
		}
	}
	return a.putBack(ctx, n)
}

// partItems returns what two documents say of a part: records without values where
// they say nothing.
func (a *Adapter) partItems(ctx context.Context, k *keeping, e Mapping, key adapter.Key, was, is []Item) (before, now adapter.Record, err error) {
	before, now = adapter.NewRecord(k.schema), adapter.NewRecord(k.schema)
	have, err := a.partsAt(ctx, k, e.Key)
	if err != nil {
		return before, now, err
	}
	for _, item := range was {
		if have.find(item) == key {
			before = item.Record
		}
	}
	for _, item := range is {
		if have.find(item) == key {
			now = item.Record
		}
	}
	return before, now, nil
}

// settlePartDeleted removes a part that the backend no longer has.
func (a *Adapter) settlePartDeleted(ctx context.Context, k *keeping, e Mapping, n note, parts map[adapter.Resource][]Item) error {
	items, said := parts[k.Resource]
	have, err := a.partsAt(ctx, k, e.Key)
	if err != nil || !said {
		return err
	}
	if slices.ContainsFunc(items, func(i Item) bool { return have.find(i) == n.Key }) {
		return a.putBack(ctx, n)
	}
	if err := a.remove(ctx, k, n.Key); err != nil {
		return err
	}
	return a.side.DeleteMapping(ctx, k.Resource, n.Key)
}

// settlePartCreated keeps a new part that the backend has, and removes one that it
// has not, or that cannot be told from others: the document's then comes as any other
// part of the backend.
func (a *Adapter) settlePartCreated(ctx context.Context, k *keeping, e Mapping, n note, parts map[adapter.Resource][]Item) error {
	have, err := a.partsAt(ctx, k, e.Key)
	if err != nil {
		return err
	}
	for key := range have.records {
		_, before := n.Before[key]
		if n.Op == pushed && key != n.Key || n.Op == created && before || have.ids[key] != "" {
			continue
		}
		found := slices.IndexFunc(parts[k.Resource], func(i Item) bool {
			if k.HasIDs {
				return i.Key == key && i.ID != "" && have.byID[i.ID] == 0
			}
			return have.find(i) == key
		})
		switch {
		case found >= 0 && k.HasIDs:
			err = a.side.PutMappings(ctx, partEntry(k, key, parts[k.Resource][found].ID, e.Key))
		case found < 0 && n.Op == created:
			if err = a.remove(ctx, k, key); err == nil {
				err = a.putBackOthers(ctx, n)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
