package reststore

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"sync"
)

// fetchVersions is Fetch for a resource with Versions: it requests only ids and versions. The
// documents of one request are fetched as soon as one of them is read.
func (b *Backend) fetchVersions(ctx context.Context, r *resource, k call, ids []string) ([]replica.Document, error) {
	return inBatches(ctx, b.client, ids, r.Versions.Batch, func(ctx context.Context, ids []string) ([]replica.Document, error) {
		found, err := b.requestDocuments(ctx, r, k, r.Versions, nil, anys(ids), ids[0])
		batch := &versionBatch{backend: b, resource: r, call: k, ids: ids}
		for i, d := range found {
			found[i].Read = func(ctx context.Context) (replica.Item, map[adapter.Resource][]replica.Item, error) {
				return batch.read(ctx, d)
			}
		}
		return found, err
	})
}

// A versionBatch has the ids of documents whose versions alone are known. It is safe for
// concurrent use.
type versionBatch struct {
	backend  *Backend
	resource *resource
	call     call
	ids      []string

	mu    sync.Mutex
	found map[string]replica.Document // by id; nil until they are fetched
}

var (
	errGone  = errors.New("the document is gone since its version was requested")
	errOlder = errors.New("the document has another version than was requested before and after")
)

// read fetches the documents of the batch, once, and reads the document whose version is d.
func (v *versionBatch) read(ctx context.Context, d replica.Document) (item replica.Item, parts map[adapter.Resource][]replica.Item, err error) {
	b, r := v.backend, v.resource
	if err := v.fetch(ctx); err != nil {
		return item, nil, err
	}
	whole, there := v.found[d.ID]
	if !there {
		return item, nil, &adapter.Error{Kind: adapter.Unavailable, Op: v.call.op(), Err: errGone}
	}
	// A newer document does no harm: it is read again, because its version is another one. An
	// older one, from a lagging copy of the backend's data, would be mistaken for this
	// version.
	if whole.Version != d.Version {
		now, err := b.requestDocuments(ctx, r, v.call, r.Versions, nil, []any{d.ID}, d.ID)
		if err == nil && (len(now) != 1 || now[0].Version != whole.Version) {
			err = &adapter.Error{Kind: adapter.Unavailable, Op: v.call.op(), Err: errOlder}
		}
		if err != nil {
			return item, nil, err
		}
	}
	return whole.Read(ctx)
}

// fetch fetches the documents of the batch unless it has done so.
func (v *versionBatch) fetch(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found != nil {
		return nil
	}
	documents, err := v.backend.fetchDocuments(ctx, v.resource, v.call, v.resource.Fetch, v.ids)
	if err != nil {
		return err
	}
	v.found = make(map[string]replica.Document, len(documents))
	for _, d := range documents {
		v.found[d.ID] = d
	}
	return nil
}
