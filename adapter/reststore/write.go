package reststore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sidestore"
)

var (
	errNoID   = errors.New("no request of the mapping gives the id of the new record")
	errNoUndo = errors.New("the mapping has no undo for it")
)

// maxEach bounds how often one step of a write is sent.
const maxEach = 1000

// Create makes a record by the requests of the mapping.
func (b *Backend) Create(ctx context.Context, w *sidestore.Write) (string, error) {
	k := call{string(w.Resource), "create"}
	r, err := b.resource(w.Resource, k.op())
	if err != nil {
		return "", err
	}
	if r.create == nil {
		return "", unsupported(k.op(), "the mapping has no create"+reasonSuffix(r.noCreate))
	}
	id, err := b.write(ctx, k, r, r.create, w)
	if err == nil && id == "" && (r.root == r || r.identified) {
		return "", &adapter.Error{Kind: adapter.Internal, Op: k.op(), Err: errNoID}
	}
	return id, err
}

// Update changes a record by the requests of the mapping.
func (b *Backend) Update(ctx context.Context, w *sidestore.Write) error {
	k := call{string(w.Resource), "update"}
	r, err := b.resource(w.Resource, k.op())
	if err != nil {
		return err
	}
	if r.update == nil {
		return unsupported(k.op(), "the mapping has no update"+reasonSuffix(r.noUpdate))
	}
	_, err = b.write(ctx, k, r, r.update, w)
	return err
}

// Delete removes a record by the requests of the mapping.
func (b *Backend) Delete(ctx context.Context, w *sidestore.Write) error {
	k := call{string(w.Resource), "delete"}
	r, err := b.resource(w.Resource, k.op())
	if err != nil {
		return err
	}
	if r.remove == nil {
		return unsupported(k.op(), "the mapping has no delete"+reasonSuffix(r.noDelete))
	}
	_, err = b.write(ctx, k, r, r.remove, w)
	return err
}

// A writing is a write that is being done.
type writeOperation struct {
	*Backend
	call         call
	write        *sidestore.Write
	input        map[string]any
	steps        map[string]any // replies by the name of their step
	id           string         // of a new record
	changed      bool           // something was changed at the backend
	irreversible bool           // by a request that has no undo
	undo         []compensation
}

// An undoing takes back what a step has done.
type compensation struct {
	step *step
	item any
}

// write sends the requests of a verb, and returns the id of a new record.
func (b *Backend) write(ctx context.Context, k call, r *resource, v *verb, w *sidestore.Write) (string, error) {
	input, err := b.writeInput(ctx, r, w)
	if err != nil {
		return "", errorOf(ctx, adapter.Internal, k.op(), err)
	}
	operation := &writeOperation{Backend: b, call: k, write: w, input: input, steps: map[string]any{}}
	input["steps"] = operation.steps
	for _, s := range v.steps {
		if err := operation.runStep(ctx, s); err != nil {
			return "", operation.fail(ctx, r, err)
		}
	}
	return operation.id, nil
}

// input is what the expressions of a write see.
func (b *Backend) writeInput(ctx context.Context, r *resource, w *sidestore.Write) (map[string]any, error) {
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
	for _, name := range r.match {
		if to, mapped := r.references[name]; mapped && len(w.New.Values) > 0 {
			if key := w.New.Get(name).Int(); key != 0 && ids[to][adapter.Key(key)] == "" {
				return nil, &adapter.Error{Kind: adapter.Invalid, Op: "write " + string(r.name), Field: name,
					Err: fmt.Errorf("the backend has no counterpart of %d in %s: import its id", key, to)}
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

// known returns an id, and null for none.
func nullable(id string) any {
	if id == "" {
		return nil
	}
	return id
}

// shown returns a record as expressions see it, null for none.
func (r *resource) recordInput(record adapter.Record, ids map[adapter.Resource]map[adapter.Key]string) any {
	if len(record.Values) == 0 {
		return nil
	}
	return r.fromRecord(record, "", ids)
}

// step sends a request as often as the mapping says.
func (w *writeOperation) runStep(ctx context.Context, s *step) error {
	if s.when != nil {
		holds, err := s.when.evalBool(ctx, w.input)
		if err != nil || !holds {
			return err
		}
	}
	if s.each == nil {
		answer, err := w.sendStep(ctx, s, nil)
		if err != nil {
			return err
		}
		if s.name != "" {
			w.steps[s.name] = answer
		}
		return w.captureID(ctx, s, answer)
	}
	items, err := s.each.evalAll(ctx, maxEach, w.input)
	if err != nil {
		return err
	}
	answers := make([]any, 0, len(items))
	for _, item := range items {
		answer, err := w.sendStep(ctx, s, item)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	if s.name != "" {
		w.steps[s.name] = answers
	}
	return nil
}

// identify takes the id of the new record from a reply. Later requests see it.
func (w *writeOperation) captureID(ctx context.Context, s *step, answer any) error {
	if s.id == nil {
		return nil
	}
	v, err := s.id.eval(ctx, answer)
	if err != nil {
		return err
	}
	if w.id = backendID(v); w.id == "" {
		return fmt.Errorf("%s: the reply has no id", s.id.at)
	}
	w.input["id"] = w.id
	return nil
}

// request sends one request, once, and returns the reply decoded.
func (w *writeOperation) sendStep(ctx context.Context, s *step, item any) (any, error) {
	m, err := w.client.prepare(ctx, w.call, s.request, w.input, item)
	if err != nil {
		return nil, err
	}
	if s.multipart != nil {
		if m.file, err = s.multipart.file(ctx, w.write.New, w.input, item); err != nil {
			return nil, err
		}
	}
	changes := s.request.method != "GET"
	answer, err := w.client.sendWithRetry(ctx, m)
	if err != nil {
		return nil, err
	}
	w.changed = w.changed || changes
	w.irreversible = w.irreversible || changes && s.undo == nil
	if s.undo != nil {
		w.undo = append(w.undo, compensation{s.undo, item})
	}
	if s.name == "" && s.id == nil || len(answer.body) == 0 {
		return nil, nil
	}
	decoded, err := decode(answer.body, w.mapping.connection.limits.depth)
	if err != nil {
		return nil, w.client.malformedResponse(m, answer.header, err)
	}
	return decoded, nil
}

// refused reports whether the backend answered that it does not do what was asked.
func isRejection(err error) bool {
	switch adapter.KindOf(err) {
	case adapter.NotFound, adapter.Conflict, adapter.Invalid, adapter.Unsupported:
		return true
	}
	return false
}

// failed returns the error of a write. The kinds which say that nothing was done are
// left only where that is so: because the first request that changes something was
// refused, or because all before it could be taken back.
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
		return &adapter.Error{Kind: adapter.Internal, Op: w.call.op(), Err: fmt.Errorf("refused after a part was done (%w), which was not taken back: %w", err, rollbackErr)}
	}
	return err
}

// takeBack undoes what was done, the last first.
func (w *writeOperation) rollBack(ctx context.Context) error {
	if w.irreversible {
		return errNoUndo
	}
	ctx = context.WithoutCancel(ctx) // although the caller may have gone
	for _, u := range slices.Backward(w.undo) {
		if u.step.when != nil {
			holds, err := u.step.when.evalBool(ctx, w.input)
			if err != nil {
				return err
			}
			if !holds {
				continue
			}
		}
		m, err := w.client.prepare(ctx, w.call, u.step.request, w.input, u.item)
		if err != nil {
			return err
		}
		if _, err := w.client.sendWithRetry(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// file returns the file of a multipart body.
func (p *multipart) file(ctx context.Context, record adapter.Record, input, item any) (*file, error) {
	name, err := p.filename.eval(ctx, input, item)
	if err != nil {
		return nil, err
	}
	mediaType, err := p.mediaType.eval(ctx, input, item)
	if err != nil {
		return nil, err
	}
	f := &file{field: p.field, content: record.Get(p.attribute).Text()}
	f.name, _ = name.(string)
	f.mediaType, _ = mediaType.(string)
	if f.name == "" || f.mediaType == "" {
		return nil, fmt.Errorf("%s: a file needs a name and a media type", p.filename.at)
	}
	return f, nil
}
