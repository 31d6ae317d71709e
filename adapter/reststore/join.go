package reststore

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// fetchJoined returns the joined documents of raws by id, or nil without a join.
func (b *Backend) fetchJoined(ctx context.Context, r *resource, k call, raws []jsontext.Value) (map[string]jsontext.Value, error) {
	if r.Join == nil {
		return nil, nil
	}
	var ids []string
	for _, raw := range raws {
		id, err := textAt(raw, r.Join.From)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Join.From, err)
		}
		ids = append(ids, id)
	}
	list, err := inBatches(ctx, ids, r.Join.Batch, func(ctx context.Context, ids []string) ([]jsontext.Value, error) {
		resp, err := b.client.send(ctx, k, &r.Join.request, nil, anys(ids))
		if err != nil {
			return nil, err
		}
		list, err := r.Join.split(resp.body)
		if err != nil {
			return nil, b.client.unusableDocuments(ctx, resp, err)
		}
		return list, nil
	})
	if err != nil {
		return nil, err
	}
	all := map[string]jsontext.Value{}
	for _, raw := range list {
		id, err := textAt(raw, r.Join.ID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Join.ID, err)
		}
		all[id] = raw
	}
	return all, nil
}

// anys returns texts as expressions see them.
func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = t
	}
	return all
}

// joinedFor returns the joined document of a document, or nil if it has none.
func (r *resource) joinedFor(raw jsontext.Value, joined map[string]jsontext.Value) jsontext.Value {
	if len(joined) == 0 {
		return nil
	}
	id, err := textAt(raw, r.Join.From)
	if err != nil || id == "" {
		return nil
	}
	return joined[id]
}

// decodeDocument decodes a document for expressions, with its joined document inserted.
func (b *Backend) decodeDocument(r *resource, raw, joined jsontext.Value) (any, error) {
	depth := b.mapping.Connection.Limits.Depth
	input, err := decode(raw, depth)
	if err != nil || r.Join == nil {
		return input, err
	}
	members, ok := input.(map[string]any)
	if !ok {
		return input, nil // not an object, so it cannot refer to one
	}
	members[r.Join.As] = nil
	if joined != nil {
		if members[r.Join.As], err = decode(joined, depth); err != nil {
			return nil, err
		}
	}
	return members, nil
}
