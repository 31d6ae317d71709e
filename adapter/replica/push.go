package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// Push creates at the backend every record that only the local replica has: the roots without a
// mapping, and their parts. Before that it scans the resources that reads do not compare and whose
// records only the backend creates, because others need their mappings. progress, unless nil, is called
// after each root with the number of roots that the backend has and the total number of roots to
// push. Push can be interrupted and repeated.
//
// It pushes atOnce roots of a resource at a time, in the order of their keys. Roots with parents, such as
// categories, are pushed one after the other.
//
// Push goes on after records that the backend refuses, and returns an error that names the
// first of them. It does not create a record that refers to one of them, or to one that is in doubt, but names
// it. After any other error it begins no further root, and stops.
func (a *Adapter) Push(ctx context.Context, atOnce int, progress func(done, total int)) error {
	if err := a.checkOpen("push"); err != nil {
		return err
	}
	if err := a.scanUncreated(ctx); err != nil {
		return err
	}
	roots := slices.DeleteFunc(slices.Clone(a.ordered), func(plan *resourcePlan) bool { return !plan.isRoot() || !plan.Creates })
	p := &push{Adapter: a, progress: progress}
	for _, root := range roots {
		found, err := root.store.List(ctx, &adapter.ListParams{Count: true})
		if err != nil {
			return err
		}
		p.total += int(found.Total)
	}
	for _, root := range roots {
		at := max(atOnce, 1)
		if root.schema.Parent != "" {
			at = 1 // a parent must be there before its children
		}
		err := a.walk(ctx, root, fromReplica, time.Time{}, func(rows []row) error { return p.roots(ctx, root, rows, at) })
		if err != nil {
			return errors.Join(err, p.refused)
		}
	}
	return p.refused
}

// scanUncreated scans the root resources with few records (ReadsLocally) that the backend does not let
// Portico create.
func (a *Adapter) scanUncreated(ctx context.Context) error {
	select {
	case a.scanSlot <- struct{}{}:
		defer func() { <-a.scanSlot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, plan := range a.ordered {
		if !plan.isRoot() || plan.Creates || !plan.ReadsLocally {
			continue
		}
		if err := a.scanRoot(ctx, plan); err != nil {
			return err
		}
	}
	return nil
}

var errInDoubt = errors.New("whether the backend has it is unknown, as another process creates it or was interrupted: " +
	"repeat the command in a minute; if that does not help and the backend has it, import its id with portico ids import")

// maxNamedRefusals bounds how many refused roots the error of a push names.
const maxNamedRefusals = 20

// A push is the state of one call of Push.
type push struct {
	*Adapter
	mu          sync.Mutex // guards the rest, and calls of progress
	progress    func(done, total int)
	done, total int
	refused     error // names the first maxNamedRefusals roots that were refused, or parts of them
	refusals    int   // counts them all
}

// roots pushes roots, so many at a time. After an error that must stop the push it begins no other root, but lets
// the begun ones end: an interrupted request would leave a record in doubt.
func (p *push) roots(ctx context.Context, root *resourcePlan, rows []row, atOnce int) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	var stopped atomic.Bool
	for _, r := range rows {
		group.Go(func() error {
			if stopped.Load() {
				return nil
			}
			err := p.root(ctx, root, r.key)
			if err != nil {
				stopped.Store(true)
			}
			return err
		})
	}
	return group.Wait()
}

// root pushes one root. It returns an error if the push must stop.
func (p *push) root(ctx context.Context, root *resourcePlan, key adapter.Key) error {
	// The intent of a process that was killed has to be so old before this one resolves it.
	err := take(ctx, p.foreignIntentAge, func() error { return p.pushBelow(ctx, root, key) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		if p.done++; p.progress != nil {
			p.progress(p.done, p.total)
		}
		return nil
	}
	err = fmt.Errorf("push %s %d: %w", root.Resource, key, err)
	if !adapter.IsRefusal(err) {
		return err
	}
	switch p.refusals++; {
	case p.refusals <= maxNamedRefusals:
		p.refused = errors.Join(p.refused, err)
	case p.refusals == maxNamedRefusals+1:
		p.refused = fmt.Errorf("%w\nand others: portico ids check lists them", p.refused)
	}
	return nil
}

// maxLevels bounds the number of ancestors that are pushed before a record.
const maxLevels = 100

// pushBelow pushes a root after its ancestors that the backend lacks. The order of keys does
// not suffice: a category may have moved below a newer one, and a backend may accept the parent
// only with a new key. below are the roots that wait for this one.
func (a *Adapter) pushBelow(ctx context.Context, root *resourcePlan, key adapter.Key, below ...adapter.Key) error {
	if root.schema.Parent != "" && len(below) < maxLevels {
		r, err := root.store.Get(ctx, &adapter.GetParams{Key: key, Only: []string{root.schema.Parent}})
		if err != nil {
			return err
		}
		above, err := a.rowWithRecord(ctx, root, adapter.Key(r.Get(root.schema.Parent).Int()))
		if err != nil {
			return err
		}
		waiting := append(slices.Clip(below), key)
		if above.isToPush() && !slices.Contains(waiting, above.key) {
			if err := a.pushBelow(ctx, root, above.key, waiting...); err != nil {
				return err
			}
		}
	}
	err := take(ctx, a.foreignWriteWait, func() error { return a.pushRoot(ctx, root, key) })
	if err != nil && len(below) > 0 {
		err = fmt.Errorf("%s %d above it: %w", root.Resource, key, err)
	}
	return err
}

// pushRoot creates one root at the backend, unless the ID map has it, and then its parts that
// the backend lacks. It fails with errBusy, without a request, while another process may be writing the root.
func (a *Adapter) pushRoot(ctx context.Context, root *resourcePlan, key adapter.Key) error {
	unlock, err := a.locks.Lock(ctx, root.Resource, key)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := a.rowOf(ctx, root, key)
	if err != nil {
		return err
	}
	if a.isForeign(r) {
		return &adapter.Error{Kind: adapter.NotFound, Op: "push " + string(root.Resource), Err: errors.Join(errInDoubt, errBusy)}
	}
	reconciled, err := a.reconcileRoot(ctx, root, key) // completes a push that was interrupted
	if err != nil {
		return err
	}
	if reconciled != nil && reconciled.Intent != nil {
		return busy("push "+string(root.Resource), errBusy)
	}
	if reconciled == nil {
		r, err = a.rowWithRecord(ctx, root, key)
		switch {
		case err != nil:
			return err
		case r.mapping != nil && r.mapping.BackendID != "":
			return nil // the backend no longer has it
		case r.state() == inDoubt:
			return &adapter.Error{Kind: adapter.NotFound, Op: "create " + string(root.Resource), Err: errInDoubt}
		case !r.exists: // another process has deleted it
			return notFound("get", root.Resource, key)
		}
		if err := a.checkReferred(ctx, root, key); err != nil {
			return err
		}
		mapping := idmap.Mapping{Resource: root.Resource, Key: key}
		if r.mapping != nil {
			mapping = *r.mapping
		}
		if err := a.pushRecord(ctx, root, mapping, key, adapter.Record{}); err != nil {
			return err
		}
		if r, err = a.rowOf(ctx, root, key); err != nil {
			return err
		}
		if r.mapping == nil || r.mapping.Version == "" { // the document could not be compared with the record
			if reconciled, err = a.reconcileRoot(ctx, root, key); err != nil || reconciled == nil {
				return err
			}
		}
	}
	return a.pushParts(ctx, root, key)
}

// pushParts creates the parts of a root that the backend lacks. It goes on after parts that the
// backend refuses, and returns an error that names them.
func (a *Adapter) pushParts(ctx context.Context, root *resourcePlan, rootKey adapter.Key) error {
	var refused error
	for _, plan := range root.parts {
		parts, err := a.partsToPush(ctx, plan, rootKey)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if err := a.pushPart(ctx, plan, rootKey, part); err != nil {
				err = fmt.Errorf("its %s %d: %w", plan.Resource, part.Key(), err)
				if !adapter.IsRefusal(err) {
					return err
				}
				refused = errors.Join(refused, err)
			}
		}
	}
	return refused
}

// pushRecord creates a record at the backend, under the lock of the root with this mapping.
// input has its write-only values; it may be empty.
func (a *Adapter) pushRecord(ctx context.Context, plan *resourcePlan, mapping idmap.Mapping, key adapter.Key, input adapter.Record) error {
	w, err := (&store{a, plan}).begin(ctx, mapping, intent{Op: opPush, Key: key})
	if err != nil {
		return err
	}
	return w.sendNew(ctx, input)
}

// partsToPush returns the parts of a root that the backend lacks and accepts, sorted by key.
func (a *Adapter) partsToPush(ctx context.Context, plan *resourcePlan, rootKey adapter.Key) ([]adapter.Record, error) {
	if !plan.Creates {
		return nil, nil
	}
	parts, err := a.loadParts(ctx, plan, rootKey)
	if err != nil || len(parts.records) == 0 {
		return nil, err
	}
	root, err := a.rowOf(ctx, plan.root, rootKey)
	if err != nil || root.mapping == nil {
		return nil, err
	}
	base, err := baseOf(plan.root, *root.mapping)
	for _, item := range base.Parts[plan.Resource] {
		delete(parts.records, parts.find(item))
	}
	for key := range parts.ids {
		delete(parts.records, key)
	}
	return parts.sorted(), err
}

// pushPart creates a part at the backend, unless its file has not come yet.
func (a *Adapter) pushPart(ctx context.Context, plan *resourcePlan, rootKey adapter.Key, part adapter.Record) error {
	input := adapter.NewRecord(plan.schema)
	if plan.schema.HasFile {
		content, err := a.replica.FileContent(ctx, part.Get("file").Text())
		if adapter.KindOf(err) == adapter.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		input.Set("content", adapter.TextValue(string(content)))
	}
	if err := a.checkReferences(ctx, plan, part); err != nil {
		return err
	}
	root, err := a.rowOf(ctx, plan.root, rootKey) // every created part has changed the mapping
	if err != nil || root.mapping == nil {
		return err
	}
	return a.pushRecord(ctx, plan, *root.mapping, part.Key(), input)
}

// isToPush reports whether the backend may still lack a record of the local replica: it was refused, is in doubt, or
// its turn has not come.
func (r *row) isToPush() bool {
	return r.exists && (r.mapping == nil || r.mapping.BackendID == "")
}

// checkReferred checks the references of a new root, and of the parts that the backend takes only together with it. It
// would have the root without them for ever, such as an order without its customer: the order of a guest.
func (a *Adapter) checkReferred(ctx context.Context, root *resourcePlan, key adapter.Key) error {
	r, err := root.get(ctx, key)
	if err == nil {
		err = a.checkReferences(ctx, root, r)
	}
	for _, plan := range root.parts {
		if err != nil {
			return err
		}
		if plan.Creates {
			continue
		}
		var parts []adapter.Record
		if parts, err = plan.listParts(ctx, key, 0); err == nil {
			err = a.checkReferences(ctx, plan, parts...)
		}
	}
	return err
}

// checkReferences fails with kind NotFound if backend-owned attributes of records refer to a root that a push creates,
// and that the backend does not have yet.
func (a *Adapter) checkReferences(ctx context.Context, plan *resourcePlan, records ...adapter.Record) error {
	referred := map[adapter.Resource][]adapter.Key{}
	for _, r := range records {
		for i, v := range r.Values {
			if attribute := &plan.schema.Attributes[i]; slices.Contains(plan.Attributes, attribute.Name) {
				addReferred(referred, attribute, v)
			}
		}
	}
	for _, to := range a.ordered {
		keys := referred[to.Resource]
		if len(keys) == 0 || !to.Creates || to == plan.root { // a parent is pushed before
			continue
		}
		rows, err := a.rowsOf(ctx, to, slices.Compact(slices.Sorted(slices.Values(keys))))
		if err == nil {
			err = a.addRecords(ctx, to, rows)
		}
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(rows, func(r row) bool { return r.isToPush() }); i >= 0 {
			return &adapter.Error{Kind: adapter.NotFound, Op: "create " + string(plan.Resource), Err: fmt.Errorf("%s %d, to which it refers, is not at the backend yet", to.Resource, rows[i].key)}
		}
	}
	return nil
}

// addReferred adds the keys that a value of an attribute holds, also in nested records.
func addReferred(referred map[adapter.Resource][]adapter.Key, a *adapter.Attribute, v adapter.Value) {
	if a.Refers != "" && v.Int() > 0 {
		referred[a.Refers] = append(referred[a.Refers], adapter.Key(v.Int()))
	}
	for _, r := range v.Records() {
		for i, nested := range r.Values {
			addReferred(referred, &r.Schema.Attributes[i], nested)
		}
	}
}
