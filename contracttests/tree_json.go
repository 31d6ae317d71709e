package contracttests

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// parseJSON parses a JSON body. It preserves the order of members, duplicate names and
// the notation of numbers.
func parseJSON(body string) (node, error) {
	dec := json.NewDecoder(strings.NewReader(body))
	dec.UseNumber()
	n, err := parseJSONValue(dec, 0)
	if err != nil {
		return node{}, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return node{}, fmt.Errorf("text after the value, at byte %d", dec.InputOffset())
	}
	return n, nil
}

// parseJSONValue parses the next value of dec, which is nested depth levels deep.
func parseJSONValue(dec *json.Decoder, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, errDepth
	}
	tok, err := dec.Token()
	if err != nil {
		return node{}, err
	}
	switch v := tok.(type) {
	case bool:
		return node{kind: literal, text: fmt.Sprint(v)}, nil
	case json.Number:
		return node{kind: number, text: v.String()}, nil
	case string:
		return node{kind: text, text: v}, nil
	case json.Delim:
		n := node{kind: list}
		if v == '{' {
			n.kind = record
		}
		for dec.More() {
			var m member
			if n.kind == record {
				name, err := dec.Token()
				if err != nil {
					return node{}, err
				}
				m.name = name.(string) // the decoder accepts only strings as names
			}
			if m.value, err = parseJSONValue(dec, depth+1); err != nil {
				return node{}, err
			}
			n.members = append(n.members, m)
		}
		_, err := dec.Token()
		return n, err
	default:
		return node{kind: null}, nil
	}
}

// renderJSON writes n in the JSON notation of the contract (wire 7, JSON).
func renderJSON(b *strings.Builder, n *node) {
	switch n.kind {
	case null:
		b.WriteString("null")
	case literal, number:
		b.WriteString(n.text)
	case text:
		writeJSONString(b, n.text)
	case list, record:
		open, end := byte('['), byte(']')
		if n.kind == record {
			open, end = '{', '}'
		}
		b.WriteByte(open)
		for i := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			if n.kind == record {
				writeJSONString(b, n.members[i].name)
				b.WriteByte(':')
			}
			renderJSON(b, &n.members[i].value)
		}
		b.WriteByte(end)
	}
}

// writeJSONString writes a JSON string in which slashes and all characters outside ASCII
// are escaped.
func writeJSONString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '/':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r >= 0x10000:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		case r < ' ' || r >= 0x80:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
