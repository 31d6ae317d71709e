package adapter

import (
	"errors"
	"io"
	"time"
)

// A MediaFile is the open file of an image. It is not safe for concurrent use.
type MediaFile struct {
	io.ReadSeekCloser
	MediaType string
	Size      int64 // in bytes
	Changed   time.Time
}

// ErrMediaUnavailable is the cause of the error for an image whose bytes cannot be stored or read
// now, because the media store, which is separate from the database, fails or does not answer.
// The kind is Unavailable.
var ErrMediaUnavailable = errors.New("the store of media files is not available")
