package replica

import "github.com/portico-commerce/portico/adapter"

// A Finding is one disagreement between the local replica, the ID map and the backend.
type Finding struct {
	Kind     Kind             `json:"what"`
	Resource adapter.Resource `json:"resource"`
	Key      adapter.Key      `json:"legacy_id,omitempty"`  // 0 for none
	ID       string           `json:"backend_id,omitempty"` // "" for none
	Detail   string           `json:"detail,omitempty"`
}

// A Kind is a kind of disagreement.
type Kind string

const (
	// NotMapped: a record of the local replica has no mapping, so that callers do not see
	// it.
	NotMapped Kind = "not_mapped"
	// NoBackendID: a mapping has no backend id, and no pending create will provide one.
	NoBackendID Kind = "no_backend_id"
	// MissingAtBackend: a mapping exists, but its record no longer exists at the backend.
	MissingAtBackend Kind = "gone_at_backend"
	// MissingInReplica: a mapping exists, but its record no longer exists in the local
	// replica.
	MissingInReplica Kind = "gone_at_side"
	// NoLegacyID: a record of the backend has no mapping, so that callers do not see it.
	NoLegacyID Kind = "no_legacy_id"
	// DuplicateLegacyID: a record of the backend carries the legacy id of another record.
	DuplicateLegacyID Kind = "duplicate"
	// UnresolvedWrite: a write intent is pending, and the outcome of the write is unknown.
	UnresolvedWrite Kind = "unfinished"
	// UnreadableDocument: a document of the backend does not have the form that the mapping
	// file expects.
	UnreadableDocument Kind = "unreadable"
	// LeftOut: a value of a document is not applied, because it does not fit its attribute or the
	// local replica refuses it.
	LeftOut Kind = "left_out"
	// IncompleteList: the backend lists a record twice, or its total differs from the number of
	// listed records, so that other records may be missing.
	IncompleteList Kind = "incomplete_list"
)
