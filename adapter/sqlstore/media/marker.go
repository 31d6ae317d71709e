package media

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
)

// String returns the name of the bucket for messages.
func (s *Bucket) String() string {
	if s.Prefix == "" {
		return "the bucket " + s.Bucket
	}
	return "the bucket " + s.Bucket + " below " + s.Prefix
}

// HasObjects reports true.
func (s *Bucket) HasObjects() bool { return true }

// Marker reads the marker.
func (s *Bucket) Marker(ctx context.Context) (Marker, error) {
	o, err := s.Open(ctx, Ref{Name: MarkerName})
	if errors.Is(err, fs.ErrNotExist) {
		return Marker{}, nil
	}
	if err != nil {
		return Marker{}, err
	}
	defer func() { _ = o.Close() }()
	return readMarker(o)
}

// SetMarker uploads the marker. A store of objects that ignores If-None-Match may replace a marker that
// another process has uploaded at the same moment.
func (s *Bucket) SetMarker(ctx context.Context, m Marker, replace bool) error {
	text, marked := m.String(), false
	err := s.do(ctx, s.Timeout, "store media", func(ctx context.Context) error {
		options := putOptions()
		if !replace {
			options.SetMatchETagExcept("*")
		}
		_, err := s.core.Client.PutObject(ctx, s.Bucket, s.Prefix+MarkerName, strings.NewReader(text), int64(len(text)), options)
		if answer, ok := errors.AsType[minio.ErrorResponse](err); ok && answer.Code == minio.PreconditionFailed {
			marked, err = true, nil
		}
		return err
	})
	if marked {
		err = ErrMarked
	}
	return err
}

// Empty reports whether there is no object in a folder below the prefix.
func (s *Bucket) Empty(ctx context.Context) (bool, error) {
	objects, err := s.list(ctx, s.Prefix, "")
	return !slices.ContainsFunc(objects, func(o aged) bool { return strings.Contains(o.Object, "/") }), err
}
