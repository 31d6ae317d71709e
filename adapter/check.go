package adapter

import (
	"bytes"
	"context"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"

	"golang.org/x/sync/semaphore"
)

// maxJPEGScans limits the number of scans in a JPEG: each takes hardly any bytes, but the
// time of decoding a whole image. Encoders write about ten.
const maxJPEGScans = 200

// An ImageChecker decides whether bytes are an image (product_parts 2.4, step 5). It decodes the
// whole image, since a truncated one is refused, apart from the ends that imageFormat.end replaces.
// The images that it decodes at the same time have at most maxPixels pixels together, so that small
// files with large images cannot exhaust the memory.
type ImageChecker struct {
	maxPixels int64
	inFlight  *semaphore.Weighted
}

// NewImageChecker returns a checker of images that have at most maxPixels pixels.
func NewImageChecker(maxPixels int64) *ImageChecker {
	return &ImageChecker{maxPixels: maxPixels, inFlight: semaphore.NewWeighted(maxPixels)}
}

// An imageFormat is one of the supported image formats.
type imageFormat struct {
	// pixels returns the number of pixels that decode will produce, without decoding.
	pixels func(content []byte) (int64, error)
	// end follows the content: it ends an image whose last bytes are missing, as the original does.
	// The decoder of a complete image does not read it.
	end    string
	decode func(io.Reader) error
}

// jpegEnd completes a JPEG. Zero bits are a valid code of every Huffman table. This many hold the
// blocks of the last dozen bytes, however well they are compressed, but not the blocks of half an image.
var jpegEnd = strings.Repeat("\x00", 320) + "\xff\xd9"

// imageFormats returns the supported formats by media type.
func imageFormats() map[string]imageFormat {
	return map[string]imageFormat{
		"image/gif": {pixels: gifPixels, end: ";", decode: func(r io.Reader) error {
			_, err := gif.DecodeAll(r)
			return err
		}},
		"image/jpeg": {pixels: headerPixels(jpeg.DecodeConfig), end: jpegEnd, decode: func(r io.Reader) error {
			_, err := jpeg.Decode(r)
			return err
		}},
		"image/png": {pixels: headerPixels(png.DecodeConfig), decode: func(r io.Reader) error {
			_, err := png.Decode(r)
			return err
		}},
	}
}

// headerPixels returns a function that computes the number of pixels from the header of
// an image.
func headerPixels(header func(io.Reader) (image.Config, error)) func([]byte) (int64, error) {
	return func(content []byte) (int64, error) {
		c, err := header(bytes.NewReader(content))
		return int64(c.Width) * int64(c.Height), err
	}
}

// MediaType returns the media type of an image, or "" if the bytes are not a valid image or the
// image is too large. The error is the error of ctx.
func (p *ImageChecker) MediaType(ctx context.Context, content []byte) (string, error) {
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
	if format.decode(io.MultiReader(bytes.NewReader(content), strings.NewReader(format.end))) != nil {
		return "", nil
	}
	return name, nil
}
