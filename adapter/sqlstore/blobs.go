package sqlstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// blobs keeps the bytes of media files below a directory, under the names that
// the table media_file lists. What it does not list is no file: the rest of a
// write that was cut short, to be written over by the next of that name.
type blobStore struct{ directory string }

const (
	// newBlob begins the names of files whose write is not done. No media file is
	// called so, as all have a folder.
	tempPrefix = ".new-"
	// abandoned is the age at which such a file is nobody's any more.
	tempMaxAge = time.Hour
	// maxName is the longest name of a media file, in bytes, folders included.
	maxBlobName = 255
)

var (
	blobName    = regexp.MustCompile(`\A[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+\z`)
	errBlobName = errors.New("not a path of letters, digits and _.-, in a folder, of 255 bytes at most")
	errNoMedia  = errors.New("no folder for media files")
)

// validBlobName reports whether a media file may have the name: below the
// directory and nowhere else, and the same on every system.
func validBlobName(name string) bool {
	return len(name) <= maxBlobName && blobName.MatchString(name) &&
		!slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return part == "." || part == ".." })
}

// openBlobs makes the directory if it alone is missing, readable by its owner alone,
// and removes what was left behind long ago. Without a directory there are no
// blobs.
func openBlobStore(directory string) (*blobStore, error) {
	if directory == "" {
		return &blobStore{}, nil
	}
	if err := os.Mkdir(directory, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && strings.HasPrefix(entry.Name(), tempPrefix) && time.Since(info.ModTime()) > tempMaxAge {
			err = os.Remove(filepath.Join(directory, entry.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process removes them, too
			return nil, err
		}
	}
	return &blobStore{directory: directory}, nil
}

// path returns where the file of a valid name is.
func (b *blobStore) path(name string) string {
	return filepath.Join(b.directory, filepath.FromSlash(name))
}

// A blob is a file on its way to its name.
type pendingBlob struct {
	store     *blobStore
	temporary string // where it is without a name
	published bool
}

// add stores content, without a name yet. It is on the disk when add returns.
func (b *blobStore) add(content []byte) (*pendingBlob, error) {
	if b.directory == "" {
		return nil, errNoMedia
	}
	f, err := os.CreateTemp(b.directory, tempPrefix+"*") // readable by its owner alone
	if err != nil {
		return nil, err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return &pendingBlob{store: b, temporary: f.Name()}, nil
}

// publish gives the blob its name, over a file that has it. The name is on the
// disk when publish returns; when it fails, the name is free.
func (b *pendingBlob) publish(name string) error {
	target := b.store.path(name)
	folder := filepath.Dir(target)
	if err := b.store.makeFolder(folder); err != nil {
		return err
	}
	if err := os.Rename(b.temporary, target); err != nil {
		return err
	}
	b.published = true
	if err := syncFolder(folder); err != nil {
		return errors.Join(err, os.Remove(target))
	}
	return nil
}

// discard removes a blob that has no name.
func (b *pendingBlob) discard() {
	if !b.published {
		_ = os.Remove(b.temporary) // else a start will, later
	}
}

// makeFolder makes a folder below the directory, and what it is in.
func (b *blobStore) makeFolder(folder string) error {
	err := os.Mkdir(folder, 0o700)
	switch {
	case err == nil:
		return syncFolder(filepath.Dir(folder))
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist) && folder != b.directory:
		if err := b.makeFolder(filepath.Dir(folder)); err != nil {
			return err
		}
		return b.makeFolder(folder)
	default:
		return err
	}
}

// syncFolder brings the names in a folder to the disk.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
