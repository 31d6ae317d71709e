package dataset

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// maxImage bounds the size of an image, in bytes.
const maxImage = 64 << 20

// media holds the bytes of the images of a data set: in the data set itself, or in files.
type media struct {
	files  fs.FS
	inline map[string]string // base64 by the image's file
	paths  map[string]string // names in files by the image's file
}

// add notes the location of an image's bytes, and checks that they can be read.
func (m *media) add(d *decoder, n node) {
	file := n.record.Get("file").Text()
	if file != "" && !rules.ValidFileName(file) {
		d.addError(n.pointer.AppendToken("file"), "must be a path of letters, digits and _.- with at least one folder, such as f/r/front.png")
	}
	inline, hasInline := n.texts["content"]
	path, hasPath := n.texts["path"]
	switch {
	case hasInline && hasPath:
		d.addError(n.pointer.AppendToken("content"), "excludes path: leave one of them out")
	case hasInline:
		if _, err := base64.StdEncoding.DecodeString(inline); err != nil {
			d.addError(n.pointer.AppendToken("content"), "must be base64")
		}
		m.inline[file] = inline
	case hasPath:
		if problem := m.check(path); problem != "" {
			d.addError(n.pointer.AppendToken("path"), "%s", problem)
		}
		m.paths[file] = path
	case !d.data.Verbatim: // in a store, the file of an image may be lost
		d.addError(n.pointer.AppendToken("path"), "missing: path or content must be there")
	}
}

// check returns the fault of an image's path, or "".
func (m *media) check(path string) string {
	if m.files == nil {
		return "needs a data set in a folder: give content in place of path"
	}
	switch info, err := fs.Stat(m.files, path); {
	case errors.Is(err, fs.ErrInvalid):
		return "must be a path below the folder of the data set, such as media/front.png, without .. and not from the root"
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular() || info.Size() > maxImage:
		return fmt.Sprintf("must be a file of at most %d bytes", maxImage)
	}
	return ""
}

// content returns the bytes of the image that has a file.
func (m *media) content(_ context.Context, file string) ([]byte, error) {
	if inline, ok := m.inline[file]; ok {
		return base64.StdEncoding.DecodeString(inline)
	}
	path, ok := m.paths[file]
	if !ok {
		return nil, fs.ErrNotExist
	}
	in, err := m.files.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	bytes, err := io.ReadAll(io.LimitReader(in, maxImage+1))
	if err == nil && len(bytes) > maxImage {
		err = &adapter.Error{Kind: adapter.Invalid, Op: "read " + path, Field: "path", Err: fmt.Errorf("larger than %d bytes", maxImage)}
	}
	return bytes, err
}
