package replica

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/recordjson"
)

// A base is the content of a document when the local replica was last reconciled with it.
// Its JSON has an item, unlike idmap.EmptyBase.
type base struct {
	item       adapter.Record
	parts      map[adapter.Resource][]Item
	unresolved map[adapter.Resource][]string // as in Item
}

// baseJSON is the JSON of a base.
type baseJSON struct {
	Unresolved map[adapter.Resource][]string       `json:"unresolved,omitempty"` // first, see unresolvedIn
	Item       recordjson.Record                   `json:"item"`
	Parts      map[adapter.Resource][]basePartJSON `json:"parts,omitempty"`
}

type basePartJSON struct {
	ID   string            `json:"id,omitempty"`
	Item recordjson.Record `json:"item"`
}

// withBase returns a root's mapping with a new base.
func withBase(mapping idmap.Mapping, b base) (idmap.Mapping, error) {
	out := baseJSON{Unresolved: b.unresolved, Item: recordjson.Encode(b.item), Parts: map[adapter.Resource][]basePartJSON{}}
	for r, items := range b.parts {
		out.Parts[r] = convert(items, func(i Item) basePartJSON { return basePartJSON{i.ID, recordjson.Encode(i.Record)} })
	}
	var err error
	mapping.Base, err = json.Marshal(out)
	return mapping, internalError(err, "encode base of", mapping.Resource, mapping.Key)
}

// internalError returns err, unless it is nil, as one of kind Internal. It is for what is
// stored and cannot be encoded or decoded.
func internalError(err error, op string, r adapter.Resource, key adapter.Key) error {
	if err == nil {
		return nil
	}
	return &adapter.Error{Kind: adapter.Internal, Op: fmt.Sprintf("%s %s %d", op, r, key), Err: err}
}

// baseOf returns the base of a root's mapping. Resources and attributes that the schemas no
// longer have are left out.
func baseOf(root *resourcePlan, mapping idmap.Mapping) (base, error) {
	var in baseJSON
	err := recordjson.Unmarshal(mapping.Base, &in)
	b := base{parts: map[adapter.Resource][]Item{}, unresolved: in.Unresolved}
	if err == nil {
		b.item, err = in.Item.Decode(root.schema)
	}
	for _, part := range root.parts {
		if parts, present := in.Parts[part.Resource]; present && err == nil {
			b.parts[part.Resource], err = tryConvert(parts, func(p basePartJSON) (Item, error) {
				r, err := p.Item.Decode(part.schema)
				return Item{ID: p.ID, Record: r}, err
			})
		}
	}
	return b, internalError(err, "decode base of", mapping.Resource, mapping.Key)
}

// unresolvedIn returns the unresolved references of a base without decoding the others. It
// is called for every document that is read.
func unresolvedIn(encoded []byte) map[adapter.Resource][]string {
	if !bytes.HasPrefix(encoded, []byte(`{"unresolved":`)) {
		return nil
	}
	var in struct {
		Unresolved map[adapter.Resource][]string `json:"unresolved"`
	}
	if err := json.Unmarshal(encoded, &in); err != nil {
		return nil // reconciling reports it
	}
	return in.Unresolved
}

// convert returns a list with each element converted by f.
func convert[T, U any](list []T, f func(T) U) []U {
	converted := make([]U, len(list))
	for i, element := range list {
		converted[i] = f(element)
	}
	return converted
}

// tryConvert is convert for an f that can fail.
func tryConvert[T, U any](list []T, f func(T) (U, error)) (converted []U, err error) {
	converted = convert(list, func(element T) (u U) {
		if err == nil {
			u, err = f(element)
		}
		return u
	})
	return converted, err
}
