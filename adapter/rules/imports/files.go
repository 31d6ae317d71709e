package imports

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// importedFiles are the bytes of the images of a batch, by their names.
type importedFiles struct {
	db       rules.Database
	contents map[string]rules.Content
}

// newImportedFiles gets the bytes of the images of a batch whose bytes the database does
// not have. They are held by the database, not in memory, so that a batch may have any
// number of them.
func newImportedFiles(ctx context.Context, db rules.Database, batch []adapter.Aggregate, o adapter.ImportOptions) (*importedFiles, error) {
	f := &importedFiles{db: db, contents: map[string]rules.Content{}}
	if o.DryRun {
		return f, nil
	}
	given := map[string]string{} // the bytes that come with images
	var names []string
	for i := range batch {
		for _, part := range batch[i].Parts {
			name := part.Get("file").Text()
			if part.Schema.Resource != adapter.ProductImages || !rules.ValidFileName(name) {
				continue
			}
			content := part.Get("content").Text()
			if content == "" && o.Content == nil {
				continue
			}
			if content != "" {
				given[name] = content
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	missing, err := f.missing(ctx, slices.Compact(names))
	if err != nil {
		return nil, err
	}
	for _, name := range missing {
		if err := f.add(ctx, name, given[name], o); err != nil {
			f.discard()
			return nil, err
		}
	}
	return f, nil
}

// missing returns the names whose bytes the database does not have.
func (f *importedFiles) missing(ctx context.Context, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	return f.db.MissingContent(ctx, names)
}

// add gets the bytes of one image, if there are any.
func (f *importedFiles) add(ctx context.Context, name, given string, o adapter.ImportOptions) error {
	bytes := []byte(given)
	if given == "" {
		var err error
		bytes, err = o.Content(ctx, name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("import image %s: %w", name, err)
		}
	}
	content, err := f.db.NewContent(bytes)
	if err == nil {
		f.contents[name] = content
	}
	return err
}

// discard frees the bytes.
func (f *importedFiles) discard() {
	for _, content := range f.contents {
		content.Discard()
	}
}

// wanted returns the names of the images of an aggregate whose bytes are to be stored.
func (f *importedFiles) wanted(u *unit) []string {
	var names []string
	for _, part := range u.Parts {
		name := part.Get("file").Text()
		if part.Schema.Resource == adapter.ProductImages && f.contents[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// publish reserves the names of the images that are new in the database, and stores their
// bytes if there are any, unless another transaction has just stored others.
func (f *importedFiles) publish(ctx context.Context, in *importTx, units []*unit) error {
	files := map[string]rules.File{}
	var names, stored []string
	for _, u := range units {
		for _, part := range u.Parts {
			name := part.Get("file").Text()
			if part.Schema.Resource != adapter.ProductImages || !rules.ValidFileName(name) {
				continue
			}
			if _, twice := files[name]; !twice {
				names = append(names, name)
			}
			series, number := rules.FileSeries(name)
			files[name] = rules.File{Name: name, MediaType: part.Get("media_type").Text(), Series: series, Number: number}
		}
		stored = append(stored, u.files...)
	}
	if len(names) == 0 || in.DryRun {
		return nil
	}
	if err := in.LockName(ctx, "media"); err != nil {
		return err
	}
	slices.Sort(stored)
	missing, err := f.missing(ctx, slices.Compact(stored))
	if err != nil {
		return err
	}
	known, err := in.Files(ctx, names...)
	if err != nil {
		return err
	}
	for _, name := range known {
		delete(files, name)
	}
	fresh := make([]rules.File, 0, len(files))
	for _, name := range names {
		if file, ok := files[name]; ok {
			fresh = append(fresh, file)
		}
	}
	if err := in.InsertFiles(ctx, fresh...); err != nil {
		return err
	}
	for _, name := range missing {
		if err := f.contents[name].Publish(in.Tx, name); err != nil {
			return err
		}
	}
	return nil
}

// mediaTypeOf returns the media type of a file by its extension.
func mediaTypeOf(file string) string {
	switch strings.ToLower(path.Ext(file)) {
	case ".jpg", ".jpeg", ".jpe":
		return "image/jpeg"
	case ".png":
		return "image/png"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".bmp":
		return "image/bmp"
	case ".tif", ".tiff":
		return "image/tiff"
	case ".svg":
		return "image/svg+xml"
	default:
		return "application/octet-stream"
	}
}
