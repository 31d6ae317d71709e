package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// Push creates at the backend every record of the local replica that it lacks: the roots
// without a mapping, and their parts. progress, unless nil, is called after each root with
// the number of roots that the backend has and the total of those to push. Push can be
// interrupted and repeated.
//
// Push goes on after records that the backend refuses, and returns an error that names the
// first of them. It stops at any other error.
func (a *Adapter) Push(ctx context.Context, progress func(done, total int)) error {
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
		err := a.walk(ctx, root, fromReplica, time.Time{}, func(rows []row) error {
			for _, r := range rows {
				if err := p.root(ctx, root, r.key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return errors.Join(err, p.refused)
		}
	}
	return p.refused
}

var errInDoubt = errors.New("whether the backend has it is unknown, as another process creates it or was interrupted: " +
	"repeat the command in a minute; if that does not help and the backend has it, import its id with portico ids import")

// maxNamedRefusals bounds how many refused roots the error of a push names.
const maxNamedRefusals = 20

// A push is the state of one call of Push.
type push struct {
	*Adapter
	progress    func(done, total int)
	done, total int
	refused     error // names the first maxNamedRefusals roots that were refused, or parts of them
	refusals    int   // counts them all
}

// root pushes one root. It returns an error if the push must stop.
func (p *push) root(ctx context.Context, root *resourcePlan, key adapter.Key) error {
	err := p.pushBelow(ctx, root, key)
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

// maxLevels bounds how many records above a record are pushed before it.
const maxLevels = 100

// pushBelow pushes a root after those above it that the backend lacks. Keys do not tell the
// order: a category may have moved below a newer one, and a backend may take the record above
// only with a new one.
func (a *Adapter) pushBelow(ctx context.Context, root *resourcePlan, key adapter.Key) error {
	lacking := []adapter.Key{key}
	for root.schema.Parent != "" && len(lacking) <= maxLevels {
		r, err := root.store.Get(ctx, &adapter.GetParams{Key: lacking[len(lacking)-1], Only: []string{root.schema.Parent}})
		if adapter.KindOf(err) == adapter.NotFound {
			break // another process has deleted it
		}
		if err != nil {
			return err
		}
		rows, err := a.rowsOf(ctx, root, []adapter.Key{adapter.Key(r.Get(root.schema.Parent).Int())})
		if err == nil {
			err = a.addRecords(ctx, root, rows)
		}
		if err != nil {
			return err
		}
		if above := rows[0]; !above.exists || above.state() != unmapped || slices.Contains(lacking, above.key) {
			break
		}
		lacking = append(lacking, rows[0].key)
	}
	for _, each := range slices.Backward(lacking) {
		err := a.pushRoot(ctx, root, each)
		if err != nil && each != key {
			err = fmt.Errorf("%s %d above it: %w", root.Resource, each, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pushRoot creates one root at the backend, unless the ID map has it, and then those of its
// parts that the backend lacks.
func (a *Adapter) pushRoot(ctx context.Context, root *resourcePlan, key adapter.Key) error {
	unlock, err := a.locks.lock(ctx, root.Resource, key)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := a.rowOf(ctx, root, key)
	if err != nil {
		return err
	}
	if r.mapping != nil && r.mapping.BackendID == "" && r.mapping.Intent != nil {
		// An earlier push was interrupted.
		if _, err := a.reconcileLocked(ctx, root, []adapter.Key{key}); err != nil {
			return err
		}
		if r, err = a.rowOf(ctx, root, key); err != nil {
			return err
		}
	}
	switch r.state() {
	case inDoubt:
		if r.mapping.BackendID == "" {
			return &adapter.Error{Kind: adapter.Conflict, Op: "create " + string(root.Resource), Err: errInDoubt}
		}
	case unmapped:
		if err := a.pushRecord(ctx, root, idmap.Mapping{Resource: root.Resource, Key: key}, key, adapter.Record{}); err != nil {
			return err
		}
	}
	reconciled, err := a.reconcileLocked(ctx, root, []adapter.Key{key})
	if err != nil {
		return err
	}
	mapping, ok := reconciled[key]
	if !ok {
		return nil // the backend no longer has it
	}
	var refused error
	for _, plan := range root.parts {
		if !plan.Creates {
			continue
		}
		partsRefused, err := a.pushParts(ctx, plan, &mapping)
		if err != nil {
			return err
		}
		refused = errors.Join(refused, partsRefused)
	}
	return refused
}

// pushRecord creates a record at the backend, under the lock of the root with this mapping.
// input has its write-only values; it may be empty.
func (a *Adapter) pushRecord(ctx context.Context, plan *resourcePlan, mapping idmap.Mapping, key adapter.Key, input adapter.Record) error {
	w, err := (&store{a, plan}).begin(ctx, mapping, writeIntent{Op: opPush, Key: key})
	if err != nil {
		return err
	}
	err = w.sendNew(ctx, input)
	if err != nil && !adapter.IsRefusal(err) {
		w.release(ctx)
	}
	return err
}

// release says in the stored write intent that nobody is at work on the write any more, so that
// the next push need not wait for it, even if that is another process.
func (w *pendingWrite) release(ctx context.Context) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	released := w.mapping
	w.intent.Writer = ""
	var err error
	if released.Intent, err = json.Marshal(w.intent); err == nil {
		err = w.completeIntent(ctx, w.mapping.Intent, released)
	}
	if err != nil && !errors.Is(err, errResolved) {
		w.log.Warn("a write that was interrupted is resolved in a minute at the earliest", "resource", w.Resource, "id", w.intent.Key, "error", err)
	}
}

// pushParts creates the parts of a root that the backend lacks. mapping is the root's, just
// reconciled, and stays current. refused says which parts the backend refuses.
func (a *Adapter) pushParts(ctx context.Context, plan *resourcePlan, mapping *idmap.Mapping) (refused, err error) {
	parts, err := a.loadParts(ctx, plan, mapping.Key)
	if err != nil || len(parts.records) == 0 {
		return nil, err
	}
	base, err := baseOf(plan.root, *mapping)
	if err != nil {
		return nil, err
	}
	atBackend := map[adapter.Key]bool{}
	for _, item := range base.parts[plan.Resource] {
		atBackend[parts.find(item)] = true
	}
	for _, key := range slices.Sorted(maps.Keys(parts.records)) {
		if atBackend[key] || parts.ids[key] != "" {
			continue
		}
		input, err := a.fileOf(ctx, parts.records[key])
		switch {
		case adapter.KindOf(err) == adapter.NotFound:
			continue // it can be created once its file has come
		case err == nil:
			err = a.pushRecord(ctx, plan, *mapping, key, input)
		}
		if err != nil {
			err = fmt.Errorf("its %s %d: %w", plan.Resource, key, err)
		}
		if adapter.IsRefusal(err) {
			refused = errors.Join(refused, err)
			continue
		}
		if err != nil {
			return refused, err
		}
		r, err := a.rowOf(ctx, plan.root, mapping.Key)
		if err != nil || r.mapping == nil {
			return refused, err
		}
		*mapping = *r.mapping
	}
	return refused, nil
}

// fileOf returns the bytes of a record's file, as the attribute content; an empty record if
// it is about no file.
func (a *Adapter) fileOf(ctx context.Context, r adapter.Record) (adapter.Record, error) {
	if !r.Schema.HasFile {
		return adapter.Record{}, nil
	}
	content, err := a.replica.FileContent(ctx, r.Get("file").Text())
	if err != nil {
		return adapter.Record{}, err
	}
	input := adapter.NewRecord(r.Schema)
	input.Set("content", adapter.TextValue(string(content)))
	return input, nil
}
