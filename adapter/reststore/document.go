package reststore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/adapter"
)

// A document is a document of the backend, with the document that is joined to it. Both are
// raw: a response is split into documents, and only those that changed are decoded.
type document struct {
	id          string
	raw, joined jsontext.Value // joined is nil if there is none
}

// documents returns the documents in a response. Their ids are at path id, or missing.
func (c *client) documents(ctx context.Context, g *documentRequest, resp *response, id path) ([]document, error) {
	raws, err := g.split(resp.body)
	all := make([]document, len(raws))
	for i, raw := range raws {
		all[i].raw = raw
		if all[i].id, err = textAt(raw, id); err != nil {
			break
		}
	}
	if err != nil {
		return nil, c.unusableDocuments(ctx, resp, err)
	}
	return all, nil
}

// join fetches the documents to which these refer, and joins them.
func (b *Backend) join(ctx context.Context, r *resource, k call, documents []document) (err error) {
	if r.Join == nil {
		return nil
	}
	references := make([]string, len(documents))
	for i, d := range documents {
		if references[i], err = textAt(d.raw, r.Join.From); err != nil {
			return fmt.Errorf("%s: %w", r.Join.From, err)
		}
	}
	found, err := inBatches(ctx, references, r.Join.Batch, func(ctx context.Context, ids []string) ([]document, error) {
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

// anys returns texts as expressions see them.
func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = t
	}
	return all
}

// tag returns the tag of a document: a hash of its bytes and of the mapping.
func (m *mapping) tag(d document) string {
	h := sha256.New()
	_, _ = h.Write(m.fingerprint)
	_, _ = h.Write(d.raw)
	_, _ = h.Write(d.joined)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// decode decodes a document for expressions, with its joined document inserted.
func (m *mapping) decode(r *resource, d document) (any, error) {
	depth := m.Connection.Limits.Depth
	input, err := decode(d.raw, depth)
	members, isObject := input.(map[string]any)
	if err != nil || r.Join == nil || !isObject { // only an object can refer to another document
		return input, err
	}
	members[r.Join.As] = nil
	if d.joined != nil {
		members[r.Join.As], err = decode(d.joined, depth)
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

// split returns the raw documents of a response: the elements of the list at Items, or the
// value at Item. There are none if it is null. It fails unless the whole body is valid JSON.
func (g *documentRequest) split(body []byte) (documents []jsontext.Value, err error) {
	at := g.Items
	if g.single() {
		at = g.Item
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	found, err := seekPath(d, at)
	if err != nil {
		return nil, err
	}
	switch kind := d.PeekKind(); {
	case !found && g.single():
	case !found:
		err = fmt.Errorf("%s is missing", at)
	case kind == 'n':
		_, err = d.ReadToken()
	case g.single():
		documents, err = appendRaw(nil, d, body)
	case kind == '[':
		_, err = d.ReadToken()
		for err == nil && d.PeekKind() != ']' {
			documents, err = appendRaw(documents, d, body)
		}
		if err == nil {
			_, err = d.ReadToken()
		}
	default:
		// Report a syntax error in preference to a wrong type.
		if err = d.SkipValue(); err == nil {
			err = fmt.Errorf("%s %w", at, errNotList)
		}
	}
	if err != nil {
		return nil, err
	}
	return documents, expectEnd(d)
}

// appendRaw reads the next value and appends it as a slice of body.
func appendRaw(all []jsontext.Value, d *jsontext.Decoder, body []byte) ([]jsontext.Value, error) {
	v, err := d.ReadValue()
	if err != nil {
		return all, err
	}
	end := int(d.InputOffset())
	return append(all, body[end-len(v):end:end]), nil
}

// seekPath advances d to the value at path p. It reports false if there is none.
func seekPath(d *jsontext.Decoder, p path) (found bool, err error) {
	for _, name := range p {
		if d.PeekKind() != '{' {
			return false, d.SkipValue()
		}
		if _, err := d.ReadToken(); err != nil {
			return false, err
		}
		for {
			t, err := d.ReadToken()
			if err != nil {
				return false, err
			}
			if t.Kind() == '}' {
				return false, nil
			}
			if t.String() == name {
				break
			}
			if err := d.SkipValue(); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// expectEnd reads the rest of the JSON value and fails if anything follows it.
func expectEnd(d *jsontext.Decoder) error {
	for d.StackDepth() > 0 {
		if _, err := d.ReadToken(); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != io.EOF { //nolint:errorlint // ReadToken documents a bare io.EOF
		return errors.New("there is data after the JSON value")
	}
	return nil
}

// textAt returns the string or number at path p of a raw document, or "" if it is null or
// missing.
func textAt(raw jsontext.Value, p path) (string, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	found, err := seekPath(d, p)
	if err != nil || !found {
		return "", err
	}
	t, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	switch t.Kind() {
	case '"', '0':
		return t.String(), nil
	case 'n':
		return "", nil
	}
	return "", fmt.Errorf("%s is neither a string nor a number", p)
}

var errDepth = errors.New("is nested too deeply")

// decode decodes a JSON value for jq, with numbers as json.Number. It fails if objects and
// lists nest deeper than depth.
func decode(raw []byte, depth int) (v any, err error) {
	number := jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
		switch kind := d.PeekKind(); {
		case (kind == '{' || kind == '[') && d.StackDepth() >= depth:
			return errDepth
		case kind != '0':
			return errors.ErrUnsupported
		}
		n, err := d.ReadValue()
		if len(n) > adapter.MaxScaledLength {
			return fmt.Errorf("contains a number of %d characters", len(n))
		}
		*v = json.Number(n)
		return err
	})
	err = jsonv2.Unmarshal(raw, &v, jsonv2.WithUnmarshalers(number))
	return v, err
}

// String returns the path as it is written in a mapping file.
func (p path) String() string {
	if len(p) == 0 {
		return "the body"
	}
	return strings.Join(p, ".")
}
