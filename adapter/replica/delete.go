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
	errDeletable = errors.New("the record can be deleted")
	errNoDeletes = errors.New("the backend does not delete records of this resource")
)

// Delete deletes one record: first at the backend, as a delete there cannot be undone, then
// in the local replica.
func (s *store) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete %s %d", s.Resource, p.Key)
	if err := s.checkOpen(op); err != nil {
		return err
	}
	if !s.Deletes {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoDeletes}
	}
	mapping, unlock, err := s.lockRecord(ctx, "delete", p.Key, p.OwnerID)
	if err != nil {
		return err
	}
	defer unlock()
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
	w, err := s.begin(ctx, mapping, writeIntent{Op: opDelete, Resource: s.Resource, Key: p.Key})
	if err != nil {
		return err
	}
	return w.deleteEverywhere(ctx, id, before)
}

// deleteImage removes an image from one level, the default scope or a store view. The image
// itself is deleted when no other level uses it, which is only known afterwards.
func (s *store) deleteImage(ctx context.Context, op string, mapping Mapping, p *adapter.DeleteParams) error {
	u, err := s.beginUpdate(ctx, op, mapping, p.Key, p.StoreID, exclusiveAttributes(s.Resource), opDelete)
	if err != nil {
		return err
	}
	removed := adapter.NewRecord(s.schema)
	removed.Set("removed", adapter.IntegerValue(1))
	err = u.inReplica(ctx, func() error {
		return s.store.Update(ctx, &adapter.UpdateParams{Key: p.Key, StoreID: p.StoreID, Change: func(adapter.Record) (adapter.Record, error) { return removed, nil }})
	})
	if err != nil {
		return err
	}
	inUse, err := s.imageInUse(ctx, mapping.Key, p)
	if err != nil {
		return err
	}
	if inUse {
		return u.finish(ctx, op)
	}
	return u.deleteEverywhere(ctx, u.id, u.before)
}

// imageInUse reports whether an image has types at a level other than the one it is removed
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

// sellingStoreViews returns the store views of the websites that sell a product.
func (a *Adapter) sellingStoreViews(ctx context.Context, product adapter.Key) ([]int64, error) {
	views, err := a.replica.Store(adapter.Stores)
	if err != nil {
		return nil, err
	}
	sites, err := a.replica.Store(adapter.ProductWebsites)
	if err != nil {
		return nil, err
	}
	ofProduct := adapter.Test{Attribute: "product_id", Op: adapter.Eq, Operands: []string{strconv.FormatInt(int64(product), 10)}}
	assigned, err := sites.List(ctx, &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{ofProduct}}}}})
	if err != nil {
		return nil, err
	}
	all, err := views.List(ctx, &adapter.ListParams{})
	if err != nil {
		return nil, err
	}
	var storeIDs []int64
	for _, view := range all.Records {
		if slices.ContainsFunc(assigned.Records, func(r adapter.Record) bool { return r.Get("website_id").Int() == view.Get("website_id").Int() }) {
			storeIDs = append(storeIDs, int64(keyOf(view)))
		}
	}
	return storeIDs, nil
}

// checkDelete runs the caller's check, and the local replica's own checks, without deleting
// the record.
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

// deleteEverywhere deletes a record at the backend, where it has the id, then in the local
// replica. before is the record.
func (w *pendingWrite) deleteEverywhere(ctx context.Context, id string, before adapter.Record) error {
	sent := &Write{Resource: w.Resource, Key: w.intent.Key, ID: id, Old: before}
	err := w.addContext(ctx, sent)
	if err == nil {
		err = w.backend.Delete(ctx, sent)
	}
	if err != nil && adapter.KindOf(err) != adapter.NotFound {
		if isRefusal(err) {
			w.undo(ctx)
		}
		return err
	}
	detached, cancel := detachedContext(ctx)
	defer cancel()
	if err := w.deleteWithMapping(detached, w.resourcePlan, sent.Key); err != nil {
		return &adapter.Error{Kind: adapter.Unavailable, Op: fmt.Sprintf("delete %s %d", w.Resource, sent.Key), Err: err}
	}
	if w.isRoot() {
		return nil
	}
	return w.complete(ctx, &ownWrite{resource: w.Resource, key: sent.Key, wholeRecord: true})
}
