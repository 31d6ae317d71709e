package replica

import (
	"github.com/portico-commerce/portico/adapter/replica/backend"
	"github.com/portico-commerce/portico/adapter/replica/local"
)

// Package backend declares the interface of backends, and package local the interface of the
// database of the local replica.
type (
	Backend             = backend.Backend
	BackendResource     = backend.Resource
	Document            = backend.Document
	Item                = backend.Item
	Write               = backend.Write
	Sibling             = backend.Sibling
	File                = backend.File
	Listing             = backend.Listing
	IncompleteListError = backend.IncompleteListError
	Replica             = local.Replica
	Writes              = local.Writes
	ImportedRecord      = local.ImportedRecord
)

// NewListing returns an empty Listing, for a list that begins.
func NewListing() *Listing { return backend.NewListing() }
