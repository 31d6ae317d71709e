package adapter

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

const testPixels = 5000

// noisyImage returns an image that no encoder can compress well.
func noisyImage(width, height int) *image.Paletted {
	m := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White, color.Gray{Y: 99}})
	for i := range m.Pix {
		m.Pix[i] = uint8(i * i % 3)
	}
	return m
}

func encoded(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func aPNG(t testing.TB, width, height int) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, noisyImage(width, height)) })
}

func aJPEG(t testing.TB, width, height int) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, noisyImage(width, height), nil) })
}

func aGIF(t testing.TB, pictures, width, height int) []byte {
	all := &gif.GIF{LoopCount: 3}
	for range pictures {
		all.Image, all.Delay = append(all.Image, noisyImage(width, height)), append(all.Delay, 1)
	}
	return encoded(t, func(b *bytes.Buffer) error { return gif.EncodeAll(b, all) })
}

// largePNG returns a PNG that claims another size in its header.
func largePNG(t testing.TB, width, height uint32) []byte {
	content := aPNG(t, 1, 1)
	header := content[12:29] // its type, and the bytes that its checksum covers
	binary.BigEndian.PutUint32(header[4:], width)
	binary.BigEndian.PutUint32(header[8:], height)
	binary.BigEndian.PutUint32(content[29:], crc32.ChecksumIEEE(header))
	return content
}

func TestMediaType(t *testing.T) {
	decoded := func(text string) []byte {
		content, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	scans := aJPEG(t, 8, 8)
	end := len(scans) - 2
	scans = append(append(scans[:end:end], bytes.Repeat(scans[bytes.Index(scans, []byte("\xff\xda")):end], maxJPEGScans)...), "\xff\xd9"...)
	tests := []struct {
		name    string
		content []byte
		want    string
	}{
		{"PNG", aPNG(t, 7, 9), "image/png"},
		{"JPEG", aJPEG(t, 7, 9), "image/jpeg"},
		{"GIF", aGIF(t, 1, 7, 9), "image/gif"},
		{"GIF with several images", aGIF(t, 3, 7, 9), "image/gif"},
		{"GIF without a color table", decoded("R0lGODdhAQABAIAAAPwCBAAAACwAAAAAAQABAAACAkQBADs="), "image/gif"},
		{"maximum number of pixels", aPNG(t, 50, 100), "image/png"},
		{"trailing data", append(aPNG(t, 2, 2), "rest"...), "image/png"},

		{"one row too many, PNG", aPNG(t, 50, 101), ""},
		{"one row too many, JPEG", aJPEG(t, 50, 101), ""},
		{"one row too many, GIF", aGIF(t, 1, 50, 101), ""},
		{"several images, too large together", aGIF(t, 2, 50, 51), ""},
		{"a large screen", append([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"), aGIF(t, 1, 2, 2)[13:]...), ""},
		{"a number of pixels beyond 64 bits", largePNG(t, 1<<31-1, 1<<31-1), ""},
		{"a large image in a small PNG", largePNG(t, 30000, 30000), ""},
		{"zero width", largePNG(t, 0, 1), ""},
		{"a JPEG with too many scans", scans, ""},
		{"BMP", decoded("Qk05AAAAAAAAADYAAAAoAAAAAQAAAAEAAAABABgAAAAAAAMAAAAAAAAAAAAAAAAAAAAAAAAAAAD/AA=="), ""},
		{"WebP", decoded("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="), ""},
		{"text", []byte("hello world"), ""},
		{"HTML", []byte("<html><body>x"), ""},
		{"HTML after a GIF header", []byte("GIF89a<script>alert(1)</script>"), ""},
		{"no bytes", nil, ""},
		{"a header alone", []byte("\xff\xd8\xff"), ""},
	}
	p := NewImageChecker(testPixels)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := p.MediaType(t.Context(), tt.content); got != tt.want || err != nil {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
	if !p.inFlight.TryAcquire(testPixels) {
		t.Error("not all pixels were returned")
	}
}

// TestTruncatedImages cuts bytes off the ends of images. A JPEG may lack a dozen, and a GIF its trailer.
func TestTruncatedImages(t *testing.T) {
	p := NewImageChecker(testPixels)
	flat := image.NewRGBA(image.Rect(0, 0, 64, 64))
	colored := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, flat, nil) })
	noisy := aJPEG(t, 60, 60)
	for _, tt := range []struct {
		name          string
		content       []byte
		most, tooMany int // bytes that may be missing, and from how many on it is refused
	}{
		{"PNG", aPNG(t, 9, 9), 0, 1},
		{"GIF", aGIF(t, 1, 9, 9), 1, 2},
		{"JPEG", noisy, 12, len(noisy) / 2},
		{"JPEG of one color", colored, 12, len(colored) / 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for lacks := range tt.content {
				got, err := p.MediaType(t.Context(), tt.content[:len(tt.content)-lacks])
				if err != nil || got == "" && lacks <= tt.most || got != "" && lacks >= tt.tooMany {
					t.Errorf("without %d of %d bytes: %q (%v)", lacks, len(tt.content), got, err)
				}
			}
		})
	}
}

// TestImageChecksWait checks that an image waits while others use all pixels of the
// limit, but no longer than its caller.
func TestImageChecksWait(t *testing.T) {
	p := NewImageChecker(testPixels)
	if !p.inFlight.TryAcquire(testPixels - 80) {
		t.Fatal("no other check was running")
	}
	if got, err := p.MediaType(t.Context(), aPNG(t, 8, 10)); got == "" || err != nil {
		t.Errorf("an image within the limit: %q (%v)", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.MediaType(ctx, aPNG(t, 9, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("an image that has to wait: %v", err)
	}
}

// FuzzGIFPixels checks that gifPixels counts the pixels of all images that the library
// decodes.
func FuzzGIFPixels(f *testing.F) {
	f.Add(aGIF(f, 1, 3, 3))
	f.Add(aGIF(f, 3, 4, 2))
	f.Add([]byte("GIF87a" + strings.Repeat("\x00", 20)))
	f.Fuzz(func(t *testing.T, content []byte) {
		counted, err := gifPixels(content)
		if err != nil || counted > 1<<16 {
			return
		}
		all, err := gif.DecodeAll(bytes.NewReader(content))
		if err != nil {
			return
		}
		var pixels int64
		for _, m := range all.Image {
			pixels += int64(len(m.Pix))
		}
		if pixels > counted {
			t.Errorf("decoded %d pixels, counted %d", pixels, counted)
		}
	})
}
