package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// A Forget deletes what is left of records that no longer exist at the backend or in the
// local replica.
type Forget struct {
	Replica Replica
	Backend Backend
}

var (
	errStillThere   = errors.New("the backend still has it")
	errUnresolved   = errors.New("the outcome of a write is unknown: wait until a running server has resolved it")
	errPartsUnknown = errors.New("the backend's document does not say whether it has such parts")
	errNoMapping    = errors.New("it has no ID mapping")
)

// Run deletes a record that no longer exists at the backend from the local replica, with
// its parts and all their mappings. If the record no longer exists in the replica either,
// it deletes only the mappings, whatever the backend has. Kinds: NotFound when there is no
// mapping; Conflict while the backend has the record or its state is unknown; Unsupported
// for a resource of which the backend owns nothing, or whose records have no ids; and those
// of the backend and the replica.
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

// reasonToKeep returns why a record must not be deleted, or nil if it may be.
func (f *Forget) reasonToKeep(ctx context.Context, res *BackendResource, mapping *Mapping) (why, err error) {
	if mapping.Intent != nil {
		return errUnresolved, nil
	}
	root := *mapping
	if res.RootAttribute != "" {
		owners, err := f.Replica.MappingsByKey(ctx, res.Root, []adapter.Key{mapping.RootKey})
		if err != nil || len(owners) == 0 {
			return nil, err // without a root the backend has no parts
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

// reasonToKeepUnbound is reasonToKeep for a root whose mapping has no backend id: a
// document may carry its legacy id.
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

// deleteRecord deletes a record from the local replica, then its mappings.
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
