package reststore

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"
)

// A join is a second request for data that documents only refer to, such as the price list
// of a product. The joined document is part of the document and of its tag.
type join struct {
	from path   // where a document has the id of its joined document
	as   string // the key under which expressions see the joined document, or null
	id   path   // where a joined document has its id
	*documentRequest
}

// loadJoin loads the member join of a resource.
func (l *loader) loadJoin(n *yaml.Node) *join {
	if isNull(n) {
		return nil
	}
	f := l.fields(n, "join", append([]string{"from", "as", "items", "id", "batch"}, requestFields...)...)
	j := &join{
		from: l.path(f["from"], "from"), as: l.scalar(f["as"], "as"), id: l.path(f["id"], "id"),
		documentRequest: &documentRequest{request: l.loadRequestFields(n, f, "GET", []string{"$ids"}), items: l.path(f["items"], "items"), batch: l.number(f["batch"], "batch", 50, 1, 1000)},
	}
	j.request.returnsDocuments = true
	for _, name := range []string{"from", "as", "items", "id"} {
		if f[name] == nil {
			l.errorf(n.Line, "join needs %s", name)
		}
	}
	if f["as"] != nil && !namePattern.MatchString(j.as) {
		l.errorf(f["as"].Line, "as must consist of lower-case letters, digits and underscores")
	}
	return j
}

// fetchJoined returns the joined documents of raws by id, or nil without a join.
func (b *Backend) fetchJoined(ctx context.Context, r *resource, k call, raws []jsontext.Value) (map[string]jsontext.Value, error) {
	if r.join == nil {
		return nil, nil
	}
	var ids []string
	for _, raw := range raws {
		id, err := textAt(raw, r.join.from)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.join.from, err)
		}
		ids = append(ids, id)
	}
	parts := batches(ids, r.join.batch)
	results := make([][]jsontext.Value, len(parts))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for i, part := range parts {
		group.Go(func() (err error) {
			results[i], err = b.fetchJoinedBatch(inner, r.join, k, part)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := map[string]jsontext.Value{}
	for _, raw := range slices.Concat(results...) {
		id, err := textAt(raw, r.join.id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.join.id, err)
		}
		all[id] = raw
	}
	return all, nil
}

func (b *Backend) fetchJoinedBatch(ctx context.Context, j *join, k call, ids []string) ([]jsontext.Value, error) {
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	resp, err := b.client.send(ctx, k, j.request, nil, []any{list})
	if err != nil {
		return nil, err
	}
	raws, err := j.split(resp.body)
	if err != nil {
		return nil, b.client.unusableDocuments(ctx, resp, err)
	}
	return raws, nil
}

// joinedFor returns the joined document of a document, or nil if it has none.
func (r *resource) joinedFor(raw jsontext.Value, joined map[string]jsontext.Value) jsontext.Value {
	if len(joined) == 0 {
		return nil
	}
	id, err := textAt(raw, r.join.from)
	if err != nil || id == "" {
		return nil
	}
	return joined[id]
}

// decodeDocument decodes a document for expressions, with its joined document inserted.
func (b *Backend) decodeDocument(r *resource, raw, joined jsontext.Value) (any, error) {
	depth := b.mapping.connection.limits.depth
	input, err := decode(raw, depth)
	if err != nil || r.join == nil {
		return input, err
	}
	members, ok := input.(map[string]any)
	if !ok {
		return input, nil // not an object, so it cannot refer to one
	}
	members[r.join.as] = nil
	if joined != nil {
		if members[r.join.as], err = decode(joined, depth); err != nil {
			return nil, err
		}
	}
	return members, nil
}
