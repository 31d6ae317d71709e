package codec

import (
	"errors"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// Errors of [ContentType] (wire 6.1).
var (
	// ErrNoContentType: the header is missing or empty.
	ErrNoContentType = errors.New("codec: no content type")
	// ErrContentTypeSyntax: the header is not a media type, optionally with a charset.
	ErrContentTypeSyntax = errors.New("codec: malformed content type")
	// ErrCharset: the charset is not UTF-8.
	ErrCharset = errors.New("codec: unsupported charset")
	// ErrMediaType: bodies of this type are not supported.
	ErrMediaType = errors.New("codec: unsupported media type")
)

// ContentType returns the format of a request body by its Content-Type header (wire 6.1), and
// the media type in its original spelling, for the message of [ErrMediaType].
func ContentType(header string) (f contract.Format, mediaType string, err error) {
	if header == "" {
		return 0, "", ErrNoContentType
	}
	end := 0
	for end < len(header) && (isAlphanumeric(header[end]) || strings.IndexByte("/+.-", header[end]) >= 0) {
		end++
	}
	mediaType, parameter := header[:end], header[end:]
	if mediaType == "" {
		return 0, "", ErrContentTypeSyntax
	}
	if parameter != "" {
		charset, ok := charsetOf(parameter)
		if !ok {
			return 0, "", ErrContentTypeSyntax
		}
		if !strings.EqualFold(charset, "utf-8") {
			return 0, "", ErrCharset
		}
	}
	switch mediaType {
	case "application/json":
		return contract.JSON, mediaType, nil
	case "text/plain":
		return contract.Text, mediaType, nil
	case "application/xml", "text/xml", "application/xhtml+xml":
		return contract.XML, mediaType, nil
	}
	return 0, mediaType, ErrMediaType
}

// charsetOf returns the value of a parameter such as "; charset=utf-8", ignoring letter case in
// its name, and whether it is a charset.
func charsetOf(parameter string) (string, bool) {
	const name = "charset="
	value, ok := strings.CutPrefix(parameter, ";")
	value = strings.TrimLeft(value, " ")
	if !ok || len(value) <= len(name) || !strings.EqualFold(value[:len(name)], name) {
		return "", false
	}
	return value[len(name):], true
}

// Negotiate returns the format of the reply by the Accept header (wire 5). any reports that
// "*/*" was selected, which names no format; f is JSON then. ok is false if the header accepts
// none of the formats. The caller decides about a missing header.
//
// The time is linear in the length of the header.
func Negotiate(accept string) (f contract.Format, any bool, ok bool) {
	if f, ok := renderer(accept); ok {
		return f, accept == "*/*", true
	}
	var best *acceptGroup
	groups := map[string]*acceptGroup{}
	for part := range strings.SplitSeq(accept, ",") {
		mediaType, parameters, _ := strings.Cut(part, ";")
		mediaType = strings.Trim(mediaType, blanks)
		if !validAccept(mediaType) {
			continue
		}
		quality := qualityOf(parameters)
		g := groups[quality]
		if g == nil {
			g = newAcceptGroup(quality, len(groups))
			groups[quality] = g
		}
		if g.mediaType != "" {
			continue
		}
		if _, known := renderer(mediaType); known {
			g.mediaType = mediaType
			if best == nil || g.before(best) {
				best = g
			}
		}
	}
	if best == nil {
		return 0, false, false
	}
	f, _ = renderer(best.mediaType)
	return f, best.mediaType == "*/*", true
}

// An acceptGroup stands for all types with literally the same quality, at the position of the
// first of them.
type acceptGroup struct {
	quality   string
	number    float64
	numeric   bool
	place     int
	mediaType string // first type of the group that has a renderer
}

func newAcceptGroup(quality string, place int) *acceptGroup {
	number, ok := ParseNumber(quality)
	return &acceptGroup{quality: quality, number: number, numeric: ok, place: place}
}

// before reports whether the types of g are preferred over the types of h.
func (g *acceptGroup) before(h *acceptGroup) bool {
	if g.numeric && h.numeric {
		if g.number != h.number {
			return g.number > h.number
		}
		return g.place < h.place
	}
	return g.quality > h.quality
}

// qualityOf returns the quality of a type in an Accept header: the value of its first parameter,
// whatever the name of that parameter is.
func qualityOf(parameters string) string {
	first, _, _ := strings.Cut(parameters, ";")
	_, value, ok := strings.Cut(first, "=")
	if !ok || strings.Contains(value, "=") {
		return "1.0"
	}
	return value
}

// renderer returns the format for a type of an Accept header.
func renderer(mediaType string) (contract.Format, bool) {
	switch mediaType {
	case "application/json", "*/*", "application/*":
		return contract.JSON, true
	case "text/plain", "text/*":
		return contract.Text, true
	case "application/xml", "text/xml", "application/xhtml+xml":
		return contract.XML, true
	}
	return 0, false
}

// validAccept reports whether s is a valid type in an Accept header.
func validAccept(s string) bool {
	mediaType, subtype, divided := strings.Cut(s, "/")
	return consistsOf(mediaType, "*+-") && (!divided || consistsOf(subtype, "*+.-"))
}

// consistsOf reports whether s is not empty and contains only ASCII letters, digits and the
// given characters.
func consistsOf(s, others string) bool {
	for i := 0; i < len(s); i++ {
		if !isAlphanumeric(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
