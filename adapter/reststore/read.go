package reststore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
)

// Fetch returns the documents with these ids, in any order. It sends requests in parallel with
// as many ids each as the mapping allows, and omits documents that do not exist. The result
// may contain documents that were not requested.
func (b *Backend) Fetch(ctx context.Context, root adapter.Resource, ids []string) ([]replica.Document, error) {
	k := call{string(root), "fetch"}
	r, err := b.resource(root, k.op())
	if err != nil {
		return nil, err
	}
	if r.Versions != nil {
		return b.fetchVersions(ctx, r, k, ids)
	}
	return b.fetchDocuments(ctx, r, k, r.Fetch, ids)
}

// fetchDocuments fetches whole documents with the request fetch of a resource, or a variant of it.
func (b *Backend) fetchDocuments(ctx context.Context, r *resource, k call, fetch *documentRequest, ids []string) ([]replica.Document, error) {
	return inBatches(ctx, b.client, ids, fetch.Batch, func(ctx context.Context, ids []string) ([]replica.Document, error) {
		return b.requestDocuments(ctx, r, k, fetch, nil, anys(ids), ids[0])
	})
}

// inBatches calls request with at most size ids each, without duplicates and empty ids, with
// as many concurrent calls as there may be requests in flight. It returns all results.
func inBatches[T any](ctx context.Context, c *client, ids []string, size int, request func(context.Context, []string) ([]T, error)) ([]T, error) {
	distinct := slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(distinct) > 0 && distinct[0] == "" {
		distinct = distinct[1:]
	}
	batches := slices.Collect(slices.Chunk(distinct, size))
	if len(batches) == 1 {
		return request(ctx, batches[0])
	}
	results := make([][]T, len(batches))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.connection.Limits.InFlight)
	for i, batch := range batches {
		group.Go(func() (err error) {
			results[i], err = request(ctx, batch)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(results...), nil
}

// requestDocuments sends a request for documents and parses the response.
func (b *Backend) requestDocuments(ctx context.Context, r *resource, k call, g *documentRequest, input any, variables ...any) (found []replica.Document, err error) {
	resp, err := b.client.send(ctx, k, &g.request, input, variables...)
	if err == nil {
		found, err = b.parseDocuments(ctx, r, k, g, resp)
	}
	// A 404 on a list means a wrong path, not an empty list.
	if adapter.KindOf(err) == adapter.NotFound && g.single() {
		return nil, nil
	}
	return found, readError(ctx, k.op(), err)
}

// readError returns the error of a read. Error kinds that only writes can have become
// Internal: they indicate a mistake in the mapping.
func readError(ctx context.Context, op string, err error) error {
	if adapter.IsRefusal(err) {
		return &adapter.Error{Kind: adapter.Internal, Op: op, Err: err}
	}
	return errorOf(ctx, adapter.Internal, op, err)
}

// parseDocuments splits a response into documents. Documents that are not records of the
// contract are returned without Read: a scan needs them to count its pages.
func (b *Backend) parseDocuments(ctx context.Context, r *resource, k call, g *documentRequest, resp *response) ([]replica.Document, error) {
	documents, err := b.client.documents(ctx, g, resp, r.ID)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(documents, func(d document) bool { return d.id == "" }) {
		return nil, b.client.unusableDocuments(ctx, resp, fmt.Errorf("a document has no id at %s", r.ID))
	}
	if len(documents) == 0 {
		return nil, b.client.meaning(ctx, resp)
	}
	if err := b.join(ctx, r, k, documents); err != nil {
		return nil, readError(ctx, k.op(), err)
	}
	keys, views := &keyCache{}, b.newViewBatch(r, k, documents)
	all := make([]replica.Document, len(documents))
	for i, d := range documents {
		all[i].ID = d.id
		if selected, err := b.mapping.selects(ctx, g, r, d); err != nil {
			return nil, errorOf(ctx, adapter.Unavailable, k.op(), err)
		} else if !selected {
			continue
		}
		if all[i].Version, err = b.mapping.tag(r, d); err != nil {
			return nil, b.client.unusableDocuments(ctx, resp, err)
		}
		all[i].Read = func(ctx context.Context) (replica.Item, map[adapter.Resource][]replica.Item, error) {
			return b.read(ctx, r, d, keys, views)
		}
	}
	b.metrics.documents.WithLabelValues(k.resource, "came").Add(float64(len(all)))
	return all, nil
}

// single reports whether a response has one document instead of a list.
func (g *documentRequest) single() bool { return g.Item != nil }

// read decodes a document and converts it to the root's record and the parts.
func (b *Backend) read(ctx context.Context, r *resource, d document, cache *keyCache, views *viewBatch) (item replica.Item, parts map[adapter.Resource][]replica.Item, err error) {
	defer func() { err = errorOf(ctx, adapter.Unavailable, fmt.Sprintf("read %s %.64s", r.name, d.id), err) }()
	b.metrics.documents.WithLabelValues(string(r.name), "read").Inc()
	input, err := b.mapping.decode(r, d)
	if err != nil {
		return item, nil, err
	}
	keys := &documentReader{keyCache: cache, unresolved: map[adapter.Resource][]string{}}
	if item, err = b.readRoot(ctx, r, input, keys); err != nil {
		return item, nil, err
	}
	if r.Views != nil && replica.ReadsViews(ctx) {
		if item.Views, err = views.read(ctx, d.id, item.Record, keys); err != nil {
			return item, nil, err
		}
	}
	parts = map[adapter.Resource][]replica.Item{}
	for _, p := range r.parts {
		list, err := b.readParts(ctx, p, input, keys)
		if err != nil {
			return item, nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if list != nil {
			parts[p.name] = list
		}
	}
	item.ID, item.Unresolved, item.LeftOut = d.id, keys.unresolved, keys.leftOut
	return item, parts, nil
}

func (b *Backend) readRoot(ctx context.Context, r *resource, input any, keys *documentReader) (item replica.Item, err error) {
	v, err := r.Key.eval(ctx, input)
	if err != nil {
		return item, err
	}
	if item.Key, err = r.Key.legacyID(v); err != nil {
		return item, err
	}
	if item.Record, err = b.evalRecord(ctx, r, r.Read, input, r.readNames, keys); err != nil {
		return item, err
	}
	item.Initial, err = b.evalRecord(ctx, r, r.Rest, input, r.restNames, keys)
	return item, err
}

// evalRecord converts the object that expression e returns, or null, to a record.
func (b *Backend) evalRecord(ctx context.Context, r *resource, e *expression, input any, allowed map[string]bool, keys *documentReader) (adapter.Record, error) {
	v, err := e.eval(ctx, input)
	if err != nil {
		return adapter.Record{}, err
	}
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		return adapter.Record{}, fmt.Errorf("%s: does not return an object", e.at)
	}
	record, _, err := b.buildRecord(ctx, r, e, object, allowed, keys)
	return record, err
}

// buildRecord converts an object that expression e returned to a record. It checks the
// object's keys against allowed and translates references.
func (b *Backend) buildRecord(ctx context.Context, r *resource, e *expression, values map[string]any, allowed map[string]bool, keys *documentReader) (adapter.Record, bool, error) {
	for name := range values {
		if !allowed[name] {
			return adapter.Record{}, false, fmt.Errorf("%s: %.40q is not an attribute that is allowed here", e.at, name)
		}
	}
	if err := b.resolve(ctx, r, values, keys); err != nil {
		return adapter.Record{}, false, err
	}
	record, unknown, err := r.toRecord(values, r.schema, "", e, keys)
	if err != nil {
		err = fmt.Errorf("%s: %w", e.at, err)
	}
	return record, unknown, err
}

// resolve looks up the legacy ids that an object refers to, and counts the unknown ones.
func (b *Backend) resolve(ctx context.Context, r *resource, object map[string]any, keys *documentReader) error {
	if len(r.References) == 0 {
		return nil
	}
	wanted := map[adapter.Resource][]string{}
	r.addReferences(wanted, object, "")
	if err := keys.lookUp(ctx, b.ids, wanted); err != nil {
		return err
	}
	for to, ids := range wanted {
		for _, id := range ids {
			if keys.get(to, id) == 0 {
				keys.unresolved[to] = append(keys.unresolved[to], id)
				b.metrics.unknownReferences.WithLabelValues(string(to)).Inc()
				b.log.DebugContext(ctx, "reference to a record without a legacy id", "resource", to, "backend_id", id)
			}
		}
	}
	return nil
}

// legacyID returns the id for the legacy clients that expression e found in a document, or 0
// if it found none. Anything but a positive whole number is an error.
func (e *expression) legacyID(v any) (adapter.Key, error) {
	if v == nil || v == "" {
		return 0, nil
	}
	key, err := expr.Integer(v)
	if _, flag := v.(bool); flag {
		err = expr.ErrNotNumber
	} else if err == nil && key < 1 {
		err = errors.New("is not positive")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: the legacy id %w", e.at, err)
	}
	return adapter.Key(key), nil
}

// Scan calls found with the documents of each page, in the backend's order. If the request in
// the mapping uses $since and since is not zero, these are only the documents that have
// changed since then, and those whose changes the mapping's watches show, up to Every later. A nil error
// means that found has seen all of them.
func (b *Backend) Scan(ctx context.Context, root adapter.Resource, since time.Time, found func([]replica.Document) error) error {
	k := call{string(root), "scan"}
	r, err := b.resource(root, k.op())
	if err != nil {
		return err
	}
	var from any
	if !since.IsZero() {
		from = since.UTC().Format(time.RFC3339)
	}
	if err := b.watch(ctx, r, from == nil, found); err != nil {
		return err
	}
	return b.eachPage(ctx, k, r, r.Scan, from, found)
}

// maxFindPages bounds the number of pages that one search for a legacy id reads.
const maxFindPages = 1000

// Find returns the document with a legacy id or, if the mapping says that its query is unique, the document
// without a legacy id that it finds for a record.
func (b *Backend) Find(ctx context.Context, root adapter.Resource, key adapter.Key, record adapter.Record) (noDocument replica.Document, err error) {
	k := call{string(root), "find"}
	r, err := b.resource(root, k.op())
	if err != nil {
		return noDocument, err
	}
	if r.Find == nil {
		return noDocument, notMapped(k, r.Without.Find)
	}
	var input any
	if r.Find.Unique {
		if len(record.Values) == 0 { // a query without values would find every document
			return noDocument, &adapter.Error{Kind: adapter.Unsupported, Op: k.op(), Err: fmt.Errorf("%s: finds documents by values of the record, and these are unknown: give the id that it has at the backend", r.Find.request.at)}
		}
		if input, err = b.writeInput(ctx, r, &replica.Write{Resource: root, Key: key, New: record}); err != nil {
			return noDocument, errorOf(ctx, adapter.Internal, k.op(), err)
		}
	}
	var matches []replica.Document
	count, pages := 0, 0
	search := func(documents []replica.Document) error {
		count += len(documents)
		for _, d := range documents {
			item, _, err := d.Read(ctx)
			if err != nil {
				return err
			}
			if item.Key == key || r.Find.Unique && item.Key == 0 {
				matches = append(matches, d)
			}
		}
		if pages++; len(matches) > 0 {
			return errLastPage
		}
		if pages == maxFindPages {
			return &adapter.Error{Kind: adapter.Unsupported, Op: k.op(), Err: fmt.Errorf("the legacy id %d is not among the first %d documents, and others are not searched", key, count)}
		}
		return nil
	}
	if r.Find.Pages != nil {
		err = b.eachPage(ctx, k, r, r.Find, expr.FromInteger(int64(key)), search)
	} else {
		var documents []replica.Document
		if documents, err = b.requestDocuments(ctx, r, k, r.Find, input, expr.FromInteger(int64(key))); err == nil {
			err = search(documents)
		}
	}
	if err != nil && !errors.Is(err, errLastPage) {
		return noDocument, err
	}
	switch {
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		return noDocument, &adapter.Error{Kind: adapter.Internal, Op: k.op(), Err: fmt.Errorf("%d documents have the legacy id %d: remove it from all but one", len(matches), key)}
	case count > 0 && !r.Find.Among && !r.Find.Unique:
		// Documents that do not match mean that the query is wrong, not that there is none.
		return noDocument, &adapter.Error{Kind: adapter.Internal, Op: k.op(), Err: fmt.Errorf("%s: the response to a query for the legacy id %d contains only other documents: correct the query of find", r.Find.request.at, key)}
	}
	return noDocument, &adapter.Error{Kind: adapter.NotFound, Op: k.op(), Err: fmt.Errorf("no document has the legacy id %d", key)}
}

// readParts returns the parts of resource p in a document, or nil if the mapping returns
// null because the document has no information about them.
func (b *Backend) readParts(ctx context.Context, p *resource, input any, keys *documentReader) ([]replica.Item, error) {
	v, err := p.Items.eval(ctx, input)
	if err != nil || v == nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: does not return a list", p.Items.at)
	}
	items := make([]replica.Item, 0, len(list))
	seen := map[string]bool{}
	for _, e := range list {
		object, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: returns a list element that is not an object", p.Items.at)
		}
		before := len(keys.leftOut)
		item, known, err := b.readPart(ctx, p, object, keys)
		if err != nil {
			return nil, err
		}
		item.LeftOut = slices.Clone(keys.leftOut[before:])
		if !known {
			continue
		}
		if utf8.RuneCountInString(item.ID) > idmap.MaxBackendID {
			keys.leaveOut(p.Items, p, "one", fmt.Errorf("has an id that is longer than %d characters", idmap.MaxBackendID))
			continue
		}
		name := p.partIdentity(item)
		if seen[name] {
			return nil, fmt.Errorf("%s: returns two parts with the same identity", p.Items.at)
		}
		seen[name] = true
		items = append(items, item)
	}
	return items, nil
}

// contentURL is the member of a part with the URL of its file.
const contentURL = "content_url"

// readPart converts one part. It reports false for a part that is identified by a
// reference to a record without a legacy id, such as a website that the contract does not
// have.
func (b *Backend) readPart(ctx context.Context, p *resource, object map[string]any, keys *documentReader) (item replica.Item, known bool, err error) {
	if item.ID = backendID(object["id"]); item.ID == "" && (p.Identified || object["id"] != nil) {
		return item, false, fmt.Errorf("%s: a part has no id that is a string or an integer", p.Items.at)
	}
	if item.Key, err = p.Items.legacyID(object["key"]); err != nil {
		return item, false, err
	}
	values := maps.Clone(object)
	if address, ok := values[contentURL].(string); ok && address != "" && p.schema.HasFile {
		item.File = func(ctx context.Context) (replica.File, error) { return b.files.Read(ctx, address) }
		delete(values, contentURL)
	}
	delete(values, "id")
	delete(values, "key")
	record, unknown, err := b.buildRecord(ctx, p, p.Items, values, p.restNames, keys)
	if err != nil {
		return item, false, err
	}
	for _, name := range p.Match {
		if record.Get(name).Kind() == adapter.Absent {
			if unknown {
				return item, false, nil
			}
			return item, false, fmt.Errorf("%s: a part has no %s, which identifies it", p.Items.at, name)
		}
	}
	// Attributes that are not backend-owned are used only for newly imported records.
	item.Record, item.Initial = adapter.NewRecord(p.schema), adapter.NewRecord(p.schema)
	for i, v := range record.Values {
		if slices.Contains(p.Attributes, p.schema.Attributes[i].Name) {
			item.Record.Values[i] = v
		} else {
			item.Initial.Values[i] = v
		}
	}
	return item, true, nil
}

// partIdentity returns a string that is unique among the parts of one root.
func (p *resource) partIdentity(item replica.Item) string {
	if p.Identified {
		return item.ID
	}
	name := ""
	for _, attribute := range p.Match {
		name += item.Record.Get(attribute).Text() + "\x00"
	}
	return name
}
