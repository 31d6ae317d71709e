package importer

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// maxEntries bounds the images of an archive, whose names are held in memory.
	maxEntries = 20_000_000
	// maxUnpacked bounds the bytes that are unpacked from a compressed archive.
	maxUnpacked = 1 << 40
)

var (
	errNoImages    = errors.New("the archive has no files below " + Folder)
	errManyEntries = fmt.Errorf("the archive has more than %d images", maxEntries)
	errUnpacked    = fmt.Errorf("the archive has more than %d bytes of images", int64(maxUnpacked))
)

// A place is the position of the bytes of a file in an archive.
type place struct{ offset, size int64 }

// An archive is a tar archive that is not compressed.
type archive struct {
	file   *os.File
	places map[string]place
}

// openTar reads the headers of an archive.
func openTar(ctx context.Context, name string) (*archive, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	a := &archive{file: file, places: map[string]place{}}
	err = eachImage(ctx, file, func(image string, header *tar.Header, _ io.Reader) error {
		offset, err := file.Seek(0, io.SeekCurrent) // the reader has read no further than the header
		if err != nil {
			return err
		}
		if offset > info.Size()-header.Size { // the reader jumps over contents, even behind the end
			return io.ErrUnexpectedEOF
		}
		if len(a.places) >= maxEntries {
			return errManyEntries
		}
		a.places[image] = place{offset, header.Size}
		return nil
	})
	if err == nil && len(a.places) == 0 {
		err = errNoImages
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return a, nil
}

// read implements files.
func (a *archive) read(_ context.Context, name string, max int64) ([]byte, error) {
	at, ok := a.places[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return readAtMost(io.NewSectionReader(a.file, at.offset, at.size), max)
}

func (a *archive) Close() error { return a.file.Close() }

// eachImage calls f for every image of an archive, in the order of the archive.
func eachImage(ctx context.Context, from io.Reader, f func(image string, header *tar.Header, content io.Reader) error) error {
	reader := tar.NewReader(from)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		image, ok := imageName(header)
		if !ok {
			continue
		}
		if err := f(image, header, reader); err != nil {
			return err
		}
	}
}

// imageName returns the name below Folder of an entry of an archive. ok is false for other
// entries: entries elsewhere, copies in other sizes, and everything that is not a plain file.
func imageName(header *tar.Header) (name string, ok bool) {
	if header.Typeflag != tar.TypeReg || isSparse(header) {
		return "", false
	}
	entry := "/" + path.Clean(header.Name)
	_, after, found := strings.Cut(entry, "/"+Folder+"/")
	if !found || strings.HasPrefix(after, cacheFolder) {
		return "", false
	}
	return cleanName(after)
}

// isSparse reports whether an entry leaves out runs of zeros, so that its bytes are not in one
// piece.
func isSparse(header *tar.Header) bool {
	for name := range header.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// An unpacked archive is a folder that is removed at the end.
type unpacked struct {
	folder
	path string
}

// openCompressed unpacks the images of a compressed archive into a temporary folder. Files
// that are too large are cut off one byte after the limit.
func openCompressed(ctx context.Context, name string, maxBytes int64) (*unpacked, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	temporary, err := os.MkdirTemp("", "portico-images-")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(temporary))
	}
	u := &unpacked{folder{root}, temporary}
	if err := u.unpack(ctx, file, maxBytes); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), u.Close())
	}
	return u, nil
}

// unpack writes the images of a compressed archive.
func (u *unpacked) unpack(ctx context.Context, from io.Reader, max int64) error {
	decompressed, err := gzip.NewReader(from)
	if err != nil {
		return err
	}
	images, total := 0, int64(0)
	err = eachImage(ctx, decompressed, func(image string, _ *tar.Header, content io.Reader) error {
		if images++; images > maxEntries {
			return errManyEntries
		}
		n, err := u.write(filepath.FromSlash(image), io.LimitReader(content, max+1))
		if total += n; err == nil && total > maxUnpacked {
			err = errUnpacked
		}
		return err
	})
	if err == nil && images == 0 {
		err = errNoImages
	}
	return err
}

// write writes one file, with the folders above it. A later entry of the same name replaces
// an earlier one, as tar does.
func (u *unpacked) write(name string, content io.Reader) (int64, error) {
	if err := u.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return 0, err
	}
	file, err := u.root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(file, content)
	return n, errors.Join(err, file.Close())
}

func (u *unpacked) Close() error { return errors.Join(u.folder.Close(), os.RemoveAll(u.path)) }
