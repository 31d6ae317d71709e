package replica

import (
	"encoding/json"
	"github.com/portico-commerce/portico/adapter"
)

// The operations of write intents.
const (
	opCreate = "create"
	opPush   = "push" // like OpCreate, but the record stays in the local replica in any case
	opUpdate = "update"
	opDelete = "delete"
	opImport = "import"
	opMerge  = "merge" // merging a changed document into the local replica, which is not undone
)

// An intent records a write that may not have been completed. It is stored in the
// mapping of the root, whose lock the writer holds.
type intent struct {
	Writer   string           `json:"by"` // the instanceID of the adapter that writes
	Op       string           `json:"op"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"key,omitempty"` // 0 for a part that is being created
	// StoreID is the store view that is written to. Attributes are the attributes that an
	// update may change, and Old holds their values at that store view.
	StoreID    int64              `json:"level,omitempty"`
	Attributes []string           `json:"named,omitempty"`
	Old        adapter.JSONRecord `json:"old,omitempty"`
	// Siblings are the root's parts of the same resource before the write, by key, each
	// with the exclusive attributes that the write may take from it at the store view, such
	// as being the default address.
	Siblings map[adapter.Key]adapter.JSONRecord `json:"before,omitempty"`
	// Aggregates are the records that an import may change, as they were before: the root with
	// its parts, or the parts of one resource.
	Aggregates []adapter.JSONAggregate `json:"aggregates,omitempty"`
	Pending    json.RawMessage         `json:"pending,omitempty"` // by Replica.Pending, before an import
}
