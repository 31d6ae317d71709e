package rules

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
)

// A Database stores the records of a shop.
type Database interface {
	// Schemas returns the schemas of the records that it stores.
	Schemas() *adapter.Schemas
	// Write runs f in a transaction that takes effect as a whole if f returns nil, and
	// not at all if it returns an error. It may run f again if the transaction failed
	// because of concurrent ones, which are serializable as far as [Tx] locks records.
	// op is the operation for the errors of the database itself; an [*adapter.Error] of f,
	// and one that f does not wrap, are returned as they are.
	Write(ctx context.Context, op string, f func(Tx) error) error
	// NewContent holds the bytes of an image ready for a transaction. Kinds: Unsupported
	// if the database stores no images.
	NewContent(bytes []byte) (Content, error)
	// MissingContent returns those of some names of image files whose bytes the database
	// does not have, also of names that were never reserved. Kinds: Unsupported if the
	// database stores no images.
	MissingContent(ctx context.Context, names []string) ([]string, error)
}

// A Content is the bytes of an image.
type Content interface {
	// Publish stores the bytes under a name that [Tx.InsertFiles] reserved in tx or before.
	// tx may be repeated.
	Publish(tx Tx, name string) error
	// Discard frees what is held of the bytes after the transaction has ended, however it
	// ended.
	Discard()
}

// A Tx is a transaction. After an error, of which the kinds are those of [adapter.Store],
// it must be given up. Errors need not name an operation. Records have the schemas of the
// database.
type Tx interface {
	Records
	Products
	Images
	Imports
	Outbox
}

// Records are the operations on records of all resources.
type Records interface {
	// Get returns a record with its stored attributes, at the default scope, without
	// parts. Kinds: NotFound.
	Get(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error)
	// Lock is Get that first locks the record until the transaction ends.
	Lock(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Record, error)
	// LockName locks a name, "sku" or "media", until the transaction ends.
	LockName(ctx context.Context, name string) error
	// Try runs f. If f fails for a reason of its own, failure says why, what f has written is
	// undone, and the transaction goes on. It fails with err if it must be given up.
	Try(ctx context.Context, f func() error) (failure, err error)
	// Other returns the key of a record, other than except, that has the values of like
	// for the named attributes; 0 if there is none. Texts are compared by [adapter.Fold].
	Other(ctx context.Context, like adapter.Record, except adapter.Key, names ...string) (adapter.Key, error)
	// Find returns the records of which an attribute is one of some values, as Get does,
	// with the price lists that are named. Texts are compared by [adapter.Fold].
	Find(ctx context.Context, r adapter.Resource, attribute string, values []adapter.Value, lists ...string) ([]adapter.Record, error)
	// Insert stores new records of one resource, without parts, and returns their keys. The
	// database chooses those that are absent.
	Insert(ctx context.Context, records ...adapter.Record) ([]adapter.Key, error)
	// PassKeys makes all keys that the database chooses later greater than some that it
	// did not choose.
	PassKeys(ctx context.Context, greatest map[adapter.Resource]adapter.Key) error
	// Update stores those values of change that are not absent in a locked record, of
	// which current is what is stored. Unset makes a value absent.
	Update(ctx context.Context, current, change adapter.Record) error
	// UpdateWhere stores the values of change in all records, except one, that have those
	// of where. Both have the same schema.
	UpdateWhere(ctx context.Context, where, change adapter.Record, except adapter.Key) error
	// Delete deletes a locked record and what belongs to it. Kinds: Conflict if others
	// refer to it.
	Delete(ctx context.Context, r adapter.Resource, key adapter.Key) error
}

// Products are the operations on what belongs to a locked product.
type Products interface {
	// StoreViews returns all store views, by id.
	StoreViews(ctx context.Context) ([]StoreView, error)
	// Websites returns the ids of the websites that a product is assigned to.
	Websites(ctx context.Context, product adapter.Key) ([]int64, error)
	// At returns a product, given with the values of the default scope, as shown at a
	// level, with the parts that are named: price lists and stock_item, which
	// it locks. Kinds: Unsupported for other names that are not attributes.
	At(ctx context.Context, product adapter.Record, level int64, parts ...string) (adapter.Record, error)
	// SetValues replaces the values that a product has at some store views for those
	// attributes that are not absent from values. Unset deletes them.
	SetValues(ctx context.Context, product adapter.Key, views []int64, values adapter.Record) error
	// SetPrices changes entries of one of the [PriceLists], of some products.
	SetPrices(ctx context.Context, list string, changes ...PriceChange) error
	// Saved updates what the database derives from some products, or from all if it names
	// none.
	Saved(ctx context.Context, products ...adapter.Key) error
}

// A StoreView is a store view and its website, by their ids.
type StoreView struct{ ID, Website int64 }

// A PriceChange says which entries of a price list of a product are added, under their keys
// if they have any, which get another price, and which are removed, by their keys.
type PriceChange struct {
	Product        adapter.Key
	Added, Changed []adapter.Record
	Removed        []adapter.Key
}

// Images are the operations on the images of a locked product.
type Images interface {
	// Gallery returns the images of a product, by id, with their values at a level.
	Gallery(ctx context.Context, product adapter.Key, level int64) ([]Image, error)
	// SetImage stores the values of an image at a level. The database has values of the
	// image there if i.Stored.
	SetImage(ctx context.Context, i *Image, level int64, values ImageValues) error
	// Types returns all types of the images of a product.
	Types(ctx context.Context, product adapter.Key) (Types, error)
	// SetTypes stores types of a product, in the order in which they are given.
	SetTypes(ctx context.Context, product adapter.Key, changes []TypeChange) error
	// Files returns those of some names that were ever reserved.
	Files(ctx context.Context, names ...string) ([]string, error)
	// FreeNumber returns the first number, from a given one on, that no file of a series
	// has.
	FreeNumber(ctx context.Context, series string, from int64) (int64, error)
	// InsertFiles reserves names for ever.
	InsertFiles(ctx context.Context, files ...File) error
}

// Imports are the operations with which an import compares and stores many records at
// once.
type Imports interface {
	// Keys returns those of some keys of a resource under which there are records. With
	// lock, it first locks these records until the transaction ends, in the order of the
	// keys, which are sorted.
	Keys(ctx context.Context, r adapter.Resource, keys []adapter.Key, lock bool) ([]adapter.Key, error)
	// Levels returns what records have of their own at levels: products and categories
	// their values at store views; images their values at any level, where a record of
	// nulls says that they are stored.
	Levels(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]LevelValues, error)
	// Pointers returns to which images the types of products point at levels, as values of
	// image_id and its like.
	Pointers(ctx context.Context, products []adapter.Key) ([]LevelValues, error)
	// SetLevels changes what records of one resource have at levels, pointers included.
	SetLevels(ctx context.Context, r adapter.Resource, changes ...LevelChange) error
	// Note notes that records came from a source, unless that is noted already.
	Note(ctx context.Context, source string, r adapter.Resource, keys ...adapter.Key) error
	// Forget removes what is noted of records.
	Forget(ctx context.Context, r adapter.Resource, keys ...adapter.Key) error
	// Changed says which records the import has created, changed or removed, so that no
	// process goes on answering from what it has cached of them. A part counts by the key
	// of its root. Keys may be repeated. It is the last operation of the transaction.
	Changed(ctx context.Context, changed map[adapter.Resource][]adapter.Key) error
	// SetPosition stores how far the changes of a source have come.
	SetPosition(ctx context.Context, source, position string) error
}

// An Outbox are the operations on what another system is to repeat of the writes of clients
// (see package outbox).
type Outbox interface {
	// Mirrored reports whether another system is to repeat the writes of clients to a
	// resource, which stays so until the transaction ends. Kinds: Unavailable if such writes
	// must not be stored here now.
	Mirrored(ctx context.Context, r adapter.Resource) (bool, error)
	// Enqueue stores entries, of which ID, Version, times and attempts are not set. What is
	// stored already of the same record and level is merged with it: the states on which both
	// systems have agreed stay as they are. An entry of a record that is gone replaces all
	// entries of the record and its parts.
	Enqueue(ctx context.Context, entries ...outbox.Entry) error
	// Entries returns the entries of some roots of a resource.
	Entries(ctx context.Context, root adapter.Resource, keys []adapter.Key) ([]outbox.Entry, error)
	// Agree replaces the states on which both systems have agreed in a stored entry.
	Agree(ctx context.Context, e outbox.Entry) error
	// Drop removes a stored entry.
	Drop(ctx context.Context, e outbox.Entry) error
	// NoteConflicts notes conflicts, of which the times are not set.
	NoteConflicts(ctx context.Context, conflicts ...outbox.Conflict) error
}

// LevelValues are what a record has of its own at a level. The other values of Record are
// absent.
type LevelValues struct {
	Key    adapter.Key
	Level  int64
	Record adapter.Record
}

// A LevelChange stores those values of Change at a level that are not absent. Unset removes
// a value; of an image, all of them. Current is what is stored there, without a schema if
// nothing is.
type LevelChange struct {
	Key             adapter.Key
	Level           int64
	Current, Change adapter.Record
}

// ImageValues are the values that an image has at one level. Those that it does not have
// are null.
type ImageValues struct{ Label, Position, Exclude adapter.Value }

// An Image is an image of a product, with the values that are stored for it at a level
// and in the default scope.
type Image struct {
	Key         adapter.Key
	Stored      bool // there are values for the level
	Own, Global ImageValues
}

// Types say to which image, 0 for none, each type points at each level where that is
// stored.
type Types map[TypeAt]adapter.Key

// A TypeAt is a type, such as thumbnail, at a level.
type TypeAt struct {
	Level int64
	Name  string
}

// A TypeChange points a type to an image, or to none if that is 0. New says that nothing
// is stored for the type at the level.
type TypeChange struct {
	TypeAt
	Image adapter.Key
	New   bool
}

// A File is the name of a media file. Series and Number are those of [FileSeries].
type File struct {
	Name, MediaType, Series string
	Number                  int64
}
