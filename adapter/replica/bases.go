package replica

import (
	"bytes"
	"encoding/json"
	"github.com/portico-commerce/portico/adapter"
)

// A base is the content of a document when the local replica was last reconciled with it. Its JSON has
// an item, unlike idmap.EmptyBase.
type base struct {
	Item       adapter.Record
	Parts      map[adapter.Resource][]Item
	Unresolved map[adapter.Resource][]string // as in backend.Item
}

// baseJSON is the JSON of a Base.
type baseJSON struct {
	Unresolved map[adapter.Resource][]string   `json:"unresolved,omitempty"` // first, see UnresolvedIn
	Item       adapter.JSONRecord              `json:"item"`
	Parts      map[adapter.Resource][]partJSON `json:"parts,omitempty"`
}

type partJSON struct {
	ID   string             `json:"id,omitempty"`
	Item adapter.JSONRecord `json:"item"`
}

// Encode returns the base as JSON.
func (b base) Encode() ([]byte, error) {
	out := baseJSON{Unresolved: b.Unresolved, Item: adapter.EncodeJSON(b.Item), Parts: map[adapter.Resource][]partJSON{}}
	for r, items := range b.Parts {
		out.Parts[r] = make([]partJSON, len(items))
		for i, item := range items {
			out.Parts[r][i] = partJSON{item.ID, adapter.EncodeJSON(item.Record)}
		}
	}
	return json.Marshal(out)
}

// decodeBase returns a base. root is the schema of its item, and parts the schemas of its parts:
// resources and attributes that the schemas no longer have are left out.
func decodeBase(encoded []byte, root *adapter.Schema, parts map[adapter.Resource]*adapter.Schema) (base, error) {
	var in baseJSON
	err := adapter.UnmarshalJSON(encoded, &in)
	b := base{Parts: map[adapter.Resource][]Item{}, Unresolved: in.Unresolved}
	if err == nil {
		b.Item, err = in.Item.Decode(root)
	}
	for r, items := range in.Parts {
		if parts[r] == nil || err != nil {
			continue
		}
		b.Parts[r] = make([]Item, len(items))
		for i, item := range items {
			b.Parts[r][i].ID = item.ID
			if b.Parts[r][i].Record, err = item.Item.Decode(parts[r]); err != nil {
				return b, err
			}
		}
	}
	return b, err
}

// unresolvedIn returns the unresolved references of a base without decoding the others. It
// is called for every document that is read.
func unresolvedIn(encoded []byte) map[adapter.Resource][]string {
	if !hasUnresolved(encoded) {
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

// hasUnresolved reports whether a base, or its first idmap.BaseStart bytes, has unresolved
// references.
func hasUnresolved(encoded []byte) bool { return bytes.HasPrefix(encoded, []byte(`{"unresolved":`)) }
