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
const mostScans = 200

// pictures decides which bytes are an image (product_parts 2.4, step 5). All of an
// image is decoded, since a cut one is none. However many are looked at at once,
// they have no more than a number of pixels together, so that small files of
// large pictures cannot use up the memory.
type pictures struct {
	most  int64 // pixels
	going *semaphore.Weighted
}

func newPictures(mostPixels int64) *pictures {
	return &pictures{most: mostPixels, going: semaphore.NewWeighted(mostPixels)}
}

// A pictureFormat is one of the formats an image may have.
type pictureFormat struct {
	// pixels returns how many pixels decode will make, without making them.
	pixels func(content []byte) (int64, error)
	decode func(io.Reader) error
}

// pictureFormats returns the formats by their media types.
func pictureFormats() map[string]pictureFormat {
	return map[string]pictureFormat{
		"image/gif": {pixels: gifPixels, decode: func(r io.Reader) error {
			_, err := gif.DecodeAll(r)
			return err
		}},
		"image/jpeg": {pixels: pixelsBy(jpeg.DecodeConfig), decode: func(r io.Reader) error {
			_, err := jpeg.Decode(r)
			return err
		}},
		"image/png": {pixels: pixelsBy(png.DecodeConfig), decode: func(r io.Reader) error {
			_, err := png.Decode(r)
			return err
		}},
	}
}

// pixelsBy counts the pixels of a picture by its header.
func pixelsBy(header func(io.Reader) (image.Config, error)) func([]byte) (int64, error) {
	return func(content []byte) (int64, error) {
		c, err := header(bytes.NewReader(content))
		return int64(c.Width) * int64(c.Height), err
	}
}

// mediaType returns the media type of an image, "" for bytes that are no image
// that can be read, or too large a one. The error is that of ctx.
func (p *pictures) mediaType(ctx context.Context, content []byte) (string, error) {
	name := http.DetectContentType(content)
	format, known := pictureFormats()[name]
	if !known {
		return "", nil
	}
	pixels, err := format.pixels(content)
	if err != nil || pixels < 1 || pixels > p.most || name == "image/jpeg" && bytes.Count(content, []byte("\xff\xda")) > mostScans {
		return "", nil
	}
	if err := p.going.Acquire(ctx, pixels); err != nil {
		return "", err
	}
	defer p.going.Release(pixels)
	if format.decode(bytes.NewReader(content)) != nil {
		return "", nil
	}
	return name, nil
}
