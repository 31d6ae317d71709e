package memstore

import (
	"context"
	"io/fs"
	"maps"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// Gallery returns the images of a product.
func (x tx) Gallery(_ context.Context, product adapter.Key, level int64) ([]rules.Image, error) {
	var images []rules.Image
	for r := range x.parts(adapter.ProductImages, product) {
		images = append(images, r.image(level))
	}
	return images, nil
}

// image returns an image with its values at a scope.
func (r *row) image(level int64) rules.Image {
	i := rules.NewImage(r.record.Key())
	if own, ok := r.levels[level]; ok {
		i.Stored, i.Own = true, own
	}
	if global, ok := r.levels[0]; ok {
		i.Global = global
	}
	return i
}

// SetImage stores the values of an image at a scope.
func (x tx) SetImage(_ context.Context, i *rules.Image, level int64, values rules.ImageValues) error {
	next := *x.row(adapter.ProductImages, i.Key)
	next.levels = cloneOrMake(next.levels)
	next.levels[level] = values
	x.put(&next)
	return nil
}

// cloneOrMake returns a copy of a map, or a new one of nil.
func cloneOrMake[M ~map[K]V, K comparable, V any](m M) M {
	if m == nil {
		return M{}
	}
	return maps.Clone(m)
}

// Types returns the types of the images of a product.
func (x tx) Types(_ context.Context, product adapter.Key) (rules.Types, error) {
	return cloneOrMake(x.row(adapter.Products, product).types), nil
}

// SetTypes stores types of a product.
func (x tx) SetTypes(ctx context.Context, product adapter.Key, changes []rules.TypeChange) error {
	next := *x.row(adapter.Products, product)
	next.types, _ = x.Types(ctx, product)
	for _, c := range changes {
		next.types[c.TypeAt] = c.Image
	}
	x.put(&next)
	return nil
}

// Files returns the given names that were ever reserved.
func (x tx) Files(_ context.Context, names ...string) ([]string, error) {
	var reserved []string
	for _, name := range names {
		if _, ok := x.files.get(name); ok {
			reserved = append(reserved, name)
		}
	}
	return reserved, nil
}

// FreeNumber returns the first number, from a given one on, that a series lacks.
func (x tx) FreeNumber(_ context.Context, series string, from int64) (int64, error) {
	for {
		if _, taken := x.numbers.get(numberKey(series, from)); !taken {
			return from, nil
		}
		from++
	}
}

// InsertFiles reserves names.
func (x tx) InsertFiles(_ context.Context, files ...rules.File) error {
	for _, f := range files {
		x.files.set(x.version, f.Name, &file{mediaType: f.MediaType})
		if f.Series != "" {
			x.numbers.set(x.version, numberKey(f.Series, f.Number), true)
		}
	}
	return nil
}

// MissingContent returns the given names whose bytes are not stored.
func (db *database) MissingContent(ctx context.Context, names []string) ([]string, error) {
	s, err := db.read(ctx, "look for images")
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range names {
		if f, ok := s.files.get(name); !ok || f.stored.IsZero() {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// content holds the bytes of an image that is being stored. It implements [rules.Content].
type content []byte

// NewContent returns the bytes unchanged.
func (db *database) NewContent(bytes []byte) (rules.Content, error) { return content(bytes), nil }

// Publish stores the bytes under a name.
func (c content) Publish(in rules.Tx, name string) error {
	s := in.(tx).state
	reserved, _ := s.files.get(name)
	s.files.set(s.version, name, &file{reserved.mediaType, c, time.Now()})
	return nil
}

// Discard does nothing.
func (c content) Discard() {}

// A file is an image file.
type file struct {
	mediaType string
	bytes     []byte
	stored    time.Time // zero: the bytes are missing
}

// ImageFile returns the bytes of an image file, by its name, the attribute file of an
// image; their media type, and when they were stored. The caller must not change them. The
// files of deleted images stay. For a missing file the error matches fs.ErrNotExist. Kinds:
// NotFound, Unavailable.
func (a *Adapter) ImageFile(ctx context.Context, name string) (bytes []byte, mediaType string, stored time.Time, err error) {
	const op = "read image"
	s, err := a.db.read(ctx, op)
	if err != nil {
		return nil, "", stored, err
	}
	f, ok := s.files.get(name)
	if !ok || f.stored.IsZero() {
		return nil, "", stored, &adapter.Error{Kind: adapter.NotFound, Op: op, Err: fs.ErrNotExist}
	}
	return f.bytes, f.mediaType, f.stored, nil
}
