package reststore

import (
	"context"
	"encoding/json"
	"github.com/portico-commerce/portico/adapter"
)

// A Trial shows how a mapping reads one record of the backend, for people who write it. It has
// the values of the record, which may be personal data.
type Trial struct {
	Requests []trialRequest  `json:"requests"`
	Document json.RawMessage `json:"document,omitempty"`
	Joined   json.RawMessage `json:"joined,omitempty"` // the document that join adds
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

// A TrialRecord is a record that a document contains.
type TrialRecord struct {
	Resource adapter.Resource `json:"resource"`
	ID       string           `json:"backend_id,omitempty"`
	Key      adapter.Key      `json:"legacy_id,omitempty"` // that the document carries; 0 for none
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
