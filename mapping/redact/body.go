package redact

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// ErrUnknown is the error for a body that must not be kept at all: it cannot be parsed, or
// it holds fields that no table describes.
var ErrUnknown = errors.New("redact: the body cannot be parsed, or holds fields that no table describes")

// Body returns the body of a request on route, which may be nil, or of its reply, with
// personal and secret values masked. f is the format of the body. The error is
// [ErrUnknown].
func (m *Masker) Body(route *contract.Route, f contract.Format, body []byte) ([]byte, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return body, nil
	}
	if _, err := codec.Decode(f, body); err != nil {
		return nil, ErrUnknown
	}
	top := scope{route: route}
	var (
		masked []byte
		ok     bool
	)
	switch f {
	case contract.XML:
		masked, ok = m.maskXML(top, body)
	case contract.Text:
		masked, ok = m.maskForm(top, string(body))
	default:
		masked, ok = m.maskJSON(top, body)
	}
	if !ok {
		return nil, ErrUnknown
	}
	return masked, nil
}

// Plain returns a body that is not a document of the contract, such as a plain text
// error. It fails unless every word of the body is part of the contract's own vocabulary.
func (m *Masker) Plain(body []byte) ([]byte, error) {
	const longest = 300
	if text := string(body); len(text) <= longest && m.Message(nil, text) == text {
		return body, nil
	}
	return nil, ErrUnknown
}

// BodyFormat returns the format of a body. It uses the Content-Type and, if that names no
// known format, the first character of the body: some clients declare one format and send
// another.
func BodyFormat(contentType string, body []byte) (contract.Format, error) {
	begins := strings.TrimLeft(string(body[:min(len(body), 64)]), " \t\r\n")
	looksJSON := strings.HasPrefix(begins, "{") || strings.HasPrefix(begins, "[")
	f, _, err := codec.ContentType(contentType)
	switch {
	case errors.Is(err, codec.ErrNoContentType):
		switch {
		case looksJSON:
			return contract.JSON, nil
		case strings.HasPrefix(begins, "<"):
			return contract.XML, nil
		}
		return contract.Text, nil
	case err != nil:
		return 0, ErrUnknown
	case f == contract.XML && looksJSON:
		return contract.JSON, nil
	}
	return f, nil
}

// maskJSON masks a JSON text token by token and copies everything between the tokens.
func (m *Masker) maskJSON(top scope, body []byte) ([]byte, bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	out := make([]byte, 0, len(body)+64)
	scopes := []scope{top} // the scope of the next value, on top of its enclosing scopes
	done := 0              // everything before this offset has been written
	for {
		named := false
		if kind, length := dec.StackIndex(dec.StackDepth()); kind == '{' {
			named = length%2 == 0
		}
		token, err := dec.ReadToken()
		if err == io.EOF {
			return append(out, body[done:]...), true
		}
		if err != nil {
			return nil, false
		}
		end := int(dec.InputOffset())
		kind := token.Kind()
		start := end - rawLength(body[done:end])
		out = append(out, body[done:start]...)
		raw := body[start:end]
		done = end
		inside := scopes[len(scopes)-1]
		switch {
		case kind == '}' || kind == ']':
			scopes = scopes[:len(scopes)-1]
		case named:
			next, known := inside.enter(token.String())
			if !known {
				return nil, false
			}
			scopes = append(scopes, next)
			if out, err = appendMasked(out, raw, token.String(), m.maskName(inside, token.String())); err != nil {
				return nil, false
			}
			continue // the scope on top belongs to the next value
		case kind == '{' || kind == '[':
			out = append(out, raw...)
			scopes = append(scopes, inside)
			continue
		}
		switch kind {
		case '"':
			kept, ok := m.maskText(inside, token.String())
			if !ok {
				return nil, false
			}
			if out, err = appendMasked(out, raw, token.String(), kept); err != nil {
				return nil, false
			}
		case '0':
			kept, ok := m.maskText(inside, string(raw))
			if !ok {
				return nil, false
			}
			out = append(out, kept...)
		default:
			out = append(out, raw...)
		}
		if kind, _ := dec.StackIndex(dec.StackDepth()); kind == '{' {
			scopes = scopes[:len(scopes)-1] // the member is complete
		}
	}
}

// appendMasked appends kept as a JSON string, or the original token raw if masking did not
// change its text.
func appendMasked(out, raw []byte, text, kept string) ([]byte, error) {
	if kept == text {
		return append(out, raw...), nil
	}
	return jsontext.AppendQuote(out, kept)
}

// rawLength returns the length of the last token of a piece of JSON that starts where the
// previous token ended.
func rawLength(piece []byte) int {
	return len(bytes.TrimLeft(piece, " \t\r\n,:"))
}

// maskXML masks an XML document token by token. It rejects attributes, comments, processing
// instructions and document types, which clients do not need and which might hide values.
func (m *Masker) maskXML(top scope, body []byte) ([]byte, bool) {
	dec := xml.NewDecoder(bytes.NewReader(body))
	out := make([]byte, 0, len(body)+64)
	scopes := []scope{top}
	var names []string // open elements, in their original spelling
	for {
		start := dec.InputOffset()
		token, err := dec.RawToken()
		if err == io.EOF {
			return out, true
		}
		if err != nil {
			return nil, false
		}
		raw := body[start:dec.InputOffset()]
		inside := scopes[len(scopes)-1]
		switch token := token.(type) {
		case xml.StartElement:
			if len(token.Attr) > 0 || token.Name.Space != "" {
				return nil, false
			}
			local := token.Name.Local
			next, known, kept := inside, true, ""
			if len(names) == 0 {
				kept = m.maskRoot(local)
			} else {
				kept = m.maskName(inside, local)
				next, known = inside.enter(local)
			}
			if !known {
				return nil, false
			}
			raw = append([]byte("<"+kept), raw[len("<")+len(local):]...)
			scopes, names = append(scopes, next), append(names, kept)
		case xml.EndElement:
			last := len(names) - 1
			if len(raw) > 0 { // empty for <name/>
				raw = append([]byte("</"+names[last]), raw[len("</")+len(token.Name.Local):]...)
			}
			scopes, names = scopes[:len(scopes)-1], names[:last]
		case xml.CharData:
			if len(bytes.TrimSpace(token)) == 0 {
				break
			}
			kept, ok := m.maskText(inside, string(token))
			if !ok {
				return nil, false
			}
			if kept != string(token) {
				raw = replaceText(raw, kept)
			}
		case xml.ProcInst:
			if token.Target != "xml" || start > 0 {
				return nil, false
			}
		default:
			return nil, false
		}
		out = append(out, raw...)
	}
}

// maskRoot returns the masked name of a root element, which clients choose freely.
func (m *Masker) maskRoot(name string) string {
	for _, d := range contract.Dialects() {
		if name == d.Root {
			return name
		}
	}
	return m.Value(name)
}

// replaceText returns text in place of raw, as a CDATA section if raw is one.
func replaceText(raw []byte, text string) []byte {
	const open, end = "<![CDATA[", "]]>"
	if bytes.HasPrefix(raw, []byte(open)) && !strings.Contains(text, end) {
		return []byte(open + text + end)
	}
	return []byte(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}

// maskForm masks form-encoded pairs.
func (m *Masker) maskForm(top scope, body string) ([]byte, bool) {
	var out []byte
	for i, pair := range strings.Split(body, "&") {
		if i > 0 {
			out = append(out, '&')
		}
		name, value, valued := strings.Cut(pair, "=")
		at, known := top, name != ""
		path := splitFormName(name)
		masked := strings.ContainsRune(contract.FormDecode(name), 0) // path drops everything after U+0000
		for j, key := range path {
			if known && (j > 0 || key != "") {
				path[j] = m.maskName(at, key)
				masked = masked || path[j] != key
				at, known = at.enter(key)
			}
		}
		if !known {
			if pair == "" {
				continue
			}
			return nil, false
		}
		text := contract.FormDecode(value)
		kept, ok := m.maskText(at, text)
		if !ok {
			return nil, false
		}
		if masked {
			name = formName(path)
		}
		out = append(out, name...)
		if valued {
			out = append(out, '=')
		}
		if kept == text {
			out = append(out, value...)
		} else {
			out = append(out, url.QueryEscape(kept)...)
		}
	}
	return out, true
}

// formName returns the form-encoded name for the keys of a path.
func formName(path []string) string {
	name := url.QueryEscape(path[0])
	for _, key := range path[1:] {
		name += "%5B" + url.QueryEscape(key) + "%5D"
	}
	return name
}

// splitFormName returns the keys in a form-encoded name: the part before the brackets, then the
// content of each pair of brackets. A name with unbalanced brackets is a single key, which
// matches no field.
func splitFormName(name string) []string {
	name, _, _ = strings.Cut(contract.FormDecode(name), "\x00")
	name = strings.TrimLeft(name, " ")
	first, brackets, nested := strings.Cut(name, "[")
	if !nested {
		return []string{name}
	}
	path := []string{first}
	for {
		key, behind, closed := strings.Cut(brackets, "]")
		if !closed || strings.Contains(key, "[") {
			return []string{name}
		}
		path = append(path, key)
		if behind == "" {
			return path
		}
		if brackets, nested = strings.CutPrefix(behind, "["); !nested {
			return []string{name}
		}
	}
}
