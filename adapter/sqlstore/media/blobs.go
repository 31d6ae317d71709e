package media

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Folder stores the bytes of media files in a directory, under the names in the
// table media_file. A file of another name is the remains of an interrupted write,
// which the next write of that name replaces.
type Folder struct{ Directory string }

var _ Store = (*Folder)(nil)

const (
	// tempPrefix begins the names of files that are still being written. It cannot clash with a
	// media file, as media files are in subfolders.
	tempPrefix = ".new-"
	// tempMaxAge is the age at which such a file is considered abandoned.
	tempMaxAge = time.Hour
)

// OpenFolder creates the directory, for its owner alone, if only the directory itself is missing. Kinds: Unavailable.
func OpenFolder(directory string) (*Folder, error) {
	err := os.Mkdir(directory, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		_, err = os.ReadDir(directory)
	}
	if err != nil {
		return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "open media folder", Err: err}
	}
	return &Folder{Directory: directory}, nil
}

// String returns the name of the folder for messages.
func (b *Folder) String() string { return "the folder " + b.Directory }

// HasObjects reports false.
func (b *Folder) HasObjects() bool { return false }

// Marker reads the marker.
func (b *Folder) Marker(context.Context) (Marker, error) {
	f, err := os.Open(filepath.Join(b.Directory, MarkerName))
	if errors.Is(err, fs.ErrNotExist) {
		return Marker{}, nil
	}
	if err != nil {
		return Marker{}, unavailable(err)
	}
	defer func() { _ = f.Close() }()
	m, err := readMarker(f)
	if err != nil {
		return Marker{}, unavailable(err)
	}
	return m, nil
}

// SetMarker writes the marker, which appears under its name when it is complete. It creates the directory
// as Open does.
func (b *Folder) SetMarker(_ context.Context, m Marker, replace bool) error {
	if _, err := OpenFolder(b.Directory); err != nil {
		return unavailable(err)
	}
	pending, err := b.add(func(f io.Writer) error { _, err := io.WriteString(f, m.String()); return err })
	if err != nil {
		return err
	}
	defer pending.Discard()
	if !replace {
		err := os.Link(pending.temporary, filepath.Join(b.Directory, MarkerName))
		if errors.Is(err, fs.ErrExist) {
			return ErrMarked
		}
		if err == nil {
			err = syncFolder(b.Directory)
		}
		if err == nil {
			return nil
		}
	} // or the file system has no links
	_, err = pending.Publish(MarkerName)
	return err
}

// Empty reports whether there is no file in a subfolder. Subfolders that cannot be read, such as
// lost+found, do not belong to the store.
func (b *Folder) Empty(ctx context.Context) (empty bool, err error) {
	empty = true
	err = fs.WalkDir(os.DirFS(b.Directory), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) && name != ".":
			return fs.SkipDir
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !entry.IsDir() && strings.Contains(name, "/"):
			empty = false
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, unavailable(err)
	}
	return empty, nil
}

// Path returns the path of the file of a valid name.
func (b *Folder) Path(name string) string {
	return filepath.Join(b.Directory, filepath.FromSlash(name))
}

// A pendingFile is a file that was written under a temporary name.
type pendingFile struct {
	store     *Folder
	temporary string // its path
}

// Add writes content to a temporary file and syncs it to disk.
func (b *Folder) Add(content []byte) (Pending, error) {
	return b.add(func(f io.Writer) error { _, err := f.Write(content); return err })
}

// add writes a temporary file and syncs it to disk.
func (b *Folder) add(write func(io.Writer) error) (*pendingFile, error) {
	f, err := os.CreateTemp(b.Directory, tempPrefix+"*") // readable by its owner alone
	if err != nil {
		return nil, unavailable(err)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, unavailable(errors.Join(err, os.Remove(f.Name())))
	}
	return &pendingFile{b, f.Name()}, nil
}

// unavailable returns the error of a folder that cannot be read or written now: its file system may be
// full, or was made read-only.
func unavailable(err error) error {
	return &adapter.Error{Kind: adapter.Unavailable, Op: "use the folder sql.media_dir", Err: fmt.Errorf("%w: %w", adapter.ErrMediaUnavailable, err)}
}

// Publish gives the file its name, replacing a file of that name. The name is synced to
// disk when publish returns. If publish fails, the name is free. It may be repeated, as the
// file keeps its temporary name as well.
func (b *pendingFile) Publish(name string) (object string, err error) {
	if err := b.publish(name); err != nil {
		return "", unavailable(err)
	}
	return "", nil
}

func (b *pendingFile) publish(name string) error {
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
func (b *pendingFile) Discard() {
	_ = os.Remove(b.temporary) // if it fails, Abandoned removes the file later
}

// Put writes a file under its name.
func (b *Folder) Put(_ context.Context, name string, content io.Reader, _ int64) error {
	pending, err := b.add(func(f io.Writer) error { _, err := io.Copy(f, content); return err })
	if err != nil {
		return err
	}
	defer pending.Discard()
	return pending.publish(name)
}

// Open opens a file.
func (b *Folder) Open(_ context.Context, file Ref) (*adapter.MediaFile, error) {
	f, err := os.Open(b.Path(file.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, unavailable(err)
	}
	about, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &adapter.MediaFile{ReadSeekCloser: f, Size: about.Size(), Changed: about.ModTime()}, nil
}

// Exists reports whether there is a file.
func (b *Folder) Exists(_ context.Context, file Ref) (bool, error) {
	_, err := os.Stat(b.Path(file.Name))
	return err == nil, nil
}

// Remove removes a file.
func (b *Folder) Remove(_ context.Context, file Ref) error {
	if err := os.Remove(b.Path(file.Name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Abandoned removes files that were never given a name.
func (b *Folder) Abandoned(context.Context, func([]string) ([]string, error)) error {
	entries, err := os.ReadDir(b.Directory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), tempPrefix) {
			continue
		}
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) > tempMaxAge {
			err = os.Remove(filepath.Join(b.Directory, entry.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have removed it
			return err
		}
	}
	return nil
}

// makeFolder creates a folder below the directory, with its parents.
func (b *Folder) makeFolder(folder string) error {
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
