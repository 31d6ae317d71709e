package adapter

import (
	"context"
	"sync"
)

// maxSharedReads bounds the number of records that a SharedReads remembers.
const maxSharedReads = 10_000

// A SharedReads remembers the backend's versions of records for the reads of one client call, so
// that an adapter fetches each version at most once during the call. It is safe for concurrent
// use. A nil SharedReads remembers nothing.
type SharedReads struct {
	mu       sync.Mutex
	versions map[sharedRead]string
}

// A sharedRead identifies a record by its id at the backend.
type sharedRead struct {
	resource Resource
	id       string
}

type sharedReadsKey struct{}

// WithSharedReads returns ctx for the reads of one call, or of one batch of a long list. If ctx
// has shared reads already, it returns ctx.
func WithSharedReads(ctx context.Context) context.Context {
	if SharedReadsOf(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, sharedReadsKey{}, &SharedReads{versions: map[sharedRead]string{}})
}

// SharedReadsOf returns the shared reads of ctx, or nil.
func SharedReadsOf(ctx context.Context) *SharedReads {
	s, _ := ctx.Value(sharedReadsKey{}).(*SharedReads)
	return s
}

// Version returns the backend's version of a record, or "" if it is not known.
func (s *SharedReads) Version(r Resource, id string) string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[sharedRead{r, id}]
}

// SetVersion remembers the backend's version of a record.
func (s *SharedReads) SetVersion(r Resource, id, version string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.versions) >= maxSharedReads { // the next reads concern the latest records
		clear(s.versions)
	}
	s.versions[sharedRead{r, id}] = version
}
