package sqlstore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A blobStore stores the bytes of media files in a directory, under the names in the
// table media_file. A file of another name is the remains of an interrupted write,
// which the next write of that name replaces.
type blobStore struct{ directory string }

const (
	// tempPrefix begins the names of files that are still being written. It cannot clash
	// with a media file, as those are in subfolders.
	tempPrefix = ".new-"
	// tempMaxAge is the age at which such a file is considered abandoned.
	tempMaxAge = time.Hour
)

var errNoMedia = errors.New("no folder for media files is configured")

// openBlobStore creates the directory, for its owner alone, if only the directory
// itself is missing, and removes abandoned files. Without a directory the store is
// empty and read-only.
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
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have removed it
			return nil, err
		}
	}
	return &blobStore{directory: directory}, nil
}

// path returns the path of the file of a valid name.
func (b *blobStore) path(name string) string {
	return filepath.Join(b.directory, filepath.FromSlash(name))
}

// A pendingBlob is a file that was written under a temporary name.
type pendingBlob struct {
	store     *blobStore
	temporary string // its path
}

// add writes content to a temporary file and syncs it to disk.
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
	return &pendingBlob{b, f.Name()}, nil
}

// publish gives the file its name, replacing a file of that name. The name is synced to
// disk when publish returns. If publish fails, the name is free. It may be repeated, as the
// file keeps its temporary name as well.
func (b *pendingBlob) publish(name string) error {
	target := b.store.path(name)
	folder := filepath.Dir(target)
	if err := b.store.makeFolder(folder); err != nil {
		return err
	}
	second := b.temporary + secondName
	if err := linkOrCopy(b.temporary, second); err != nil {
		return err
	}
	defer func() { _ = os.Remove(second) }() // a rename to another name of the same file leaves it
	if err := os.Rename(second, target); err != nil {
		return err
	}
	if err := syncFolder(folder); err != nil {
		return errors.Join(err, os.Remove(target))
	}
	return nil
}

// secondName ends a second temporary name of a file.
const secondName = "-2"

// linkOrCopy gives a file a second name. If the file system has no links, it copies it.
func linkOrCopy(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err == nil {
		err = target.Sync()
	}
	if err = errors.Join(err, target.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// discard removes the temporary name.
func (b *pendingBlob) discard() {
	_ = os.Remove(b.temporary) // if it fails, a later openBlobStore removes the file
}

// makeFolder creates a folder below the directory, with its parents.
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

// syncFolder syncs the names in a folder to disk.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
