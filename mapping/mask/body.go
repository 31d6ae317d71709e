package mask

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

// ErrUnknown is the error for a body of which nothing may be kept: nobody can read
// it, or it holds something whose place is not known.
var ErrUnknown = errors.New("mask: the body cannot be read, or holds fields that no table knows")

// Body returns the body of a request on route, nil for none, or of the reply, in
// format f, with masks in the place of what tells of a person and of secrets. Its
// error is [ErrUnknown].
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
		masked, ok = m.xml(top, body)
	case contract.Text:
		masked, ok = m.form(top, string(body))
	default:
		masked, ok = m.json(top, body)
	}
	if !ok {
		return nil, ErrUnknown
	}
	return masked, nil
}

// Plain returns a body that is no document of the contract, if it says nothing but
// words that the contract itself writes.
func (m *Masker) Plain(body []byte) ([]byte, error) {
	const longest = 300
	if text := string(body); len(text) <= longest && m.Message(nil, text) == text {
		return body, nil
	}
	return nil, ErrUnknown
}

// Format returns the format of a body, by its Content-Type and, where that says
// nothing, by what it begins with: clients say the one and send the other.
func Format(contentType string, body []byte) (contract.Format, error) {
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

// json masks a JSON text token by token; what is between them stays.
func (m *Masker) json(top scope, body []byte) ([]byte, bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	out := make([]byte, 0, len(body)+64)
	scopes := []scope{top} // of the value that comes next, below those around it
	done := 0              // what is before it has been written
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
			if out, err = appendMasked(out, raw, token.String(), m.nameIn(inside, token.String())); err != nil {
				return nil, false
			}
			continue // the scope is that of the value
		case kind == '{' || kind == '[':
			out = append(out, raw...)
			scopes = append(scopes, inside)
			continue
		}
		switch kind {
		case '"':
			kept, ok := m.value(inside, token.String())
			if !ok {
				return nil, false
			}
			if out, err = appendMasked(out, raw, token.String(), kept); err != nil {
				return nil, false
			}
		case '0':
			kept, ok := m.value(inside, string(raw))
			if !ok {
				return nil, false
			}
			out = append(out, kept...)
		default:
			out = append(out, raw...)
		}
		if kind, _ := dec.StackIndex(dec.StackDepth()); kind == '{' {
			scopes = scopes[:len(scopes)-1] // that of the member
		}
	}
}

// appendMasked appends kept as a JSON string, or raw where kept is the text that raw
// stands for.
func appendMasked(out, raw []byte, text, kept string) ([]byte, error) {
	if kept == text {
		return append(out, raw...), nil
	}
	return jsontext.AppendQuote(out, kept)
}

// rawLength returns the length of the token at the end of a piece of JSON that begins
// where the one before it ended.
func rawLength(piece []byte) int {
	return len(bytes.TrimLeft(piece, " \t\r\n,:"))
}

// xml masks an XML document token by token. It gives up what clients have no use for
// and what might hide something: attributes, comments, instructions and document
// types.
func (m *Masker) xml(top scope, body []byte) ([]byte, bool) {
	dec := xml.NewDecoder(bytes.NewReader(body))
	out := make([]byte, 0, len(body)+64)
	scopes := []scope{top}
	var names []string // of the open elements, as they were written
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
				kept = m.root(local)
			} else {
				kept = m.nameIn(inside, local)
				next, known = inside.enter(local)
			}
			if !known {
				return nil, false
			}
			raw = append([]byte("<"+kept), raw[len("<")+len(local):]...)
			scopes, names = append(scopes, next), append(names, kept)
		case xml.EndElement:
			last := len(names) - 1
			if len(raw) > 0 { // none for <name/>
				raw = append([]byte("</"+names[last]), raw[len("</")+len(token.Name.Local):]...)
			}
			scopes, names = scopes[:len(scopes)-1], names[:last]
		case xml.CharData:
			if len(bytes.TrimSpace(token)) == 0 {
				break
			}
			kept, ok := m.value(inside, string(token))
			if !ok {
				return nil, false
			}
			if kept != string(token) {
				raw = rewritten(raw, kept)
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

// root returns what is kept of the name of a root element, which clients choose.
func (m *Masker) root(name string) string {
	for _, d := range contract.Dialects() {
		if name == d.Root {
			return name
		}
	}
	return m.Value(name)
}

// rewritten returns text in the place of raw, in the same kind of section.
func rewritten(raw []byte, text string) []byte {
	const open, end = "<![CDATA[", "]]>"
	if bytes.HasPrefix(raw, []byte(open)) && !strings.Contains(text, end) {
		return []byte(open + text + end)
	}
	return []byte(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}

// form masks form-encoded pairs.
func (m *Masker) form(top scope, body string) ([]byte, bool) {
	var out []byte
	for i, pair := range strings.Split(body, "&") {
		if i > 0 {
			out = append(out, '&')
		}
		name, value, valued := strings.Cut(pair, "=")
		at, known := top, name != ""
		path := keys(name)
		masked := strings.ContainsRune(contract.FormDecode(name), 0) // path lacks what follows
		for j, key := range path {
			if known && (j > 0 || key != "") {
				path[j] = m.nameIn(at, key)
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
		kept, ok := m.value(at, text)
		if !ok {
			return nil, false
		}
		if masked {
			name = spelled(path)
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

// spelled returns the encoded name that spells the keys of a path.
func spelled(path []string) string {
	name := url.QueryEscape(path[0])
	for _, key := range path[1:] {
		name += "%5B" + url.QueryEscape(key) + "%5D"
	}
	return name
}

// keys returns the keys that an encoded name spells, those in brackets behind the
// first. A name whose brackets are not closed in pairs is one key as a whole, which
// nobody knows.
func keys(name string) []string {
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
