package mapping

import (
	"encoding/binary"
	"errors"
)

var errInvalidGIF = errors.New("not a whole GIF")

// A gifReader walks over the blocks of a GIF. Once something is missing, nothing
// more is read.
type gifReader struct {
	rest      []byte
	truncated bool
}

// next returns the next n bytes, zeros where they are missing.
func (g *gifReader) next(n int) []byte {
	if n > len(g.rest) {
		g.rest, g.truncated = nil, true
		return make([]byte, n)
	}
	bytes := g.rest[:n]
	g.rest = g.rest[n:]
	return bytes
}

// size reads the width and the height of a picture, and returns their product.
func (g *gifReader) readArea() int64 {
	dimensions := g.next(4)
	return int64(binary.LittleEndian.Uint16(dimensions)) * int64(binary.LittleEndian.Uint16(dimensions[2:]))
}

// colours passes over the table of colours that flags announce, if they do.
func (g *gifReader) skipColorTable(flags byte) {
	if flags&0x80 != 0 {
		g.next(3 << (flags&7 + 1))
	}
}

// blocks passes over data, up to the empty block behind it.
func (g *gifReader) skipDataBlocks() {
	for {
		length := g.next(1)[0]
		if length == 0 {
			return
		}
		g.next(int(length))
	}
}

// gifPixels returns the number of pixels of all pictures of a GIF together, and at
// least those of its screen, without decoding any.
func gifPixels(content []byte) (int64, error) {
	g := &gifReader{rest: content}
	g.next(len("GIF89a"))
	screen := g.readArea()
	header := g.next(3) // flags, background, aspect ratio
	g.skipColorTable(header[0])
	pixels := int64(0)
	for !g.truncated {
		switch g.next(1)[0] {
		case 0x21: // an extension, behind its label
			g.next(1)
			g.skipDataBlocks()
		case 0x2c: // a picture, behind its place
			g.next(4)
			pixels += g.readArea()
			g.skipColorTable(g.next(1)[0])
			g.next(1) // the width of its codes
			g.skipDataBlocks()
		case 0x3b: // the end
			return max(pixels, screen), nil
		default:
			return 0, errInvalidGIF
		}
	}
	return 0, errInvalidGIF
}
