package media

import (
	"context"
	"errors"
	"io"

	"github.com/portico-commerce/portico/adapter"
)

// A Ref locates the bytes of a media file: under the key Object if the row of the file has one, and
// otherwise under Name.
type Ref struct{ Name, Object string }

// A Store stores the bytes of media files. It is safe for concurrent use. Errors of a file that is
// not there match [fs.ErrNotExist]; others match [adapter.ErrMediaUnavailable].
type Store interface {
	// String returns the name of the store for messages.
	String() string
	// HasObjects reports whether bytes that were added are under the keys of objects.
	HasObjects() bool
	// Marker returns the marker of the store, or an empty one if there is none.
	Marker(ctx context.Context) (Marker, error)
	// SetMarker marks the store. Unless replace is set, it fails with [ErrMarked] if there is a
	// marker.
	SetMarker(ctx context.Context, m Marker, replace bool) error
	// Empty reports whether the store holds no media file.
	Empty(ctx context.Context) (bool, error)
	// Add stores the bytes of a new file, which has no name yet.
	Add(content []byte) (Pending, error)
	// Put stores bytes under a name, replacing others. No other process may write that name.
	Put(ctx context.Context, name string, content io.Reader, size int64) error
	// Open opens a file. It does not know its media type.
	Open(ctx context.Context, file Ref) (*adapter.MediaFile, error)
	// Exists reports whether the bytes of a file are there.
	Exists(ctx context.Context, file Ref) (bool, error)
	// Remove removes the bytes of a file, if they are there.
	Remove(ctx context.Context, file Ref) error
	// Abandoned removes objects that were added and never referenced. It calls f with the keys of
	// objects that are so old that the transaction that added them has ended, and f returns the
	// keys of the objects to remove.
	Abandoned(ctx context.Context, f func(objects []string) (unused []string, err error)) error
}

// A Pending is bytes that have been stored and have no name yet.
type Pending interface {
	// Publish gives the bytes a name, durably. It returns the key of the object that the row
	// of the name has to have, or "" if the name suffices. It may be repeated.
	Publish(name string) (object string, err error)
	// Discard frees the resources that Publish no longer needs.
	Discard()
}

// ErrMarked says that a store has a marker already.
var ErrMarked = errors.New("the store has a marker already")

// ErrNoFolder says that there is no store to write media files to.
var ErrNoFolder = errors.New("no folder for media files is configured")
