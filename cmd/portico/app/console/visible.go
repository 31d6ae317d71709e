package console

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// maxShown is the maximum number of bytes of a text that a page shows outside <pre> and <textarea>:
// names in a store may be of any length.
const maxShown = 2 << 10

// visible returns a page as the templates have rendered it, with names and values from outside made
// harmless to look at: invisible characters, such as marks that reverse the direction of a line,
// become U+FFFD, and long texts are cut. The values of attributes stay, with references in place of
// these characters, because forms send them back. Package html/template escapes < and > in texts
// and values, so that they only come from templates.
func visible(page []byte) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(page)+len(page)/16))
	whole := false // within an element whose text is not cut
	for len(page) > 0 {
		if page[0] == '<' {
			end := bytes.IndexByte(page, '>')
			if end < 0 {
				end = len(page) - 1
			}
			tag := page[:end+1]
			whole = bytes.HasPrefix(tag, []byte("<pre")) || bytes.HasPrefix(tag, []byte("<textarea"))
			writeVisible(out, tag, func(r rune) string { return fmt.Sprintf("&#x%X;", r) })
			page = page[end+1:]
			continue
		}
		end := bytes.IndexByte(page, '<')
		if end < 0 {
			end = len(page)
		}
		text, more := page[:end], ""
		if !whole && len(text) > maxShown {
			text, more = cutText(text, maxShown), "…"
		}
		writeVisible(out, text, func(rune) string { return string(utf8.RuneError) })
		out.WriteString(more)
		page = page[end:]
	}
	return out.Bytes()
}

// writeVisible writes a text with a replacement for each invisible character, and U+FFFD for bytes that
// are not UTF-8.
func writeVisible(out *bytes.Buffer, text []byte, replacement func(rune) string) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\r' && len(text) > 1 && text[1] == '\n': // as browsers send the lines of forms
		case isInvisible(r):
			out.WriteString(replacement(r))
		default:
			out.WriteRune(r)
		}
		text = text[size:]
	}
}

// cutText cuts a text to the given number of bytes, without leaving a part of a character or of a
// reference.
func cutText(text []byte, most int) []byte {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	const longest = len("&#xffffffff;")
	if at := bytes.LastIndexByte(text[:most], '&'); at >= 0 && most-at < longest {
		most = at
	}
	return text[:most]
}

// isInvisible reports whether a character changes the look of others, or has no look itself.
func isInvisible(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d' // parts of words, and of emoji
	switch r {
	case '\n', '\t', zeroWidthNonJoiner, zeroWidthJoiner:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
