package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
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

// A folder is a media folder on disk.
type folder struct{ root *os.Root }

// openFolder opens a media folder. path may also be the folder of images itself or the folder
// of the whole shop.
func openFolder(path string) (*folder, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is neither a folder nor a file .tar, .tar.gz or .tgz", path)
	}
	for _, below := range []string{Folder, "media/" + Folder, "pub/media/" + Folder} {
		root, err := os.OpenRoot(filepath.Join(path, filepath.FromSlash(below)))
		if err == nil {
			return &folder{root}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s has no folder %s: name the media folder of the shop", path, Folder)
}

// read implements files. Everything that is not a file, or to which a link leads out of the
// folder, counts as missing.
func (f *folder) read(_ context.Context, name string, max int64) ([]byte, error) {
	info, err := f.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readAtMost(file, max)
}

func (f *folder) Close() error { return f.root.Close() }

// mediaFiles has the files of imported images. It notes which are missing. It is not safe
// for concurrent use.
type mediaFiles struct {
	*source
	ahead   *ahead            // of the images that are being imported
	missing map[string]string // reason by file, since take was called
}

// openMedia opens the files of images at a location, for images of at most maxBytes.
func openMedia(ctx context.Context, location string, maxBytes int64) (*mediaFiles, error) {
	source, err := Open(ctx, location, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("--media: %w", err)
	}
	return &mediaFiles{source: source, ahead: source.Ahead(nil), missing: map[string]string{}}, nil
}

// expect announces the images of the next batch: an import asks for files by name.
func (m *mediaFiles) expect(batch []adapter.Aggregate) {
	var files []string
	for _, one := range batch {
		for _, part := range one.Parts {
			if part.Schema.Resource == adapter.ProductImages {
				files = append(files, part.Get("file").Text())
			}
		}
	}
	slices.Sort(files)
	m.ahead = m.Ahead(slices.Compact(files))
}

// content returns the bytes of a file, for an import. A file that is too large counts as
// missing.
func (m *mediaFiles) content(ctx context.Context, file string) ([]byte, error) {
	content, err := m.ahead.Read(ctx, file)
	reason := ""
	switch {
	case errors.Is(err, errTooLarge):
		reason = "the file is larger than limits.body_bytes, so the image has no bytes"
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case errors.Is(err, fs.ErrNotExist):
		reason = "the file is missing, so the image has no bytes"
	}
	if reason != "" {
		m.missing[file] = reason
	}
	return content, err
}

// take returns the missing files since it was last called, with the reasons.
func (m *mediaFiles) take() map[string]string {
	missing := m.missing
	m.missing = map[string]string{}
	return missing
}
