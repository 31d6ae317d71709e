package media

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/portico-commerce/portico/adapter"
)

// Open asks for an object, and reads no more than its headers yet. Its bytes may be read when ctx
// has ended.
func (s *Bucket) Open(ctx context.Context, file Ref) (*adapter.MediaFile, error) {
	o := &object{store: s, key: s.key(file)}
	if err := o.request(ctx, 0); err != nil {
		return nil, err
	}
	return &adapter.MediaFile{ReadSeekCloser: o, Size: o.size, Changed: o.changed}, nil
}

// An object is an open object. Reading after a jump sends another request.
type object struct {
	store   *Bucket
	key     string
	size    int64
	changed time.Time
	tag     string // all requests ask for the same content

	body     io.ReadCloser // nil after a jump
	cancel   context.CancelFunc
	at, next int64 // where body is, and where the next read is to be
}

// request requests the bytes from an offset on. The timeout of the store and ctx limit the time
// until the response begins; bodyTimeout limits the time for reading the bytes.
func (o *object) request(ctx context.Context, from int64) error {
	body, cancel := context.WithTimeout(context.WithoutCancel(ctx), bodyTimeout)
	err := o.store.do(ctx, o.store.Timeout, "open media", func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		var options minio.GetObjectOptions
		if from > 0 {
			if err := errors.Join(options.SetRange(from, 0), options.SetMatchETag(o.tag)); err != nil {
				return err
			}
		}
		content, about, _, err := o.store.core.GetObject(body, o.store.Bucket, o.key, options)
		if err != nil {
			return err
		}
		if !stop() { // answered too late
			_ = content.Close()
			return ctx.Err()
		}
		o.body, o.cancel, o.at = content, cancel, from
		if from == 0 {
			o.size, o.changed, o.tag = about.Size, about.LastModified, about.ETag
		}
		return nil
	})
	if err != nil {
		cancel()
	}
	return err
}

// Read reads on, after another request if there was a jump.
func (o *object) Read(p []byte) (int, error) {
	if o.next >= o.size {
		return 0, io.EOF
	}
	if o.body == nil || o.at != o.next {
		if err := o.Close(); err != nil {
			return 0, err
		}
		if err := o.request(context.Background(), o.next); err != nil {
			return 0, err
		}
	}
	n, err := o.body.Read(p)
	o.at += int64(n)
	o.next = o.at
	if errors.Is(err, io.EOF) && o.at < o.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

var errOffset = errors.New("the offset is before the beginning")

// Seek sends nothing.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.next
	case io.SeekEnd:
		offset += o.size
	}
	if offset < 0 {
		return 0, errOffset
	}
	o.next = offset
	return offset, nil
}

// Close ends the transfer. A body that ends early may cause an error of its own, which Close
// ignores.
func (o *object) Close() error {
	if o.body != nil {
		o.cancel()
		_ = o.body.Close()
		o.body = nil
	}
	return nil
}
