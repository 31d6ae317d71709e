package reststore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
)

// views configures how the values of records at store views are read: by the same request for each store
// view, whose backend id is $view.
type views struct {
	documentRequest
	Attributes []string    `need:"true"` // whose values may differ by store view
	Read       *expression `need:"true" vars:""`
}

func (v *views) check(l *loader, p place) { v.documentRequest.check(l, p) }

// checkViews checks the values at store views.
func (l *loader) checkViews(p place, r *resource) {
	l.checkBatch(p, &r.Views.documentRequest)
	for i, name := range r.Views.Attributes {
		a := attributeOf(r.schema, name)
		isScoped := a != nil && a.Scope != adapter.ScopeGlobal && slices.Contains(r.Attributes, name)
		l.Require(isScoped, p.In("attributes").Element(i), "is %.40q, which must be in the attributes of %s, and may differ by store view", name, r.name)
	}
	r.viewNames = r.keysOf(func(name string) bool { return slices.Contains(r.Views.Attributes, name) })
	l.checkKeys(p.In("read"), r.Views.Read, r.viewNames)
}

const (
	// storeViewsAge is how long the list of store views is used before it is read again.
	storeViewsAge = time.Minute
	// maxStoreViews bounds the number of store views, each of which is a request.
	maxStoreViews = 1000
)

// storeViews are the store views of the backend. It is safe for concurrent use.
type storeViews struct {
	mu   sync.Mutex
	read time.Time
	ids  []string
}

// storeViews returns the backend ids of the store views.
func (b *Backend) storeViews(ctx context.Context) ([]string, error) {
	b.views.mu.Lock()
	defer b.views.mu.Unlock()
	if !b.views.read.IsZero() && time.Since(b.views.read) < storeViewsAge {
		return b.views.ids, nil
	}
	k := call{string(adapter.Stores), "scan"}
	r, err := b.resource(adapter.Stores, k.op())
	if err != nil {
		return nil, err
	}
	var ids []string
	err = b.eachPage(ctx, k, r, r.Scan, nil, func(documents []replica.Document) error {
		for _, d := range documents {
			ids = append(ids, d.ID)
		}
		if len(ids) > maxStoreViews {
			return &adapter.Error{Kind: adapter.Internal, Op: k.op(), Err: fmt.Errorf("the backend has more than %d store views", maxStoreViews)}
		}
		return nil
	})
	if err == nil {
		b.views.ids, b.views.read = ids, time.Now()
	}
	return ids, err
}

// A viewBatch reads the values at store views of the documents of one response. The first document is read
// alone, as most responses have at most one that has changed; the others are read together. It is safe for
// concurrent use.
type viewBatch struct {
	*Backend
	resource *resource
	call     call

	mu      sync.Mutex
	waiting []string                       // ids of documents that are not read yet
	found   map[string]map[string]document // by id: the document at each store view
}

func (b *Backend) newViewBatch(r *resource, k call, documents []document) *viewBatch {
	v := &viewBatch{Backend: b, resource: r, call: k, found: map[string]map[string]document{}}
	if r.Views != nil {
		for _, d := range documents {
			v.waiting = append(v.waiting, d.id)
		}
	}
	return v
}

// of returns the documents of a record by store view.
func (v *viewBatch) of(ctx context.Context, id string) (map[string]document, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if found, known := v.found[id]; known {
		return found, nil
	}
	wanted := []string{id}
	if len(v.found) > 0 {
		wanted = v.waiting
	}
	stores, err := v.storeViews(ctx)
	if err != nil {
		return nil, err
	}
	byStore := make([][]document, len(stores))
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(v.client.connection.Limits.InFlight)
	for i, store := range stores {
		group.Go(func() (err error) {
			byStore[i], err = inBatches(inGroup, v.client, wanted, v.resource.Views.Batch, func(ctx context.Context, ids []string) ([]document, error) {
				resp, err := v.client.send(ctx, v.call, &v.resource.Views.request, nil, anys(ids), ids[0], store)
				if err != nil {
					return nil, err
				}
				return v.client.documents(ctx, &v.resource.Views.documentRequest, resp, v.resource.ID)
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, readError(ctx, v.call.op(), err)
	}
	for _, id := range wanted {
		v.found[id] = map[string]document{}
	}
	for i, documents := range byStore {
		for _, d := range documents {
			if found, asked := v.found[d.id]; asked {
				found[stores[i]] = d
			}
		}
	}
	v.waiting = slices.DeleteFunc(v.waiting, func(id string) bool { return v.found[id] != nil })
	return v.found[id], nil
}

// read returns the values of a record at the store views that have a legacy id. shown is the record at the
// default scope.
func (v *viewBatch) read(ctx context.Context, id string, shown adapter.Record, keys *documentReader) (replica.Views, error) {
	documents, err := v.of(ctx, id)
	if err != nil {
		return nil, err
	}
	wanted := map[adapter.Resource][]string{}
	for store := range documents {
		wanted[adapter.Stores] = append(wanted[adapter.Stores], store)
	}
	if err := keys.lookUp(ctx, v.ids, wanted); err != nil {
		return nil, err
	}
	all := replica.Views{}
	for store, d := range documents {
		key := keys.get(adapter.Stores, store)
		if key == 0 {
			keys.unresolved[adapter.Stores] = append(keys.unresolved[adapter.Stores], store)
			continue
		}
		if all[key], err = v.readAt(ctx, d, shown, keys); err != nil {
			return nil, fmt.Errorf("store view %.40s: %w", store, err)
		}
	}
	return all, nil
}

// readAt returns the values of a record at one store view. The document shows inherited values as well: they
// are the values that equal the default ones.
func (v *viewBatch) readAt(ctx context.Context, d document, shown adapter.Record, keys *documentReader) (adapter.Record, error) {
	r := v.resource
	input, err := v.mapping.decode(r, d)
	if err != nil {
		return adapter.Record{}, err
	}
	view, err := v.evalRecord(ctx, r, r.Views.Read, input, r.viewNames, keys)
	if err != nil {
		return adapter.Record{}, err
	}
	for i, value := range view.Values {
		before := shown.Values[i]
		switch {
		case value.Kind() == adapter.Absent:
		case value.Equal(before), value.Empty() && before.Empty():
			view.Values[i] = adapter.NullValue()
		case value.Kind() == adapter.Null && r.schema.Attributes[i].Kind == adapter.KindText:
			view.Values[i] = adapter.TextValue("")
		}
	}
	return view, nil
}

// viewInputs returns the changes at store views that expressions see: the ones of store views that the backend
// has.
func (b *Backend) viewInputs(ctx context.Context, r *resource, w *replica.Write, ids *writeIDs) ([]any, error) {
	list := []any{}
	if r.Views == nil || len(w.Views) == 0 {
		return list, nil
	}
	var keys []adapter.Key
	for _, view := range w.Views {
		keys = append(keys, view.Store)
	}
	stores, err := b.ids.BackendIDs(ctx, adapter.Stores, keys)
	if err != nil {
		return nil, err
	}
	for _, view := range w.Views {
		id, known := stores[view.Store]
		if !known {
			continue
		}
		changed := make(map[string]any, len(view.Changed))
		for _, name := range view.Changed {
			changed[name] = true
		}
		list = append(list, map[string]any{
			"id": id, "key": expr.FromInteger(int64(view.Store)), "old": r.fromRecord(view.Old, "", ids), "new": r.fromRecord(view.New, "", ids), "changed": changed,
		})
	}
	return list, nil
}
