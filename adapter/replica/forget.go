package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

var (
	errStillThere   = errors.New("the backend still has it")
	errUnresolved   = errors.New("the outcome of a write is unknown: wait until a running server has resolved it")
	errPartsUnknown = errors.New("the backend's document does not say whether it has such parts")
	errNoMapping    = errors.New("it has no ID mapping")
)

// Forget deletes the remains of a record that no longer exists at the backend: the record
// in the local replica, its parts, and all their mappings. If the record no longer exists
// in the replica either, it deletes only the mappings, regardless of the backend. Kinds:
// NotFound when there is no mapping; Conflict while the backend has the record or its state
// is unknown; Unsupported for a resource without backend-owned attributes, or whose records
// have no ids; and the kinds of the backend and the replica.
func (a *Adapter) Forget(ctx context.Context, r adapter.Resource, key adapter.Key) error {
	op := fmt.Sprintf("forget %s %d", r, key)
	plan := a.plans[r]
	if plan == nil || !plan.hasMappings() {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	found, err := a.rowWithRecord(ctx, plan, key)
	switch {
	case err != nil:
		return err
	case found.mapping == nil:
		return &adapter.Error{Kind: adapter.NotFound, Op: op, Err: errNoMapping}
	case !found.exists:
		return a.replica.DeleteMapping(ctx, r, key)
	}
	if err := a.checkForget(ctx, op, plan, found.mapping); err != nil {
		return err
	}
	return a.deleteWithMapping(ctx, plan, key)
}

// checkForget returns an error if a record must not be deleted.
func (a *Adapter) checkForget(ctx context.Context, op string, plan *resourcePlan, mapping *idmap.Mapping) error {
	conflict := func(why error) error { return &adapter.Error{Kind: adapter.Conflict, Op: op, Err: why} }
	roots, err := a.rowsOf(ctx, plan.root, []adapter.Key{cmp.Or(mapping.RootKey, mapping.Key)})
	if err != nil {
		return err
	}
	root := roots[0].mapping
	switch {
	case mapping.Intent != nil || root != nil && root.Intent != nil:
		return conflict(errUnresolved)
	case root == nil:
		return nil // without a root the backend has no parts
	case root.BackendID == "": // a document may carry its legacy id
		_, err = a.backend.FindByKey(ctx, root.Resource, root.Key)
		if kind := adapter.KindOf(err); kind == adapter.NotFound || kind == adapter.Unsupported {
			return nil
		}
		return cmp.Or(err, conflict(errStillThere))
	}
	err = a.addDocuments(ctx, plan.root, roots)
	switch {
	case err != nil || roots[0].doc == nil:
		return err
	case plan.isRoot():
		return conflict(errStillThere)
	}
	_, parts, err := roots[0].doc.Read(ctx)
	items, present := parts[plan.Resource]
	switch {
	case err != nil:
		return err
	case !present:
		return conflict(errPartsUnknown)
	case slices.ContainsFunc(items, func(i Item) bool { return i.ID == mapping.BackendID }):
		return conflict(errStillThere)
	default:
		return nil
	}
}
