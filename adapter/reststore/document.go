package reststore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/itchyny/gojq"
	"golang.org/x/sync/errgroup"

	"github.com/portico-commerce/portico/adapter/reststore/expr"
)

// A document is a document of the backend, with the data that is joined to it. All of it is
// raw: a response is split into documents, and only changed ones are decoded.
type document struct {
	id     string
	raw    jsontext.Value
	joined []jsontext.Value // by join of the mapping: a document, a list of documents, or null; nil at a store view
}

// documents returns the documents in a response. Their ids are at path id, or missing.
func (c *client) documents(ctx context.Context, g *documentRequest, resp *response, id jsonPath) ([]document, error) {
	raws, err := c.split(ctx, g, resp.body)
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

func (j *join) check(l *loader, p place) {
	j.documentRequest.check(l, p)
	l.checkName(p.In("as"), j.As)
	j.Batch = cmp.Or(j.Batch, 50)
}

// join fetches the data to which documents refer, with the requests of all joins in parallel, and joins it.
func (b *Backend) join(ctx context.Context, r *resource, k call, documents []document) error {
	if len(r.Joins) == 0 {
		return nil
	}
	for i := range documents {
		documents[i].joined = make([]jsontext.Value, len(r.Joins))
	}
	group, ctx := errgroup.WithContext(ctx)
	for n, j := range r.Joins {
		group.Go(func() error {
			references := make([]string, len(documents))
			for i, d := range documents {
				var err error
				if references[i], err = expr.TextAt(d.raw, j.From); err != nil {
					return fmt.Errorf("%s: %w", j.From, err)
				}
			}
			found, err := b.joinedTo(ctx, k, j, references)
			for i, id := range references {
				documents[i].joined[n] = j.value(found[id])
			}
			return err
		})
	}
	return group.Wait()
}

// joinedTo returns the documents of a join by the ids to which references refer.
func (b *Backend) joinedTo(ctx context.Context, k call, j *join, references []string) (map[string][]jsontext.Value, error) {
	found, err := inBatches(ctx, b.client, references, j.Batch, func(ctx context.Context, ids []string) ([]document, error) {
		resp, err := b.client.send(ctx, k, &j.request, nil, anys(ids))
		if err != nil {
			return nil, err
		}
		all, err := b.client.documents(ctx, &j.documentRequest, resp, j.ID)
		// A response may have more than was requested, also what another batch requests.
		return slices.DeleteFunc(all, func(d document) bool { _, asked := slices.BinarySearch(ids, d.id); return !asked }), err
	})
	byID := map[string][]jsontext.Value{}
	for _, d := range found {
		byID[d.id] = append(byID[d.id], d.raw)
	}
	return byID, err
}

// value returns what expressions see of the joined documents with the id to which a document refers: a list
// of all of them or, without many, the last one or null.
func (j *join) value(found []jsontext.Value) jsontext.Value {
	switch {
	case j.Many:
		list := []byte{'['}
		for i, raw := range found {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, raw...)
		}
		return append(list, ']')
	case len(found) == 0:
		return jsontext.Value("null")
	}
	return found[len(found)-1]
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
		for _, joined := range d.joined {
			_, _ = h.Write(joined)
		}
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

// decode decodes a document for expressions, with the joined data inserted.
func (m *mapping) decode(r *resource, d document) (any, error) {
	depth := m.Connection.Limits.Depth
	input, err := expr.Decode(d.raw, depth)
	members, isObject := input.(map[string]any)
	if err != nil || !isObject { // only an object can refer to other documents
		return input, err
	}
	for i, j := range r.Joins[:len(d.joined)] {
		if members[j.As], err = expr.Decode(d.joined[i], depth); err != nil {
			return nil, err
		}
	}
	return members, nil
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

// split returns the raw documents of a response. With the expression documents, these are its results, which
// together must not be larger than a response may be.
func (c *client) split(ctx context.Context, g *documentRequest, body []byte) ([]jsontext.Value, error) {
	if g.Documents == nil {
		return g.split(body)
	}
	input, err := expr.Decode(body, c.connection.Limits.Depth)
	if err != nil {
		return nil, err
	}
	result, err := g.Documents.eval(ctx, input)
	list, isList := result.([]any)
	switch {
	case err != nil:
		return nil, err
	case !isList && result != nil:
		return nil, fmt.Errorf("%s: the result %w", g.Documents.at, errNotList)
	}
	all, size := make([]jsontext.Value, len(list)), 0
	for i, d := range list {
		raw, err := gojq.Marshal(d)
		if err != nil {
			return nil, err
		}
		if size += len(raw); int64(size) > int64(c.connection.Limits.ResponseBytes) {
			return nil, fmt.Errorf("%s: the documents are larger than response_bytes, %d", g.Documents.at, c.connection.Limits.ResponseBytes)
		}
		all[i] = raw
	}
	return all, nil
}

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
