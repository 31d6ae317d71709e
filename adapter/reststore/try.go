package reststore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// asSent returns the request for a Trial. A login shows neither query nor body, as these contain
// the password.
func (m *preparedRequest) asSent(resp *response, err error) trialRequest {
	sent := trialRequest{For: m.call.op(), Method: m.Method, URL: m.url}
	if refusal, ok := errors.AsType[*responseError](err); ok {
		sent.Status = refusal.status
	} else if resp != nil {
		sent.Status = resp.status
	}
	if m.call.operation == loginOperation {
		return sent
	}
	if query := m.query.Encode(); query != "" {
		sent.URL += "?" + query
	}
	sent.Variables, sent.Body = m.variables, m.body
	return sent
}

// Try opens the backend and reads one root record, with the requests of a read: the record with
// this id of the backend or, if id is "", the record that a search for this legacy id finds.
// References are shown as ids of the backend, so there is no need for an ID map. If the record
// cannot be read, the error is the reason, and the trial holds the data read so far.
func Try(ctx context.Context, o Options, root adapter.Resource, id string, key adapter.Key) (t *Trial, err error) {
	t, references := &Trial{}, &trialIDs{}
	var mu sync.Mutex // requests to store views and for joins are sent at the same time
	o.IDs, o.sent = references, func(s trialRequest) {
		mu.Lock()
		defer mu.Unlock()
		t.Requests = append(t.Requests, s)
	}
	b, err := Open(o)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	r, err := b.resource(root, "try")
	switch {
	case err != nil:
		return t, fmt.Errorf("the mapping has no %s; it has %s", root, b.roots())
	case r.root != r:
		return t, fmt.Errorf("%s are parts of %s: try these", root, r.root.name)
	}
	d, err := b.fetchTried(ctx, r, id, key)
	if err != nil {
		return t, err
	}
	t.Document = json.RawMessage(d.raw)
	for i, j := range r.Joins {
		t.Joined = append(t.Joined, joinedData{j.As, json.RawMessage(d.joined[i])})
	}
	if selected, err := b.mapping.selects(ctx, r.Scan, r, d); err == nil {
		t.Excluded = !selected
	}
	item, parts, err := b.read(ctx, r, d, &keyCache{}, b.newViewBatch(r, call{string(r.name), "fetch"}, []document{d}))
	if err != nil {
		return t, err
	}
	var imported []adapter.Record
	add := func(r *resource, item replica.Item, isImported bool, from, initially string) error {
		record, values, err := r.tried(ctx, references, item, from, initially)
		t.Records = append(t.Records, TrialRecord{Resource: r.name, ID: item.ID, Key: item.Key, Imported: isImported, Values: values})
		if isImported && !r.schema.HasFile { // the file determines their values
			imported = append(imported, record)
		}
		return err
	}
	err = add(r, item, true, "read", "rest")
	err = errors.Join(err, t.addViews(ctx, r, item, references))
	for _, p := range r.parts {
		for _, item := range parts[p.name] {
			err = errors.Join(err, add(p, item, p.Adopts, "items", "items"))
		}
	}
	t.Lacking, t.LeftOut = adapter.Lacking(imported...), item.LeftOut
	return t, err
}

// addViews adds the values that store views have of their own.
func (t *Trial) addViews(ctx context.Context, r *resource, item replica.Item, references *trialIDs) error {
	stores, err := references.BackendIDs(ctx, adapter.Stores, slices.Sorted(maps.Keys(item.Views)))
	for _, key := range slices.Sorted(maps.Keys(item.Views)) {
		own := item.Views[key].Clone()
		for i, v := range own.Values {
			if v.Kind() == adapter.Null { // inherited
				own.Values[i] = adapter.Value{}
			}
		}
		_, values, failed := r.tried(ctx, references, replica.Item{Record: own}, "views", "")
		t.Records = append(t.Records, TrialRecord{Resource: r.name, Store: stores[key], ID: item.ID, Imported: true, Values: values})
		err = errors.Join(err, failed)
	}
	return err
}

// roots returns the names of the resources that have documents.
func (b *Backend) roots() string {
	var names []string
	for _, r := range b.mapping.resources {
		if r.root == r {
			names = append(names, string(r.name))
		}
	}
	return strings.Join(names, ", ")
}

// fetchTried fetches the document with an id; if that is "", the document of the record with the
// legacy id.
func (b *Backend) fetchTried(ctx context.Context, r *resource, id string, key adapter.Key) (d document, err error) {
	if id == "" {
		found, err := b.Find(ctx, r.name, key, adapter.Record{})
		if err != nil {
			return d, err
		}
		id = found.ID
	}
	k, g := call{string(r.name), "fetch"}, r.Fetch
	resp, err := b.client.send(ctx, k, &g.request, nil, []any{id}, id)
	if err != nil {
		return d, err
	}
	documents, err := b.client.documents(ctx, g, resp, r.ID)
	if err == nil && len(documents) == 0 {
		err = b.client.meaning(ctx, resp)
	}
	if err == nil {
		err = b.join(ctx, r, k, documents)
	}
	if err != nil {
		return d, err
	}
	ids := make([]string, len(documents))
	for i, d := range documents {
		if ids[i] = fmt.Sprintf("%.64q", d.id); d.id == id {
			return d, nil
		}
	}
	if len(ids) == 0 {
		return d, errors.New("the response has no document: there is no such record, or the request does not select it")
	}
	const most = 10
	return d, fmt.Errorf("the response has other documents alone, with the ids %s: correct the query of fetch, or the paths of documents and ids", strings.Join(ids[:min(len(ids), most)], ", "))
}

// tried returns the record that an item would become by an import, and its values.
func (r *resource) tried(ctx context.Context, ids IDs, item replica.Item, from, initially string) (adapter.Record, []trialValue, error) {
	record := adapter.NewRecord(r.schema)
	origins := make([]string, len(record.Values))
	for _, source := range []struct {
		adapter.Record
		name string
	}{{item.Initial, initially}, {item.Record, from}} {
		for i, v := range source.Values {
			if v.Kind() != adapter.Absent {
				record.Values[i], origins[i] = v, source.name
			}
		}
	}
	references := &writeIDs{wanted: map[adapter.Resource][]adapter.Key{}}
	object, _ := r.fromRecord(record, "", references).(map[string]any)
	if err := references.resolve(ctx, ids); err != nil {
		return record, nil, err
	}
	onlyReferences(object)
	values := []trialValue{}
	for i, a := range r.schema.Attributes {
		if v, isReference := object[a.Name+refSuffix]; isReference {
			values = append(values, trialValue{Attribute: a.Name + refSuffix, Value: v, From: origins[i], Refers: r.References[a.Name]})
		} else if v, ok := object[a.Name]; ok {
			values = append(values, trialValue{Attribute: a.Name, Value: v, From: origins[i]})
		}
	}
	return record, values, nil
}

// onlyReferences keeps, for each reference, only the id that the mapping gave: the backend's id or
// the legacy id. It also does so in nested objects.
func onlyReferences(object map[string]any) {
	for _, name := range slices.Collect(maps.Keys(object)) {
		list, _ := object[name].([]any)
		for _, e := range list {
			if nested, ok := e.(map[string]any); ok {
				onlyReferences(nested)
			}
		}
		if attribute, is := strings.CutSuffix(name, refSuffix); is && object[name] != nil {
			delete(object, attribute)
		} else if is {
			delete(object, name)
		}
	}
}

// A Trial shows how a mapping reads one record of the backend, for people who write it. It has
// the values of the record, which may be personal data.
type Trial struct {
	Requests []trialRequest  `json:"requests"`
	Document json.RawMessage `json:"document,omitempty"`
	Joined   []joinedData    `json:"joined,omitempty"` // in the order of joins
	// Excluded: the expression where of scan does not select the document, so scans leave it
	// out.
	Excluded bool          `json:"excluded,omitempty"`
	Records  []TrialRecord `json:"records,omitempty"` // the root, then its parts
	// Lacking names the attributes without a value that the import of the record and its parts
	// requires, such as "stock_items.min_qty".
	Lacking []string `json:"lacking,omitempty"`
	// LeftOut lists the values that do not fit their attributes, with the reasons.
	LeftOut []string `json:"left_out,omitempty"`
}

// A trialRequest is a request as it was sent, without headers and without the values that a login
// sends.
type trialRequest struct {
	For       string          `json:"for"` // the operation, such as "fetch products"
	Method    string          `json:"method"`
	URL       string          `json:"url"`
	Variables map[string]any  `json:"variables,omitempty"` // of a GraphQL document
	Body      json.RawMessage `json:"body,omitempty"`      // of any other request
	Status    int             `json:"status,omitempty"`    // 0: there was no response
}

// joinedData is what a join adds to a document.
type joinedData struct {
	As   string          `json:"as"`
	Data json.RawMessage `json:"data"` // a document, a list of documents for a join with many, or null
}

// A TrialRecord is a record that a document contains.
type TrialRecord struct {
	Resource adapter.Resource `json:"resource"`
	// Store is the backend's id of the store view whose own values these are; "" for the default scope.
	Store string      `json:"store,omitempty"`
	ID    string      `json:"backend_id,omitempty"`
	Key   adapter.Key `json:"legacy_id,omitempty"` // that the document carries; 0 for none
	// Imported: the record is imported if only the backend has it.
	Imported bool         `json:"imported"`
	Values   []trialValue `json:"values"`
}

// A trialValue is the value of an attribute.
type trialValue struct {
	// Attribute ends in _ref if the value is the backend's id of a record of Refers.
	Attribute string           `json:"attribute"`
	Value     any              `json:"value"`
	From      string           `json:"from"` // the expression: read, rest or items
	Refers    adapter.Resource `json:"refers,omitempty"`
}

// firstKey is the first of the keys that a trial assigns to ids of the backend. Legacy ids are
// smaller.
const firstKey = 1 << 53

// trialIDs stand for an ID map that has every id of the backend.
type trialIDs struct{ ids []string }

// Keys returns a key for each id.
func (t *trialIDs) Keys(_ context.Context, _ adapter.Resource, ids []string) (map[string]adapter.Key, error) {
	keys := map[string]adapter.Key{}
	for _, id := range ids {
		keys[id] = firstKey + adapter.Key(len(t.ids))
		t.ids = append(t.ids, id)
	}
	return keys, nil
}

// BackendIDs returns the ids that keys stand for. A legacy id is none of them.
func (t *trialIDs) BackendIDs(_ context.Context, _ adapter.Resource, keys []adapter.Key) (map[adapter.Key]string, error) {
	ids := map[adapter.Key]string{}
	for _, key := range keys {
		if key >= firstKey {
			ids[key] = t.ids[key-firstKey]
		}
	}
	return ids, nil
}
