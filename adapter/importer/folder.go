package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

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
