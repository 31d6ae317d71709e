package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds how deep mappings nest in a file; settings need two.
const maxDepth = 8

// A document is a YAML file taken apart: every scalar as the text it was
// written as, by the name it stands under. "log: {level: warn}" and
// "log.level: warn" are the same.
type document struct {
	texts  map[string]any // string by name; a list is joined by commas
	blank  []string       // names with nothing under them: not set
	lines  map[string]int // where each name stands
	names  []string       // all of them, as they come
	tables map[string]tableEntries
	line   int // where it begins
	faults []lineFault

	isTable func(name string) bool
}

// tableEntries are a list of mappings, each taken apart like a file.
type tableEntries struct {
	line    int
	entries []*document
}

type lineFault struct {
	line    int // 0: the whole file
	problem string
}

// readYAML takes a file apart. What stands under a table's name is a list of
// mappings. Anchors, tags and further documents are faults:
// no setting needs them, and aliases multiply what is read.
func readYAML(text []byte, isTable func(name string) bool) *document {
	d := newDocument(isTable)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root, more yaml.Node
	err := decoder.Decode(&root)
	if err == nil {
		err = decoder.Decode(&more)
	}
	switch {
	case err == nil:
		d.fault(more.Line, "must hold one YAML document")
	case !errors.Is(err, io.EOF):
		d.fault(0, "is not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
	case len(root.Content) == 0 || isNull(root.Content[0]):
	case root.Content[0].Kind == yaml.MappingNode:
		d.mapping("", root.Content[0], 1)
	default:
		d.fault(root.Content[0].Line, "must be a mapping of settings")
	}
	return d
}

func newDocument(isTable func(string) bool) *document {
	return &document{texts: map[string]any{}, lines: map[string]int{}, tables: map[string]tableEntries{}, isTable: isTable}
}

func (d *document) fault(line int, problem string) {
	d.faults = append(d.faults, lineFault{line, problem})
}

func (d *document) mapping(section string, node *yaml.Node, depth int) {
	if depth > maxDepth {
		d.fault(node.Line, "is nested too deep")
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, under := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Value == "" || plain(key) != nil {
			d.fault(key.Line, "the name of a setting must be a plain text")
			continue
		}
		d.entry(section+key.Value, key.Line, under, depth)
	}
}

func (d *document) entry(name string, line int, node *yaml.Node, depth int) {
	if first, ok := d.lines[name]; ok {
		d.fault(line, fmt.Sprintf("%s is given in line %d too", printable(name), first))
		return
	}
	d.lines[name] = line
	d.names = append(d.names, name)
	if d.isTable(name) && !isNull(node) {
		d.table(name, line, node, depth)
		return
	}
	if node.Kind == yaml.MappingNode && len(node.Content) > 0 && plain(node) == nil {
		d.mapping(name+".", node, depth+1)
		return
	}
	text, err := scalar(node)
	switch {
	case err != nil:
		d.fault(line, printable(name)+" "+err.Error())
	case isNull(node) || node.Kind == yaml.MappingNode:
		d.blank = append(d.blank, name)
	default:
		d.texts[name] = text
	}
}

// table takes the entries of a table apart.
func (d *document) table(name string, line int, node *yaml.Node, depth int) {
	if node.Kind != yaml.SequenceNode || plain(node) != nil {
		d.fault(line, name+" must be a list of mappings")
		return
	}
	all := tableEntries{line: line}
	for i, node := range node.Content {
		if node.Kind != yaml.MappingNode || plain(node) != nil {
			d.fault(node.Line, fmt.Sprintf("%s[%d] must be a mapping of keys", name, i))
			continue
		}
		entry := newDocument(func(string) bool { return false })
		entry.line = node.Line
		entry.mapping("", node, depth+1)
		d.faults = append(d.faults, entry.faults...)
		all.entries = append(all.entries, entry)
	}
	d.tables[name] = all
}

// scalar returns the text of a scalar, or of a list of scalars with commas
// between them.
func scalar(node *yaml.Node) (string, error) {
	if err := plain(node); err != nil {
		return "", err
	}
	if node.Kind != yaml.SequenceNode {
		return node.Value, nil
	}
	parts := make([]string, len(node.Content))
	for i, entry := range node.Content {
		if err := plain(entry); err != nil {
			return "", err
		}
		if entry.Kind != yaml.ScalarNode || strings.Contains(entry.Value, ",") {
			return "", errors.New("must be a list of texts without commas")
		}
		parts[i] = entry.Value
	}
	return strings.Join(parts, ","), nil
}

// plain returns an error for what a settings file has no use for.
func plain(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode || node.Anchor != "" || node.Style&yaml.TaggedStyle != 0 {
		return errors.New("must not use anchors, aliases and tags")
	}
	return nil
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }
