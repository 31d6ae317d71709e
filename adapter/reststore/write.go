package reststore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"slices"
)

// maxEach limits how often one step of a write is sent.
const maxEach = 1000

// Create creates a record with the mapping's create requests and returns its id.
func (b *Backend) Create(ctx context.Context, w *replica.Write) (string, error) {
	return b.write(ctx, "create", w)
}

// Update changes a record with the mapping's update requests.
func (b *Backend) Update(ctx context.Context, w *replica.Write) error {
	_, err := b.write(ctx, "update", w)
	return err
}

// Delete deletes a record with the mapping's delete requests.
func (b *Backend) Delete(ctx context.Context, w *replica.Write) error {
	_, err := b.write(ctx, "delete", w)
	return err
}

// A writeOperation is the state of one write.
type writeOperation struct {
	*Backend
	call         call
	write        *replica.Write
	input        map[string]any
	steps        map[string]any                // responses by step name
	headers      map[string]any                // their headers, by step name; the last ones for a step with Each
	id           string                        // of a new record
	changed      bool                          // a request that changes the backend has succeeded
	irreversible bool                          // one of these requests has no undo
	undo         []func(context.Context) error // revert completed steps
}

// write sends the requests of an operation and returns the id of a new record.
func (b *Backend) write(ctx context.Context, verb string, w *replica.Write) (string, error) {
	k := call{string(w.Resource), verb}
	r, err := b.resource(w.Resource, k.op())
	if err != nil {
		return "", err
	}
	steps, reason := r.verb(verb)
	if steps == nil {
		return "", notMapped(k, reason)
	}
	input, err := b.writeInput(ctx, r, w)
	if err != nil {
		return "", errorOf(ctx, adapter.Internal, k.op(), err)
	}
	operation := &writeOperation{Backend: b, call: k, write: w, input: input, steps: map[string]any{}, headers: map[string]any{}}
	input["steps"], input["headers"] = operation.steps, operation.headers
	for _, s := range steps {
		if err := operation.runStep(ctx, s); err != nil {
			return "", operation.fail(ctx, r, err)
		}
	}
	if verb == "create" && operation.id == "" && (r.root == r || r.Identified) {
		return "", &adapter.Error{Kind: adapter.Internal, Op: k.op(), Err: errors.New("no request of create returned the id of the new record")}
	}
	return operation.id, nil
}

// writeInput returns the object that the expressions of a write see.
func (b *Backend) writeInput(ctx context.Context, r *resource, w *replica.Write) (map[string]any, error) {
	ids := &writeIDs{wanted: map[adapter.Resource][]adapter.Key{}}
	changed := make(map[string]any, len(w.Changed))
	for _, name := range w.Changed {
		changed[name] = true
	}
	siblings := make([]any, len(w.Siblings))
	for i, s := range w.Siblings {
		siblings[i] = map[string]any{"id": nullable(s.ID), "record": r.fromRecord(s.Record, "", ids)}
	}
	parts := make(map[string]any, len(w.Parts))
	for name, records := range w.Parts {
		if p := b.mapping.Resources[name]; p != nil {
			list := make([]any, len(records))
			for i, part := range records {
				list[i] = map[string]any{"key": expr.FromInteger(part.Record.Get(p.schema.Key).Int()), "record": p.fromRecord(part.Record, "", ids)}
			}
			parts[string(name)] = list
		}
	}
	input := map[string]any{
		"id": nullable(w.ID), "key": expr.FromInteger(int64(w.Key)),
		"root": map[string]any{"id": nullable(w.RootID), "key": expr.FromInteger(int64(w.RootKey)), "record": r.root.fromRecord(w.Root, "", ids)},
		"old":  r.fromRecord(w.Old, "", ids), "new": r.fromRecord(w.New, "", ids),
		"changed": changed, "siblings": siblings, "parts": parts,
	}
	views, err := b.viewInputs(ctx, r, w, ids)
	if err != nil {
		return nil, err
	}
	input["views"] = views
	if err := ids.resolve(ctx, b.ids); err != nil {
		return nil, err
	}
	if len(w.New.Values) == 0 {
		return input, nil
	}
	for _, name := range r.Match {
		to, mapped := r.References[name]
		if key := adapter.Key(w.New.Get(name).Int()); mapped && key != 0 && ids.found[to][key] == "" {
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: "write " + string(r.name), Field: name,
				Err: fmt.Errorf("%d in %s has no backend id: import it with portico ids import", key, to)}
		}
	}
	return input, nil
}

// nullable returns an id, or nil if it is empty.
func nullable(id string) any {
	if id == "" {
		return nil
	}
	return id
}

// runStep sends the requests of a step.
func (w *writeOperation) runStep(ctx context.Context, s *step) error {
	if holds, err := s.When.holds(ctx, w.input); err != nil || !holds {
		return err
	}
	items := []any{nil}
	if s.Each != nil {
		var err error
		if items, err = s.Each.evalAll(ctx, maxEach, w.input); err != nil {
			return err
		}
	}
	responses := make([]any, len(items))
	for i, item := range items {
		var err error
		if responses[i], err = w.sendStep(ctx, s, item); err != nil {
			return err
		}
	}
	if s.Name != "" {
		w.steps[s.Name] = responses
		if s.Each == nil {
			w.steps[s.Name] = responses[0]
		}
	}
	if s.Warn != nil {
		if text := evalText(ctx, s.Warn, w.input); text != "" {
			w.log.WarnContext(ctx, text, "resource", w.call.resource, "id", w.write.Key)
		}
	}
	if s.ID == nil {
		return nil
	}
	return w.captureID(ctx, s, responses[0])
}

// captureID reads the id of the new record from a response. Later expressions see it as
// .id.
func (w *writeOperation) captureID(ctx context.Context, s *step, resp any) error {
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

// sendStep sends one request and returns the decoded response, or nil if no expression
// needs it.
func (w *writeOperation) sendStep(ctx context.Context, s *step, item any) (any, error) {
	m, err := w.client.prepare(ctx, w.call, &s.request, w.input, item)
	if err != nil {
		return nil, err
	}
	if s.Multipart != nil {
		if m.file, err = s.Multipart.file(ctx, w.write.New, w.input, item); err != nil {
			return nil, err
		}
		if s.GraphQL != nil {
			m.variables[m.file.field] = nil
		}
	}
	changes := !s.reads()
	resp, err := w.client.sendWithRetry(ctx, m)
	if err != nil {
		return nil, err
	}
	if s.Name != "" {
		w.headers[s.Name] = resp.headerTexts()
	}
	w.changed = w.changed || changes
	w.irreversible = w.irreversible || changes && s.Undo == nil && s.UndoneBy == ""
	if s.Undo != nil {
		w.undo = append(w.undo, func(ctx context.Context) error {
			holds, err := s.Undo.When.holds(ctx, w.input)
			if err == nil && holds {
				_, err = w.client.send(ctx, w.call, &s.Undo.request, w.input, item)
			}
			return err
		})
	}
	if s.Name == "" && s.ID == nil || len(resp.body) == 0 {
		return nil, nil
	}
	decoded, err := expr.Decode(resp.body, w.mapping.Connection.Limits.Depth)
	if err != nil {
		return nil, malformed(resp, err)
	}
	return decoded, nil
}

// fail returns the error of a failed write. The kinds NotFound, Conflict, Invalid and
// Unsupported promise that nothing was changed. They are returned only if no request had
// changed anything, or if all changes could be rolled back.
func (w *writeOperation) fail(ctx context.Context, r *resource, err error) error {
	if refused, ok := errors.AsType[*refusal](err); ok {
		err = &adapter.Error{Kind: refused.kind.ErrorKind, Op: w.call.op(), Field: refused.field, Err: err}
	}
	err = errorOf(ctx, adapter.Internal, w.call.op(), err)
	known, ok := errors.AsType[*adapter.Error](err)
	if !ok || !adapter.IsRefusal(known) {
		return err
	}
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
		return errors.New("the mapping has no undo for that request")
	}
	ctx = context.WithoutCancel(ctx) // roll back even if the caller has gone
	for _, undo := range slices.Backward(w.undo) {
		if err := undo(ctx); err != nil {
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
	f := &file{field: cmp.Or(p.Field, p.Variable), content: record.Get(p.Attribute).Text()}
	f.name, _ = name.(string)
	f.mediaType, _ = mediaType.(string)
	if f.name == "" || f.mediaType == "" {
		return nil, fmt.Errorf("%s: a file needs a file name and a media type", p.Filename.at)
	}
	return f, nil
}
