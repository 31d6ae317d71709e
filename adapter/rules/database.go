package rules

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
)

// A Database stores the records of a store.
type Database interface {
	// Schemas returns the schemas of the records that the database stores.
	Schemas() *adapter.Schemas
	// Write runs f in a transaction that takes effect as a whole if f returns nil, and not at
	// all if it returns an error. It may run f again if the transaction failed because of
	// concurrent ones, which are serializable as far as [Tx] locks records. op is the
	// operation for the errors of the database itself; an [*adapter.Error] of f, and an error
	// that f does not wrap, are returned unchanged.
	Write(ctx context.Context, op string, f func(Tx) error) error
	// NewContent prepares the bytes of an image for a transaction. Kinds: Unsupported if the
	// database stores no images.
	NewContent(bytes []byte) (Content, error)
	// MissingContent returns the given names of image files whose bytes the database does not
	// have, including names that were never reserved. Kinds: Unsupported if the database
	// stores no images.
	MissingContent(ctx context.Context, names []string) ([]string, error)
}

// A Content holds the bytes of an image.
type Content interface {
	// Publish stores the bytes under a name that [Tx.InsertFiles] reserved in tx or before.
	// tx may be repeated.
	Publish(tx Tx, name string) error
	// Discard frees the resources held for the bytes. It is called after the transaction has
	// ended, successfully or not.
	Discard()
}

// A Tx is a transaction. After an error, whose kinds are the kinds of [adapter.Store], the
// transaction must be abandoned. Errors need not name an operation. Records have the schemas
// of the database.
type Tx interface {
	Records
	Products
	Images
	Imports
	Outbox
}

// Records holds the operations on records of all resources.
type Records interface {
	// Get returns a record with its stored attributes, at the default scope, without
	// parts. Kinds: NotFound.
	Get(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error)
	// Lock is Get that first locks the record until the transaction ends.
	Lock(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error)
	// LockName locks a name, "sku", "media" or "unique", until the transaction ends.
	LockName(ctx context.Context, name string) error
	// Try runs f. If f fails for a reason of its own, failure is that reason, the writes of f
	// are undone, and the transaction goes on. Try fails with err if it must be abandoned.
	Try(ctx context.Context, f func() error) (failure, err error)
	// Other returns the key of a record, other than except, that has the values of like
	// for the named attributes; 0 if there is none. Texts are compared by [adapter.Fold].
	Other(ctx context.Context, like adapter.Record, except adapter.Key, names ...string) (adapter.Key, error)
	// Find returns the records in which an attribute has one of some values, in the form of
	// Get and with the named price lists. Texts are compared by [adapter.Fold].
	Find(ctx context.Context, r adapter.Resource, attribute string, values []adapter.Value, lists ...string) ([]adapter.Record, error)
	// Insert stores new records of one resource, without parts, and returns their keys. The
	// database chooses the keys that are absent.
	Insert(ctx context.Context, records ...adapter.Record) ([]adapter.Key, error)
	// PassKeys makes all keys that the database chooses later greater than some keys that it
	// did not choose.
	PassKeys(ctx context.Context, greatest map[adapter.Resource]adapter.Key) error
	// Update stores the values of change that are not absent in a locked record, whose stored
	// values are current. Unset makes a value absent.
	Update(ctx context.Context, current, change adapter.Record) error
	// UpdateWhere stores the values of change in all records, except one, that have the
	// values of where. Both have the same schema.
	UpdateWhere(ctx context.Context, where, change adapter.Record, except adapter.Key) error
	// Delete deletes a locked record and everything that belongs to it. Kinds: Conflict if
	// other records refer to it.
	Delete(ctx context.Context, r adapter.Resource, key adapter.Key) error
}

// Products holds the operations on the data of a locked product.
type Products interface {
	// StoreViews returns all store views, by id.
	StoreViews(ctx context.Context) ([]StoreView, error)
	// Websites returns the ids of the websites that a product is assigned to.
	Websites(ctx context.Context, product adapter.Key) ([]int64, error)
	// At returns a product, given with the values of the default scope, as shown at a scope
	// (level), with the named parts: price lists and stock_item, which it locks. Kinds:
	// Unsupported for other names that are not attributes.
	At(ctx context.Context, product adapter.Record, level int64, parts ...string) (adapter.Record, error)
	// SetValues replaces, at some store views, the values of a product for the attributes
	// that are not absent from values. Unset deletes them.
	SetValues(ctx context.Context, product adapter.Key, views []int64, values adapter.Record) error
	// SetPrices changes entries of one of the [PriceLists], for one or more products.
	SetPrices(ctx context.Context, list string, changes ...PriceChange) error
	// Saved updates the data that the database derives from some products, or from all
	// products if none is given.
	Saved(ctx context.Context, products ...adapter.Key) error
	// Restocked is Saved for products of which only the stock item, or the stock status at store
	// views, has changed. Without products it does nothing.
	Restocked(ctx context.Context, products ...adapter.Key) error
}

// A StoreView is a store view and its website, by their ids.
type StoreView struct{ ID, Website int64 }

// A PriceChange lists the entries of a product's price list that are added, under their keys
// if they have any, the entries that get another price, and the keys of the entries that are
// removed.
type PriceChange struct {
	Product        adapter.Key
	Added, Changed []adapter.Record
	Removed        []adapter.Key
}

// Images holds the operations on the images of a locked product.
type Images interface {
	// Gallery returns the images of a product, by id, with their values at a scope.
	Gallery(ctx context.Context, product adapter.Key, level int64) ([]Image, error)
	// SetImage stores the values of an image at a scope. The database has values of the image
	// there if i.Stored.
	SetImage(ctx context.Context, i *Image, level int64, values ImageValues) error
	// Types returns all types of the images of a product.
	Types(ctx context.Context, product adapter.Key) (Types, error)
	// SetTypes stores types of a product, in the order in which they are given.
	SetTypes(ctx context.Context, product adapter.Key, changes []TypeChange) error
	// Files returns the given names that were ever reserved.
	Files(ctx context.Context, names ...string) ([]string, error)
	// FreeNumber returns the first number, from a given one on, that no file of a series has.
	FreeNumber(ctx context.Context, series string, from int64) (int64, error)
	// InsertFiles reserves names for ever.
	InsertFiles(ctx context.Context, files ...File) error
}

// Imports holds the operations with which an import compares and stores many records at once.
type Imports interface {
	// Keys returns the given keys of a resource under which there are records. With lock, it
	// first locks these records until the transaction ends, in the order of the keys, which
	// are sorted.
	Keys(ctx context.Context, r adapter.Resource, keys []adapter.Key, lock bool) ([]adapter.Key, error)
	// Levels returns the scoped values of records: for products and categories their values
	// at store views; for images their values at any scope, where a record of nulls means
	// that the image has a stored row of values there.
	Levels(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]LevelValues, error)
	// Pointers returns, by scope, the images to which the types of products point, as values
	// of attributes such as image_id.
	Pointers(ctx context.Context, products []adapter.Key) ([]LevelValues, error)
	// SetLevels changes scoped values of records of one resource, pointers included.
	SetLevels(ctx context.Context, r adapter.Resource, changes ...LevelChange) error
	// Note notes that records came from a source, unless that is noted already.
	Note(ctx context.Context, source string, r adapter.Resource, keys ...adapter.Key) error
	// Forget removes the notes about records.
	Forget(ctx context.Context, r adapter.Resource, keys ...adapter.Key) error
	// Changed marks the records that the import has created, changed or removed, so that no
	// process goes on answering from cached data of them. A part counts by the key of its
	// root. Keys may be repeated. It is the last operation of the transaction.
	Changed(ctx context.Context, changed map[adapter.Resource][]adapter.Key) error
	// SetPosition stores how far the changes of a source have been imported.
	SetPosition(ctx context.Context, source, position string) error
}

// An Outbox holds the operations on the client writes that another system is to repeat (see
// package outbox).
type Outbox interface {
	// Mirrored reports whether another system is to repeat the client writes to a resource;
	// the answer holds until the transaction ends. Kinds: Unavailable if such writes must not
	// be stored here now.
	Mirrored(ctx context.Context, r adapter.Resource) (bool, error)
	// Enqueue stores entries, without ID, Version, times and attempts. An entry of the same
	// record and scope that is already stored is merged with the new one: the states on which
	// both systems have agreed stay unchanged. An entry of a record that is gone replaces all
	// entries of the record and its parts.
	Enqueue(ctx context.Context, entries ...outbox.Entry) error
	// Entries returns the entries of some roots of a resource.
	Entries(ctx context.Context, root adapter.Resource, keys []adapter.Key) ([]outbox.Entry, error)
	// Agree replaces the states on which both systems have agreed in a stored entry.
	Agree(ctx context.Context, e outbox.Entry) error
	// Drop removes a stored entry.
	Drop(ctx context.Context, e outbox.Entry) error
	// NoteConflicts stores conflicts, without times.
	NoteConflicts(ctx context.Context, conflicts ...outbox.Conflict) error
}

// LevelValues are the values that a record itself has at one scope. The other values of
// Record are absent.
type LevelValues struct {
	Key    adapter.Key
	Level  int64
	Record adapter.Record
}

// A LevelChange stores the values of Change that are not absent at a scope. Unset removes a
// value, or for an image all values. Current holds the values stored there; it has no schema
// if there are none.
type LevelChange struct {
	Key             adapter.Key
	Level           int64
	Current, Change adapter.Record
}

// ImageValues are the values that an image has at one scope. Missing values are null.
type ImageValues struct{ Label, Position, Exclude adapter.Value }

// An Image is an image of a product, with the values that are stored for it at a scope and in
// the default scope.
type Image struct {
	Key         adapter.Key
	Stored      bool // there are values for the scope
	Own, Global ImageValues
}

// Types maps each type to the image to which it points, 0 for none, at each scope where that
// is stored.
type Types map[TypeAt]adapter.Key

// A TypeAt is a type, such as thumbnail, at a scope.
type TypeAt struct {
	Level int64
	Name  string
}

// A TypeChange points a type to an image, or to none if that is 0. New means that nothing is
// stored for the type at the scope.
type TypeChange struct {
	TypeAt
	Image adapter.Key
	New   bool
}

// A File is the name of a media file. Series and Number are the results of [FileSeries].
type File struct {
	Name, MediaType, Series string
	Number                  int64
}
