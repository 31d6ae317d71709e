package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Folder is the legacy store's folder of images, below its media folder.
const Folder = "catalog/product"

// cacheFolder is the folder below Folder that holds copies in other sizes.
const cacheFolder = "cache/"

// maxName bounds the name of a file, in bytes.
const maxName = 1024

// errTooLarge means that a file is larger than the limit of its source.
var errTooLarge = errors.New("the file is too large")

// A source has the bytes of images. It is safe for concurrent use.
type source struct {
	files files
	max   int64
}

// files holds the differences between the kinds of sources. Names have been checked.
type files interface {
	// read returns the bytes of a file, at most one more than max. A missing file is
	// fs.ErrNotExist.
	read(ctx context.Context, name string, max int64) ([]byte, error)
	Close() error
}

// Open opens the images of a legacy store. location is its media folder, the http or https
// URL of that folder, or a file .tar, .tar.gz or .tgz that contains it. The time to read an
// archive grows with its size. Files of more than maxBytes are not read.
func Open(ctx context.Context, location string, maxBytes int64) (*source, error) {
	s := &source{max: maxBytes}
	lower := strings.ToLower(location)
	var err error
	switch {
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"):
		s.files, err = openWeb(location)
	case strings.HasSuffix(lower, ".tar"):
		s.files, err = openTar(ctx, location)
	case strings.HasSuffix(lower, ".tar.gz"), strings.HasSuffix(lower, ".tgz"):
		s.files, err = openCompressed(ctx, location, maxBytes)
	default:
		s.files, err = openFolder(location)
	}
	if err != nil {
		return nil, fmt.Errorf("open the images: %w", err)
	}
	return s, nil
}

// Read returns the bytes of the image that the legacy store calls file, such as
// "/f/r/front.png". Errors wrap [fs.ErrNotExist] if there is no such file, or its name is not
// the name of a file below the folder of images, and [ErrTooLarge]. Other errors may be
// transient.
func (s *source) Read(ctx context.Context, file string) ([]byte, error) {
	name, ok := cleanName(file)
	if !ok {
		return nil, fmt.Errorf("%.200q is not the name of an image: %w", file, fs.ErrNotExist)
	}
	content, err := s.files.read(ctx, name, s.max)
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > s.max {
		return nil, fmt.Errorf("%q: %w: it has more than %d bytes", name, errTooLarge, s.max)
	}
	return content, nil
}

// Close releases the resources of the source, and removes its unpacked files.
func (s *source) Close() error { return s.files.Close() }

// cleanName returns the path of a file below Folder. ok is false unless that is a plain path
// to a file there.
func cleanName(file string) (name string, ok bool) {
	name = strings.TrimLeft(file, "/")
	control := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
	return name, len(name) <= maxName && !control && !strings.Contains(name, `\`) && name != "." && fs.ValidPath(name)
}

// readAtMost reads at most one byte more than max.
func readAtMost(r io.Reader, max int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, max+1))
}
