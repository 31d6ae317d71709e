package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth limits the nesting of mappings in a file; settings need two levels.
const maxDepth = 8

// A document holds the scalars of a YAML file as text, by full name. "log: {level: warn}"
// and "log.level: warn" are equivalent.
type document struct {
	texts  map[string]any // strings by name; lists are joined with commas
	empty  []string       // names without a value, which are not set
	lines  map[string]int // line of each name
	names  []string       // all names, in file order
	tables map[string]tableEntries
	line   int // line of its first member
	faults []lineFault

	isTable func(name string) bool
}

// tableEntries are the entries of a table.
type tableEntries struct {
	line    int
	entries []*document
}

type lineFault struct {
	line    int // 0: the whole file
	problem string
}

// readYAML parses a file. Names for which isTable is true must have a list of mappings.
// Anchors, aliases, tags and further documents are errors: settings do not need them, and
// aliases can expand exponentially.
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
		d.addFault(more.Line, "must be a single YAML document")
	case !errors.Is(err, io.EOF):
		d.addFault(0, "is not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
	case len(root.Content) == 0 || isNull(root.Content[0]):
	case root.Content[0].Kind == yaml.MappingNode:
		d.readMapping("", root.Content[0], 1)
	default:
		d.addFault(root.Content[0].Line, "must be a mapping of settings")
	}
	return d
}

func newDocument(isTable func(string) bool) *document {
	return &document{texts: map[string]any{}, lines: map[string]int{}, tables: map[string]tableEntries{}, isTable: isTable}
}

func (d *document) addFault(line int, problem string) {
	d.faults = append(d.faults, lineFault{line, problem})
}

func (d *document) readMapping(section string, node *yaml.Node, depth int) {
	if depth > maxDepth {
		d.addFault(node.Line, "is nested too deeply")
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, under := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Value == "" || rejectUnsupported(key) != nil {
			d.addFault(key.Line, "the name of a setting must be a plain string")
			continue
		}
		d.readEntry(section+key.Value, key.Line, under, depth)
	}
}

func (d *document) readEntry(name string, line int, node *yaml.Node, depth int) {
	if first, ok := d.lines[name]; ok {
		d.addFault(line, fmt.Sprintf("%s is already set in line %d", quoteIfNeeded(name), first))
		return
	}
	d.lines[name] = line
	d.names = append(d.names, name)
	if d.isTable(name) && !isNull(node) {
		d.readTable(name, line, node, depth)
		return
	}
	if node.Kind == yaml.MappingNode && len(node.Content) > 0 && rejectUnsupported(node) == nil {
		d.readMapping(name+".", node, depth+1)
		return
	}
	text, err := scalarText(node)
	switch {
	case err != nil:
		d.addFault(line, quoteIfNeeded(name)+" "+err.Error())
	case isNull(node) || node.Kind == yaml.MappingNode:
		d.empty = append(d.empty, name)
	default:
		d.texts[name] = text
	}
}

// readTable reads the entries of a table.
func (d *document) readTable(name string, line int, node *yaml.Node, depth int) {
	if node.Kind != yaml.SequenceNode || rejectUnsupported(node) != nil {
		d.addFault(line, name+" must be a list of mappings")
		return
	}
	all := tableEntries{line: line}
	for i, node := range node.Content {
		if node.Kind != yaml.MappingNode || rejectUnsupported(node) != nil {
			d.addFault(node.Line, fmt.Sprintf("%s[%d] must be a mapping of keys", name, i))
			continue
		}
		entry := newDocument(func(string) bool { return false })
		entry.line = node.Line
		entry.readMapping("", node, depth+1)
		d.faults = append(d.faults, entry.faults...)
		all.entries = append(all.entries, entry)
	}
	d.tables[name] = all
}

// scalarText returns the text of a scalar, or of a list of scalars joined with commas.
func scalarText(node *yaml.Node) (string, error) {
	if err := rejectUnsupported(node); err != nil {
		return "", err
	}
	if node.Kind != yaml.SequenceNode {
		return node.Value, nil
	}
	parts := make([]string, len(node.Content))
	for i, entry := range node.Content {
		if err := rejectUnsupported(entry); err != nil {
			return "", err
		}
		if entry.Kind != yaml.ScalarNode || strings.Contains(entry.Value, ",") {
			return "", errors.New("must be a list of strings without commas")
		}
		parts[i] = entry.Value
	}
	return strings.Join(parts, ","), nil
}

// rejectUnsupported returns an error for YAML features that settings files must not use.
func rejectUnsupported(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode || node.Anchor != "" || node.Style&yaml.TaggedStyle != 0 {
		return errors.New("must not use anchors, aliases and tags")
	}
	return nil
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }
