package reststore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A template is a URL path with expressions in braces.
type template struct {
	text  string // as written in the mapping file; safe to log
	parts []templatePart
}

// A templatePart is literal text, or an expression whose value becomes part of one path
// segment.
type templatePart struct {
	text  string
	value *expression
}

// loadTemplate compiles a path, or returns nil if it is invalid.
func (l *loader) loadTemplate(n *yaml.Node, variables []string) *template {
	text := l.scalar(n, "path")
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \t\r\n") && !strings.Contains(text, "{") {
		l.errorf(n.Line, "a path must begin with a slash and is relative to rest.url, such as /items/{.id}")
		return nil
	}
	t := &template{text: text}
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if strings.ContainsAny(before, "?#}") {
			l.errorf(n.Line, "a path must not contain ?, # or }: write parameters under query")
			return nil
		}
		if before != "" {
			t.parts = append(t.parts, templatePart{text: before})
		}
		if !found {
			break
		}
		end := closingBrace(after)
		if end < 0 {
			l.errorf(n.Line, "the path has a { without a matching }")
			return nil
		}
		e := l.compile(after[:end], n, variables)
		if e == nil {
			return nil
		}
		t.parts = append(t.parts, templatePart{value: e})
		rest = after[end+1:]
	}
	return t
}

// closingBrace returns the index in s of the brace that ends the expression with which s
// begins, or -1. It skips pairs of braces, and all braces in string literals.
func closingBrace(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		}
	}
	return -1
}

var errSegment = errors.New("a path segment is empty, a dot segment, or not a string")

// path evaluates the template. Values are escaped, so they cannot add path segments.
func (t *template) path(ctx context.Context, input any, variables ...any) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.value == nil {
			b.WriteString(p.text)
			continue
		}
		v, err := p.value.eval(ctx, input, variables...)
		if err != nil {
			return "", err
		}
		text, ok := numberText(v)
		if !ok || text == "" {
			return "", fmt.Errorf("%s: %w", p.value.at, errSegment)
		}
		b.WriteString(url.PathEscape(text))
	}
	path := b.String()
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "", fmt.Errorf("%s: %w", t.text, errSegment)
		}
	}
	return path, nil
}
