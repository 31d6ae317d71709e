package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
)

var (
	errDeletable = errors.New("the record may be deleted")
	errNoDeletes = errors.New("the backend lets no records of this resource be deleted")
)

// Delete removes one record, from the backend first: what is gone there is gone.
func (s *store) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete %s %d", s.Resource, p.Key)
	if err := s.checkOpen(op); err != nil {
		return err
	}
	if !s.Deletes {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoDeletes}
	}
	root, err := s.rootOf(ctx, p.Key, p.OwnerID)
	if err != nil {
		return err
	}
	unlock, err := s.locks.lock(ctx, recordRef{s.root.Resource, root})
	if err != nil {
		return err
	}
	defer unlock()
	mapping, err := s.reconcileRoot(ctx, "delete", s.root, root)
	if err != nil {
		return err
	}
	if err := s.checkDelete(ctx, p); err != nil {
		return err
	}
	if s.Resource == adapter.ProductImages {
		return s.deleteImage(ctx, op, mapping, p)
	}
	id, err := s.idOf(ctx, op, mapping, p.Key)
	if err != nil {
		return err
	}
	before, err := s.get(ctx, p.Key)
	if err != nil {
		return err
	}
	if mapping, err = s.putIntent(ctx, mapping, writeIntent{Op: opDelete, Resource: s.Resource, Key: p.Key}); err != nil {
		return err
	}
	err = s.deleteEverywhere(ctx, mapping, &Write{Resource: s.Resource, Key: p.Key, ID: id, Old: before})
	if isRefusal(err) {
		s.abandonIntent(ctx, mapping)
	}
	return err
}

// deleteImage takes an image from a level. It goes when no level uses it any more,
// which nobody knows before.
func (s *store) deleteImage(ctx context.Context, op string, mapping Mapping, p *adapter.DeleteParams) error {
	what := opDelete
	if p.OnlyLevel {
		what = opUpdate
	}
	u, err := s.beginUpdate(ctx, op, mapping, p.Key, p.StoreID, exclusiveAttributes(s.Resource), what)
	if err != nil {
		return err
	}
	err = s.store.Delete(ctx, &adapter.DeleteParams{Key: p.Key, StoreID: p.StoreID, OnlyLevel: true})
	if err != nil {
		if isRefusal(err) {
			s.abandonIntent(ctx, u.mapping)
		}
		return err
	}
	used := p.OnlyLevel
	if !used {
		if used, err = s.imageInUse(ctx, mapping.Key, p); err != nil {
			return err
		}
	}
	if used {
		return u.finish(ctx)
	}
	err = s.deleteEverywhere(ctx, u.mapping, &Write{Resource: s.Resource, Key: p.Key, ID: u.id, Old: u.before})
	if isRefusal(err) {
		s.undoUpdate(ctx, u.mapping, u.intent)
	}
	return err
}

// used reports whether an image has types at another level than the one it is taken
// from: at the default scope, or at a store view that sells the product.
func (s *store) imageInUse(ctx context.Context, product adapter.Key, p *adapter.DeleteParams) (bool, error) {
	storeIDs, err := s.sellingStoreViews(ctx, product)
	if err != nil {
		return false, err
	}
	for _, storeID := range append([]int64{0}, storeIDs...) {
		if storeID == p.StoreID {
			continue
		}
		r, err := s.store.Get(ctx, &adapter.GetParams{Key: p.Key, StoreID: storeID})
		if err != nil || len(r.Get("types").Texts()) > 0 {
			return true, err
		}
	}
	return false, nil
}

// selling returns the store views of the websites that sell a product.
func (a *Adapter) sellingStoreViews(ctx context.Context, product adapter.Key) ([]int64, error) {
	views, err := a.replica.Store(adapter.Stores)
	if err != nil {
		return nil, err
	}
	sites, err := a.replica.Store(adapter.ProductWebsites)
	if err != nil {
		return nil, err
	}
	mine := adapter.Test{Attribute: "product_id", Op: adapter.Eq, Operands: []string{strconv.FormatInt(int64(product), 10)}}
	sold, err := sites.List(ctx, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{mine}}}}})
	if err != nil {
		return nil, err
	}
	found, err := views.List(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	var storeIDs []int64
	for _, view := range found.Records {
		if slices.ContainsFunc(sold.Records, func(r adapter.Record) bool { return r.Get("website_id").Int() == view.Get("website_id").Int() }) {
			storeIDs = append(storeIDs, int64(keyOf(view)))
		}
	}
	return storeIDs, nil
}

// mayGo asks the caller's check about a record, and the side whether it would delete
// it.
func (s *store) checkDelete(ctx context.Context, p *adapter.DeleteParams) error {
	wrapped := *p
	wrapped.Check = func(current adapter.Record) error {
		if p.Check != nil {
			if err := p.Check(current); err != nil {
				return err
			}
		}
		return errDeletable
	}
	err := s.store.Delete(ctx, &wrapped)
	if errors.Is(err, errDeletable) {
		return nil
	}
	return err
}

// delete removes a record from the backend and then from the side. Its root is locked
// and has that entry, with a note.
func (s *store) deleteEverywhere(ctx context.Context, mapping Mapping, w *Write) error {
	if err := s.addContext(ctx, w, mapping); err != nil {
		return err
	}
	if err := s.backend.Delete(ctx, w); err != nil && adapter.KindOf(err) != adapter.NotFound {
		return err
	}
	detached, cancel := detachedContext(ctx)
	defer cancel()
	if err := s.deleteFromReplica(detached, s.resourcePlan, w.Key); err != nil {
		return &adapter.Error{Kind: adapter.Unavailable, Op: fmt.Sprintf("delete %s %d", s.Resource, w.Key), Err: err}
	}
	if err := s.replica.DeleteMapping(detached, s.Resource, w.Key); err != nil || s.isRoot() {
		return err
	}
	return s.completeWrite(ctx, mapping, &ownWrite{resource: s.Resource, key: w.Key, wholeRecord: true})
}
