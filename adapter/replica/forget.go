package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// A Forget takes away what is left of records that are gone.
type Forget struct {
	Replica Replica
	Backend Backend
}

var (
	errStillThere   = errors.New("the backend still has it")
	errUnresolved   = errors.New("a write of it is not finished: let a serving process find out what became of it")
	errPartsUnknown = errors.New("the backend's document says nothing of such parts")
	errNoMapping    = errors.New("it has no entry")
)

// Run removes a record of the side that is gone at the backend, with its parts and all
// their entries. Of a record that is gone at the side only the entries are left, which
// are removed whatever the backend has. Kinds: NotFound without an entry; Conflict while
// the backend has the record, or nobody knows; Unsupported for a resource that the
// backend does not keep, or whose records have no ids; and those of the backend and the
// side.
func (f *Forget) Run(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	op := fmt.Sprintf("forget %s %d", r, key)
	resources := f.Backend.Resources()
	at := slices.IndexFunc(resources, func(res BackendResource) bool { return res.Resource == r })
	if at < 0 || resources[at].RootAttribute != "" && !resources[at].HasIDs {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	res := &resources[at]
	mappings, err := f.Replica.MappingsByKey(ctx, r, []adapter.Key{key})
	if err != nil {
		return err
	}
	if len(mappings) == 0 {
		return &adapter.Error{Kind: adapter.NotFound, Op: op, Err: errNoMapping}
	}
	roots, err := rootKeys(ctx, f.Replica, res, []adapter.Key{key})
	if err != nil {
		return err
	}
	if _, here := roots[key]; !here {
		return f.Replica.DeleteMapping(ctx, r, key)
	}
	why, err := f.reasonToKeep(ctx, res, &mappings[0])
	if err != nil {
		return err
	}
	if why != nil {
		return &adapter.Error{Kind: adapter.Conflict, Op: op, Err: why}
	}
	return f.deleteRecord(ctx, r, key)
}

// stays says why a record must not be removed, nil if it may be.
func (f *Forget) reasonToKeep(ctx context.Context, res *BackendResource, mapping *Mapping) (why, err error) {
	if mapping.Intent != nil {
		return errUnresolved, nil
	}
	root := *mapping
	if res.RootAttribute != "" {
		owners, err := f.Replica.MappingsByKey(ctx, res.Root, []adapter.Key{mapping.RootKey})
		if err != nil || len(owners) == 0 {
			return nil, err // no root is at the backend, and so no part
		}
		if root = owners[0]; root.Intent != nil {
			return errUnresolved, nil
		}
	}
	if root.BackendID == "" {
		return f.reasonToKeepUnbound(ctx, res.Root, root.Key)
	}
	documents, err := f.Backend.Fetch(ctx, res.Root, []string{root.BackendID})
	switch {
	case err != nil || len(documents) == 0:
		return nil, err
	case res.RootAttribute == "":
		return errStillThere, nil
	}
	_, parts, err := documents[0].Read(ctx)
	if err != nil {
		return nil, err
	}
	items, present := parts[res.Resource]
	switch {
	case !present:
		return errPartsUnknown, nil
	case slices.ContainsFunc(items, func(i Item) bool { return i.ID == mapping.BackendID }):
		return errStillThere, nil
	default:
		return nil, nil
	}
}

// carried says that a document carries the legacy id of a root whose entry has no id.
func (f *Forget) reasonToKeepUnbound(ctx context.Context, root adapter.Resource, key adapter.Key) (why, err error) {
	_, err = f.Backend.FindByKey(ctx, root, key)
	switch {
	case err == nil:
		return errStillThere, nil
	case adapter.KindOf(err) == adapter.NotFound, adapter.KindOf(err) == adapter.Unsupported:
		return nil, nil
	default:
		return nil, err
	}
}

// remove removes the record of the side, then the entries.
func (f *Forget) deleteRecord(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	err := f.Replica.DeleteReadOnly(ctx, r, key)
	if adapter.KindOf(err) == adapter.Unsupported && err != nil {
		var store adapter.Store
		if store, err = f.Replica.Store(r); err == nil {
			err = store.Delete(ctx, &adapter.DeleteParams{Key: key})
		}
	}
	if err != nil && adapter.KindOf(err) != adapter.NotFound {
		return err
	}
	return f.Replica.DeleteMapping(ctx, r, key)
}
