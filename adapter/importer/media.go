package importer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

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
