package reststore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

var (
	errNoID   = errors.New("no request of create returned the id of the new record")
	errNoUndo = errors.New("the mapping has no undo for that request")
)

// maxEach limits how often one step of a write is sent.
const maxEach = 1000

// Create creates a record with the mapping's create requests and returns its id.
func (b *Backend) Create(ctx context.Context, w *replica.Write) (string, error) {
	k := call{string(w.Resource), "create"}
	r, err := b.resource(w.Resource, k.op())
	if err != nil {
		return "", err
	}
	if r.Create == nil {
		return "", unsupported(k.op(), "the mapping has no create"+reasonSuffix(r.Without.Create))
	}
	id, err := b.write(ctx, k, r, r.Create, w)
	if err == nil && id == "" && (r.root == r || r.Identified) {
		return "", &adapter.Error{Kind: adapter.Internal, Op: k.op(), Err: errNoID}
	}
	return id, err
}

// Update changes a record with the mapping's update requests.
func (b *Backend) Update(ctx context.Context, w *replica.Write) error {
	k := call{string(w.Resource), "update"}
	r, err := b.resource(w.Resource, k.op())
	if err != nil {
		return err
	}
	if r.Update == nil {
		return unsupported(k.op(), "the mapping has no update"+reasonSuffix(r.Without.Update))
	}
	_, err = b.write(ctx, k, r, r.Update, w)
	return err
}

// Delete deletes a record with the mapping's delete requests.
func (b *Backend) Delete(ctx context.Context, w *replica.Write) error {
	k := call{string(w.Resource), "delete"}
	r, err := b.resource(w.Resource, k.op())
	if err != nil {
		return err
	}
	if r.Delete == nil {
		return unsupported(k.op(), "the mapping has no delete"+reasonSuffix(r.Without.Delete))
	}
	_, err = b.write(ctx, k, r, r.Delete, w)
	return err
}

// A writeOperation is the state of one write.
type writeOperation struct {
	*Backend
	call         call
	write        *replica.Write
	input        map[string]any
	steps        map[string]any // responses by step name
	id           string         // of a new record
	changed      bool           // a request that changes the backend has succeeded
	irreversible bool           // one of these requests has no undo
	undo         []compensation
}

// A compensation reverts a completed step.
type compensation struct {
	undo *undo
	item any
}

// write sends the requests of an operation and returns the id of a new record.
func (b *Backend) write(ctx context.Context, k call, r *resource, steps []*step, w *replica.Write) (string, error) {
	input, err := b.writeInput(ctx, r, w)
	if err != nil {
		return "", errorOf(ctx, adapter.Internal, k.op(), err)
	}
	operation := &writeOperation{Backend: b, call: k, write: w, input: input, steps: map[string]any{}}
	input["steps"] = operation.steps
	for _, s := range steps {
		if err := operation.runStep(ctx, s); err != nil {
			return "", operation.fail(ctx, r, err)
		}
	}
	return operation.id, nil
}

// writeInput returns the object that the expressions of a write see.
func (b *Backend) writeInput(ctx context.Context, r *resource, w *replica.Write) (map[string]any, error) {
	wanted := map[adapter.Resource][]adapter.Key{}
	for _, record := range []adapter.Record{w.Old, w.New} {
		r.collectKeys(record, "", wanted)
	}
	for _, s := range w.Siblings {
		r.collectKeys(s.Record, "", wanted)
	}
	for name, parts := range w.Parts {
		if p := b.mapping.resource(name); p != nil {
			for _, part := range parts {
				p.collectKeys(part.Record, "", wanted)
			}
		}
	}
	ids, err := b.lookUpIDs(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for _, name := range r.Match {
		if to, mapped := r.References[name]; mapped && len(w.New.Values) > 0 {
			if key := w.New.Get(name).Int(); key != 0 && ids[to][adapter.Key(key)] == "" {
				return nil, &adapter.Error{Kind: adapter.Invalid, Op: "write " + string(r.name), Field: name,
					Err: fmt.Errorf("%d in %s has no backend id: import it with portico ids import", key, to)}
			}
		}
	}
	changed := make(map[string]any, len(w.Changed))
	for _, name := range w.Changed {
		changed[name] = true
	}
	siblings := make([]any, len(w.Siblings))
	for i, s := range w.Siblings {
		siblings[i] = map[string]any{"id": nullable(s.ID), "record": r.recordInput(s.Record, ids)}
	}
	parts := make(map[string]any, len(w.Parts))
	for name, records := range w.Parts {
		if p := b.mapping.resource(name); p != nil {
			list := make([]any, len(records))
			for i, part := range records {
				list[i] = map[string]any{"key": jqInteger(part.Record.Get(p.schema.Key).Int()), "record": p.recordInput(part.Record, ids)}
			}
			parts[string(name)] = list
		}
	}
	return map[string]any{
		"id": nullable(w.ID), "key": jqInteger(int64(w.Key)),
		"root": map[string]any{"id": nullable(w.RootID), "key": jqInteger(int64(w.RootKey))},
		"old":  r.recordInput(w.Old, ids), "new": r.recordInput(w.New, ids),
		"changed": changed, "siblings": siblings, "parts": parts,
	}, nil
}

// nullable returns an id, or nil if it is empty.
func nullable(id string) any {
	if id == "" {
		return nil
	}
	return id
}

// recordInput returns a record as expressions see it, or nil for an empty record.
func (r *resource) recordInput(record adapter.Record, ids map[adapter.Resource]map[adapter.Key]string) any {
	if len(record.Values) == 0 {
		return nil
	}
	return r.fromRecord(record, "", ids)
}

// runStep sends the requests of a step.
func (w *writeOperation) runStep(ctx context.Context, s *step) error {
	if s.When != nil {
		holds, err := s.When.evalBool(ctx, w.input)
		if err != nil || !holds {
			return err
		}
	}
	if s.Each == nil {
		resp, err := w.sendStep(ctx, s, nil)
		if err != nil {
			return err
		}
		if s.Name != "" {
			w.steps[s.Name] = resp
		}
		return w.captureID(ctx, s, resp)
	}
	items, err := s.Each.evalAll(ctx, maxEach, w.input)
	if err != nil {
		return err
	}
	results := make([]any, 0, len(items))
	for _, item := range items {
		resp, err := w.sendStep(ctx, s, item)
		if err != nil {
			return err
		}
		results = append(results, resp)
	}
	if s.Name != "" {
		w.steps[s.Name] = results
	}
	return nil
}

// captureID takes the id of the new record from a response. Later expressions see it as
// .id.
func (w *writeOperation) captureID(ctx context.Context, s *step, resp any) error {
	if s.ID == nil {
		return nil
	}
	v, err := s.ID.eval(ctx, resp)
	if err != nil {
		return err
	}
	if w.id = backendID(v); w.id == "" {
		return fmt.Errorf("%s: the response has no id", s.ID.at)
	}
	w.input["id"] = w.id
	return nil
}

// sendStep sends one request and returns the decoded response, or nil if nothing needs it.
func (w *writeOperation) sendStep(ctx context.Context, s *step, item any) (any, error) {
	m, err := w.client.prepare(ctx, w.call, &s.request, w.input, item)
	if err != nil {
		return nil, err
	}
	if s.Multipart != nil {
		if m.file, err = s.Multipart.file(ctx, w.write.New, w.input, item); err != nil {
			return nil, err
		}
	}
	changes := s.Method != "GET"
	resp, err := w.client.sendWithRetry(ctx, m)
	if err != nil {
		return nil, err
	}
	w.changed = w.changed || changes
	w.irreversible = w.irreversible || changes && s.Undo == nil
	if s.Undo != nil {
		w.undo = append(w.undo, compensation{s.Undo, item})
	}
	if s.Name == "" && s.ID == nil || len(resp.body) == 0 {
		return nil, nil
	}
	decoded, err := decode(resp.body, w.mapping.Connection.Limits.Depth)
	if err != nil {
		return nil, w.client.malformedResponse(m, resp.header, err)
	}
	return decoded, nil
}

// isRejection reports whether the backend refused a request without doing anything.
func isRejection(err error) bool {
	switch adapter.KindOf(err) {
	case adapter.NotFound, adapter.Conflict, adapter.Invalid, adapter.Unsupported:
		return true
	}
	return false
}

// fail returns the error of a failed write. The kinds NotFound, Conflict, Invalid and
// Unsupported promise that nothing was changed. They are returned only if no request had
// changed anything, or if all changes could be rolled back.
func (w *writeOperation) fail(ctx context.Context, r *resource, err error) error {
	var refusedByMapping *refusal
	if errors.As(err, &refusedByMapping) {
		err = &adapter.Error{Kind: kinds[refusedByMapping.kind], Op: w.call.op(), Field: refusedByMapping.field, Err: err}
	}
	err = errorOf(ctx, adapter.Internal, w.call.op(), err)
	if !isRejection(err) {
		return err
	}
	var known *adapter.Error
	errors.As(err, &known)
	if _, ok := r.schema.Index(known.Field); !ok {
		known.Field = ""
	}
	if !w.changed {
		return err
	}
	if rollbackErr := w.rollBack(ctx); rollbackErr != nil {
		return &adapter.Error{Kind: adapter.Internal, Op: w.call.op(), Err: fmt.Errorf("rejected after earlier requests had succeeded (%w), and these could not be rolled back: %w", err, rollbackErr)}
	}
	return err
}

// rollBack reverts the completed steps in reverse order.
func (w *writeOperation) rollBack(ctx context.Context) error {
	if w.irreversible {
		return errNoUndo
	}
	ctx = context.WithoutCancel(ctx) // roll back even if the caller has gone
	for _, u := range slices.Backward(w.undo) {
		if u.undo.When != nil {
			holds, err := u.undo.When.evalBool(ctx, w.input)
			if err != nil {
				return err
			}
			if !holds {
				continue
			}
		}
		m, err := w.client.prepare(ctx, w.call, &u.undo.request, w.input, u.item)
		if err != nil {
			return err
		}
		if _, err := w.client.sendWithRetry(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// file returns the file part of a multipart body.
func (p *multipart) file(ctx context.Context, record adapter.Record, input, item any) (*file, error) {
	name, err := p.Filename.eval(ctx, input, item)
	if err != nil {
		return nil, err
	}
	mediaType, err := p.Type.eval(ctx, input, item)
	if err != nil {
		return nil, err
	}
	f := &file{field: p.Field, content: record.Get(p.Attribute).Text()}
	f.name, _ = name.(string)
	f.mediaType, _ = mediaType.(string)
	if f.name == "" || f.mediaType == "" {
		return nil, fmt.Errorf("%s: a file needs a file name and a media type", p.Filename.at)
	}
	return f, nil
}
