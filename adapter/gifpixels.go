package adapter

import (
	"encoding/binary"
	"errors"
)

var errInvalidGIF = errors.New("invalid or truncated GIF")

// A gifReader walks over the blocks of a GIF. At the first missing byte it sets truncated
// and reads nothing more.
type gifReader struct {
	rest      []byte
	truncated bool
}

// next returns the next n bytes, or zeros if they are missing.
func (g *gifReader) next(n int) []byte {
	if n > len(g.rest) {
		g.rest, g.truncated = nil, true
		return make([]byte, n)
	}
	bytes := g.rest[:n]
	g.rest = g.rest[n:]
	return bytes
}

// readArea reads a width and a height, and returns their product.
func (g *gifReader) readArea() int64 {
	dimensions := g.next(4)
	return int64(binary.LittleEndian.Uint16(dimensions)) * int64(binary.LittleEndian.Uint16(dimensions[2:]))
}

// skipColorTable skips the color table if flags announce one.
func (g *gifReader) skipColorTable(flags byte) {
	if flags&0x80 != 0 {
		g.next(3 << (flags&7 + 1))
	}
}

// skipDataBlocks skips data blocks up to and including the empty one that ends them.
func (g *gifReader) skipDataBlocks() {
	for {
		length := g.next(1)[0]
		if length == 0 {
			return
		}
		g.next(int(length))
	}
}

// gifPixels returns the number of pixels in all images of a GIF together, or of its
// screen if that is larger. It decodes no image. The trailer may be missing.
func gifPixels(content []byte) (int64, error) {
	g := &gifReader{rest: content}
	g.next(len("GIF89a"))
	screen := g.readArea()
	header := g.next(3) // flags, background, aspect ratio
	g.skipColorTable(header[0])
	pixels := int64(0)
	for !g.truncated {
		if len(g.rest) == 0 {
			return max(pixels, screen), nil
		}
		switch g.next(1)[0] {
		case 0x21: // extension: label, data
			g.next(1)
			g.skipDataBlocks()
		case 0x2c: // image: position, size, color table, data
			g.next(4)
			pixels += g.readArea()
			g.skipColorTable(g.next(1)[0])
			g.next(1) // minimum code size
			g.skipDataBlocks()
		case 0x3b: // trailer
			return max(pixels, screen), nil
		default:
			return 0, errInvalidGIF
		}
	}
	return 0, errInvalidGIF
}
