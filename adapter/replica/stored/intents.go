// Package stored has the forms in which the ID map stores write intents and bases.
//
// # How it is tested
//
// With package replica, which stores and reads them, and whose tests end processes in between.
package stored

import (
	"encoding/json"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/recordjson"
)

// The operations of write intents.
const (
	OpCreate = "create"
	OpPush   = "push" // like OpCreate, but the record stays in the local replica in any case
	OpUpdate = "update"
	OpDelete = "delete"
	OpImport = "import"
	OpMerge  = "merge" // merging a changed document into the local replica, which is not undone
)

// An Intent records a write that may not have been completed. It is stored in the
// mapping of the root, whose lock the writer holds.
type Intent struct {
	Writer   string           `json:"by"` // the instanceID of the adapter that writes
	Op       string           `json:"op"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"key,omitempty"` // 0 for a part that is being created
	// StoreID is the store view that is written to. Attributes are the attributes that an
	// update may change, and Old holds their values at that store view.
	StoreID    int64             `json:"level,omitempty"`
	Attributes []string          `json:"named,omitempty"`
	Old        recordjson.Record `json:"old,omitempty"`
	// Siblings are the root's parts of the same resource before the write, by key, each
	// with the exclusive attributes that the write may take from it at the store view, such
	// as being the default address.
	Siblings map[adapter.Key]recordjson.Record `json:"before,omitempty"`
	// Aggregates are the records that an import may change, as they were before: the root with
	// its parts, or the parts of one resource.
	Aggregates []recordjson.Aggregate `json:"aggregates,omitempty"`
	Pending    json.RawMessage        `json:"pending,omitempty"` // by Replica.Pending, before an import
}
