package mapping

import (
	"bytes"
	"context"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"

	"golang.org/x/sync/semaphore"
)

// mostScans bounds the times that a JPEG may go over its picture: each costs the
// time of a whole picture and next to no bytes. Encoders make about ten.
const maxJPEGScans = 200

// pictures decides which bytes are an image (product_parts 2.4, step 5). All of an
// image is decoded, since a cut one is none. However many are looked at at once,
// they have no more than a number of pixels together, so that small files of
// large pictures cannot use up the memory.
type imageChecker struct {
	maxPixels int64 // pixels
	inFlight  *semaphore.Weighted
}

func newImageChecker(maxPixels int64) *imageChecker {
	return &imageChecker{maxPixels: maxPixels, inFlight: semaphore.NewWeighted(maxPixels)}
}

// A pictureFormat is one of the formats an image may have.
type imageFormat struct {
	// pixels returns how many pixels decode will make, without making them.
	pixels func(content []byte) (int64, error)
	decode func(io.Reader) error
}

// pictureFormats returns the formats by their media types.
func imageFormats() map[string]imageFormat {
	return map[string]imageFormat{
		"image/gif": {pixels: gifPixels, decode: func(r io.Reader) error {
			_, err := gif.DecodeAll(r)
			return err
		}},
		"image/jpeg": {pixels: headerPixels(jpeg.DecodeConfig), decode: func(r io.Reader) error {
			_, err := jpeg.Decode(r)
			return err
		}},
		"image/png": {pixels: headerPixels(png.DecodeConfig), decode: func(r io.Reader) error {
			_, err := png.Decode(r)
			return err
		}},
	}
}

// pixelsBy counts the pixels of a picture by its header.
func headerPixels(header func(io.Reader) (image.Config, error)) func([]byte) (int64, error) {
	return func(content []byte) (int64, error) {
		c, err := header(bytes.NewReader(content))
		return int64(c.Width) * int64(c.Height), err
	}
}

// mediaType returns the media type of an image, "" for bytes that are no image
// that can be read, or too large a one. The error is that of ctx.
func (p *imageChecker) mediaType(ctx context.Context, content []byte) (string, error) {
	name := http.DetectContentType(content)
	format, known := imageFormats()[name]
	if !known {
		return "", nil
	}
	pixels, err := format.pixels(content)
	if err != nil || pixels < 1 || pixels > p.maxPixels || name == "image/jpeg" && bytes.Count(content, []byte("\xff\xda")) > maxJPEGScans {
		return "", nil
	}
	if err := p.inFlight.Acquire(ctx, pixels); err != nil {
		return "", err
	}
	defer p.inFlight.Release(pixels)
	if format.decode(bytes.NewReader(content)) != nil {
		return "", nil
	}
	return name, nil
}
