package blobs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Store stores the bytes of media files in a directory, under the names in the
// table media_file. A file of another name is the remains of an interrupted write,
// which the next write of that name replaces.
type Store struct{ Directory string }

const (
	// tempPrefix begins the names of files that are still being written. It cannot clash
	// with a media file, as those are in subfolders.
	tempPrefix = ".new-"
	// tempMaxAge is the age at which such a file is considered abandoned.
	tempMaxAge = time.Hour
)

// ErrNoFolder says that a Store has no folder to write to.
var ErrNoFolder = errors.New("no folder for media files is configured")

// Open creates the directory, for its owner alone, if only the directory
// itself is missing, and removes abandoned files. Without a directory the store is
// empty and read-only.
func Open(directory string) (*Store, error) {
	if directory == "" {
		return &Store{}, nil
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
	return &Store{Directory: directory}, nil
}

// Path returns the path of the file of a valid name.
func (b *Store) Path(name string) string {
	return filepath.Join(b.Directory, filepath.FromSlash(name))
}

// A Pending is a file that was written under a temporary name.
type Pending struct {
	store     *Store
	temporary string // its path
}

// Add writes content to a temporary file and syncs it to disk.
func (b *Store) Add(content []byte) (*Pending, error) {
	if b.Directory == "" {
		return nil, ErrNoFolder
	}
	f, err := os.CreateTemp(b.Directory, tempPrefix+"*") // readable by its owner alone
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
	return &Pending{b, f.Name()}, nil
}

// Publish gives the file its name, replacing a file of that name. The name is synced to
// disk when publish returns. If publish fails, the name is free. It may be repeated, as the
// file keeps its temporary name as well.
func (b *Pending) Publish(name string) error {
	target := b.store.Path(name)
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

// Discard removes the temporary name.
func (b *Pending) Discard() {
	_ = os.Remove(b.temporary) // if it fails, a later Open removes the file
}

// makeFolder creates a folder below the directory, with its parents.
func (b *Store) makeFolder(folder string) error {
	err := os.Mkdir(folder, 0o700)
	switch {
	case err == nil:
		return syncFolder(filepath.Dir(folder))
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist) && folder != b.Directory:
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
