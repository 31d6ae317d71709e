package reststore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
)

// A document is a document of the backend, with the document that is joined to it. Both are
// raw: a response is split into documents, and only changed ones are decoded.
type document struct {
	id          string
	raw, joined jsontext.Value // joined is nil if there is none
}

// documents returns the documents in a response. Their ids are at path id, or missing.
func (c *client) documents(ctx context.Context, g *documentRequest, resp *response, id jsonPath) ([]document, error) {
	raws, err := g.split(resp.body)
	if err == nil && g.Aliases {
		if len(raws) != resp.request.repetitions {
			err = fmt.Errorf("data has %d members, not %d as were requested", len(raws), resp.request.repetitions)
		}
		raws = slices.DeleteFunc(raws, func(v jsontext.Value) bool { return v.Kind() == 'n' })
	}
	all, d := make([]document, len(raws)), new(jsontext.Decoder)
	for i := 0; i < len(raws) && err == nil; i++ {
		all[i].raw = raws[i]
		all[i].id, err = expr.ReadText(expr.Reset(d, raws[i]), id)
	}
	if err != nil {
		return nil, c.unusableDocuments(ctx, resp, err)
	}
	return all, nil
}

// join fetches the documents to which the given ones refer, and joins them.
func (b *Backend) join(ctx context.Context, r *resource, k call, documents []document) (err error) {
	if r.Join == nil {
		return nil
	}
	references := make([]string, len(documents))
	for i, d := range documents {
		if references[i], err = expr.TextAt(d.raw, r.Join.From); err != nil {
			return fmt.Errorf("%s: %w", r.Join.From, err)
		}
	}
	found, err := inBatches(ctx, b.client, references, r.Join.Batch, func(ctx context.Context, ids []string) ([]document, error) {
		resp, err := b.client.send(ctx, k, &r.Join.request, nil, anys(ids))
		if err != nil {
			return nil, err
		}
		return b.client.documents(ctx, &r.Join.documentRequest, resp, r.Join.ID)
	})
	if err != nil {
		return err
	}
	byID := map[string]jsontext.Value{}
	for _, d := range found {
		byID[d.id] = d.raw
	}
	for i, id := range references {
		if id != "" {
			documents[i].joined = byID[id]
		}
	}
	return nil
}

// anys converts texts to the type that expressions see.
func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = t
	}
	return all
}

// tag returns the tag of a document: a hash of the mapping and of the document's bytes or, if
// the mapping names the place of the version, of its id and its version.
func (m *mapping) tag(r *resource, d document) (string, error) {
	h := sha256.New()
	_, _ = h.Write(m.fingerprint)
	if r.Version == nil {
		_, _ = h.Write(d.raw)
		_, _ = h.Write(d.joined)
	} else {
		version, err := expr.TextAt(d.raw, r.Version)
		if err == nil && version == "" {
			err = fmt.Errorf("a document has no version at %s", r.Version)
		}
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "%q %q", d.id, version)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18]), nil
}

// decode decodes a document for expressions, with its joined document inserted.
func (m *mapping) decode(r *resource, d document) (any, error) {
	depth := m.Connection.Limits.Depth
	input, err := expr.Decode(d.raw, depth)
	members, isObject := input.(map[string]any)
	if err != nil || r.Join == nil || !isObject { // only an object can refer to another document
		return input, err
	}
	members[r.Join.As] = nil
	if d.joined != nil {
		members[r.Join.As], err = expr.Decode(d.joined, depth)
	}
	return members, err
}

// selects reports whether a document is a record of the contract.
func (m *mapping) selects(ctx context.Context, g *documentRequest, r *resource, d document) (bool, error) {
	if g.Where == nil {
		return true, nil
	}
	input, err := m.decode(r, d)
	if err != nil {
		return false, err
	}
	return g.Where.holds(ctx, input)
}

var errNotList = errors.New("is not a list")

// split returns the raw documents of a response: the elements of the list at Items, the value
// at Item or, with Aliases, the members of data. There are none if the value is null; with
// Aliases, each member may be null. split fails unless the whole body is valid JSON, and for
// a GraphQL request unless the value is there, because the request selects it. Documents may
// have two members of one name here, as finding these takes most of the time: documents that
// are read are decoded, and the others have the same bytes as one that was decoded.
func (g *documentRequest) split(body []byte) (documents []jsontext.Value, err error) {
	at := g.Items
	switch {
	case g.single():
		at = g.Item
	case g.Aliases:
		at = jsonPath{"data"}
	}
	d := expr.Reset(new(jsontext.Decoder), body)
	found, err := expr.Seek(d, at)
	if err != nil {
		return nil, err
	}
	switch kind := d.PeekKind(); {
	case !found && g.single() && g.GraphQL == nil:
	case !found:
		err = fmt.Errorf("%s is missing", at)
	case kind == 'n' && g.GraphQL != nil && !g.single():
		err = fmt.Errorf("%s is null", at)
	case kind == 'n':
		_, err = d.ReadToken()
	case g.single():
		documents, err = expr.AppendValue(nil, d, body)
	case g.Aliases && kind == '{', !g.Aliases && kind == '[':
		documents, err = expr.AppendElements(nil, d, body)
	default:
		// Report a syntax error in preference to a wrong type.
		if _, err = d.ReadValue(); err == nil {
			err = fmt.Errorf("%s %w", at, errNotList)
		}
	}
	if err != nil {
		return nil, err
	}
	return documents, expr.ExpectEnd(d, at)
}
