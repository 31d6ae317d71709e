package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse returns the only document of a YAML file, or nil if it is empty. Its error does not
// name the file; line is where the fault is, or 0 for the whole file.
func Parse(content []byte) (root *yaml.Node, line int, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, more yaml.Node
	err = decoder.Decode(&document)
	if err == nil {
		err = decoder.Decode(&more)
	}
	switch {
	case err == nil:
		return nil, more.Line, errors.New("must be a single YAML document")
	case err != nil && strings.Contains(err.Error(), "unknown anchor"):
		// The library would name the anchor, which may be a password that is not quoted.
		return nil, 0, errors.New("must not use anchors, aliases and tags: quote a text that begins with *")
	case !errors.Is(err, io.EOF):
		return nil, 0, errors.New("is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: "))
	case len(document.Content) == 0:
		return nil, 0, nil
	}
	return document.Content[0], 0, nil
}

// Unsupported returns an error if a node uses a feature of YAML that files must not use. It
// does not visit the nodes inside of it.
func Unsupported(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return errors.New("must not use anchors, aliases and tags")
	}
	return nil
}

// A Place is where a file has a value, or could have one.
type Place struct {
	Node *yaml.Node // nil if the value is missing
	Line int        // of the value's name, or of the nearest value around a missing one
	Path string     // such as servers.main.ports[0], or "" for the whole file

	around *Place
	tag    reflect.StructTag // of the field to which the value is decoded
}

// IsSet reports whether there is a value, and it is not null.
func (p Place) IsSet() bool {
	return p.Node != nil && (p.Node.Kind != yaml.ScalarNode || p.Node.ShortTag() != "!!null")
}

// LineOf returns the line of the file that has line n of the text at p, counted from 1. Only the text of
// a literal block keeps its lines, and starts in the line after the |; other text is in one line.
func (p Place) LineOf(n int) int {
	if p.Node.Style&yaml.LiteralStyle == 0 {
		return p.Node.Line
	}
	return p.Node.Line + n
}

// Name returns the last name in the path. The name of a list is that of its elements, too.
func (p Place) Name() string {
	path := p.Path
	if strings.HasSuffix(path, "]") { // an element: names with brackets are quoted
		path = path[:strings.LastIndexByte(path, '[')]
	}
	return path[strings.LastIndexByte(path, '.')+1:]
}

// Tag returns the value of a key in the tag of the field to which the value at p is decoded,
// or of the nearest field around it that has the key.
func (p Place) Tag(key string) string {
	for at := &p; at != nil; at = at.around {
		if value, ok := at.tag.Lookup(key); ok {
			return value
		}
	}
	return ""
}

// Count returns how many of the members have a value.
func (p Place) Count(names ...string) (count int) {
	for _, name := range names {
		if p.In(name).IsSet() {
			count++
		}
	}
	return count
}

// In returns the place of a member, which may be missing.
func (p Place) In(name string) Place {
	if i := p.index(name); i >= 0 {
		return p.member(i)
	}
	return Place{Line: p.Line, Path: p.join(name), around: &p}
}

// has reports whether the file has the member.
func (p Place) has(name string) bool { return p.index(name) >= 0 }

// index returns which member has a name, or -1. It makes no list of keys, because decoding calls it
// often.
func (p Place) index(name string) int {
	if p.isMapping() {
		for i := 0; i < len(p.Node.Content); i += 2 {
			if p.Node.Content[i].Value == name {
				return i / 2
			}
		}
	}
	return -1
}

// Members returns the members by name, in the order of the file.
func (p Place) Members() iter.Seq2[string, Place] {
	return func(yield func(string, Place) bool) {
		for i, key := range p.keys() {
			if !yield(key.Value, p.member(i)) {
				return
			}
		}
	}
}

func (p Place) isMapping() bool { return p.Node != nil && p.Node.Kind == yaml.MappingNode }

// keys returns the nodes of the members' names.
func (p Place) keys() (keys []*yaml.Node) {
	if p.isMapping() {
		for pair := range slices.Chunk(p.Node.Content, 2) {
			keys = append(keys, pair[0])
		}
	}
	return keys
}

func (p Place) member(i int) Place {
	key := p.Node.Content[2*i]
	return Place{Node: p.Node.Content[2*i+1], Line: key.Line, Path: p.join(key.Value), around: &p}
}

// join returns the path of a member.
func (p Place) join(name string) string {
	const plain = "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	if name == "" || len(name) > 40 || strings.Trim(name, plain) != "" {
		name = fmt.Sprintf("%.40q", name)
	}
	if p.Path == "" {
		return name
	}
	return p.Path + "." + name
}

// Element returns the place of an element of a list.
func (p Place) Element(i int) Place {
	n := p.Node.Content[i]
	return Place{Node: n, Line: n.Line, Path: fmt.Sprintf("%s[%d]", p.Path, i), around: &p}
}
