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

var errDeletable = errors.New("the record can be deleted")

// Delete deletes one record: first at the backend, as a delete there cannot be undone, then
// in the local replica.
func (s *store) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	if !s.Deletes {
		return &adapter.Error{Kind: adapter.Unsupported, Op: fmt.Sprintf("delete %s %d", s.Resource, p.Key), Err: errNotAccepted}
	}
	return take(ctx, s.foreignWriteWait, func() error { return s.delete(ctx, p) })
}

func (s *store) delete(ctx context.Context, p *adapter.DeleteParams) error {
	mapping, unlock, err := s.lockRecord(ctx, "delete", p.Key, p.OwnerID)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.checkDelete(ctx, p); err != nil {
		return err
	}
	if s.schema.PerLevel {
		return s.deleteFromLevel(ctx, mapping, p)
	}
	w, err := s.beginChange(ctx, mapping, intent{Op: opDelete, Key: p.Key})
	if err != nil {
		return err
	}
	return w.send(ctx, &Write{Old: w.before})
}

// deleteFromLevel removes a record from one scope, the default scope or a store view. The
// record itself is deleted when no other scope uses it, which only the local replica knows.
func (s *store) deleteFromLevel(ctx context.Context, mapping idmap.Mapping, p *adapter.DeleteParams) error {
	w, err := s.beginChange(ctx, mapping, intent{Op: opDelete, Key: p.Key, StoreID: p.StoreID, Attributes: s.exclusive})
	if err != nil {
		return err
	}
	params := *p
	params.Check, params.Locked = nil, nil // they were called
	params.Last = func() (err error) {
		if p.Last != nil {
			err = p.Last()
		}
		return cmp.Or(err, errDeletable) // the backend deletes it first
	}
	err = w.inReplica(ctx, func() error { return s.writes.Delete(ctx, &params) })
	switch {
	case errors.Is(err, errDeletable):
		return w.send(ctx, &Write{Old: w.before})
	case err != nil:
		return err
	default:
		return w.sendChange(ctx)
	}
}

// checkDelete runs the caller's check, and the local replica's own checks, without deleting
// the record.
func (s *store) checkDelete(ctx context.Context, p *adapter.DeleteParams) error {
	observed := *p
	observed.Locked = append(slices.Clip(p.Locked), func(_, _ adapter.Record) error { return errDeletable })
	if err := s.writes.Delete(ctx, &observed); !errors.Is(err, errDeletable) {
		return err
	}
	return nil
}

// deleteAtBackend deletes a record at the backend, then in the local replica.
func (w *pendingWrite) deleteAtBackend(ctx context.Context, sent *Write) error {
	if err := w.backend.Delete(ctx, sent); err != nil && adapter.KindOf(err) != adapter.NotFound {
		return err
	}
	detached, cancel := detachedContext(ctx)
	defer cancel()
	deleteHere := w.deleteHere
	if deleteHere == nil {
		deleteHere = func(ctx context.Context) error { return w.deleteFromReplica(ctx, w.resourcePlan, w.writes, sent.Key) }
	}
	err := deleteHere(detached)
	if err == nil {
		err = w.replica.DeleteMapping(detached, w.Resource, sent.Key)
	}
	if err != nil {
		return &adapter.Error{Kind: adapter.Unavailable, Op: fmt.Sprintf("delete %s %d", w.Resource, sent.Key), Err: err}
	}
	return nil
}
