package stored

import (
	"bytes"
	"encoding/json"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/recordjson"
	"github.com/portico-commerce/portico/adapter/replica/backend"
)

// A Base is the content of a document when the local replica was last reconciled with it. Its JSON has
// an item, unlike idmap.EmptyBase.
type Base struct {
	Item       adapter.Record
	Parts      map[adapter.Resource][]backend.Item
	Unresolved map[adapter.Resource][]string // as in backend.Item
}

// baseJSON is the JSON of a Base.
type baseJSON struct {
	Unresolved map[adapter.Resource][]string   `json:"unresolved,omitempty"` // first, see UnresolvedIn
	Item       recordjson.Record               `json:"item"`
	Parts      map[adapter.Resource][]partJSON `json:"parts,omitempty"`
}

type partJSON struct {
	ID   string            `json:"id,omitempty"`
	Item recordjson.Record `json:"item"`
}

// Encode returns the base as JSON.
func (b Base) Encode() ([]byte, error) {
	out := baseJSON{Unresolved: b.Unresolved, Item: recordjson.Encode(b.Item), Parts: map[adapter.Resource][]partJSON{}}
	for r, items := range b.Parts {
		out.Parts[r] = make([]partJSON, len(items))
		for i, item := range items {
			out.Parts[r][i] = partJSON{item.ID, recordjson.Encode(item.Record)}
		}
	}
	return json.Marshal(out)
}

// DecodeBase returns a base. root is the schema of its item, and parts the schemas of its parts:
// resources and attributes that the schemas no longer have are left out.
func DecodeBase(encoded []byte, root *adapter.Schema, parts map[adapter.Resource]*adapter.Schema) (Base, error) {
	var in baseJSON
	err := recordjson.Unmarshal(encoded, &in)
	b := Base{Parts: map[adapter.Resource][]backend.Item{}, Unresolved: in.Unresolved}
	if err == nil {
		b.Item, err = in.Item.Decode(root)
	}
	for r, items := range in.Parts {
		if parts[r] == nil || err != nil {
			continue
		}
		b.Parts[r] = make([]backend.Item, len(items))
		for i, item := range items {
			b.Parts[r][i].ID = item.ID
			if b.Parts[r][i].Record, err = item.Item.Decode(parts[r]); err != nil {
				return b, err
			}
		}
	}
	return b, err
}

// UnresolvedIn returns the unresolved references of a base without decoding the others. It
// is called for every document that is read.
func UnresolvedIn(encoded []byte) map[adapter.Resource][]string {
	if !HasUnresolved(encoded) {
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

// HasUnresolved reports whether a base, or its first idmap.BaseStart bytes, has unresolved
// references.
func HasUnresolved(encoded []byte) bool { return bytes.HasPrefix(encoded, []byte(`{"unresolved":`)) }
