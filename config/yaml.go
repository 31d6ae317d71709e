package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/portico-commerce/portico/config/strictyaml"
	"go.yaml.in/yaml/v3"
)

// maxDepth limits the nesting of mappings in a file; settings need two levels.
const maxDepth = 8

// A document holds the scalars of a YAML file as text, by full name. "log: {level: warn}"
// and "log.level: warn" are equivalent.
type document struct {
	texts  map[string]string // by name; lists are joined with commas
	empty  []string          // names without a value, which are not set
	lines  map[string]int    // line of each name
	names  []string          // all names, in file order
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
	root, line, err := strictyaml.Parse(text)
	switch {
	case err != nil:
		d.addFault(line, err.Error())
	case root == nil || isNull(root):
	case root.Kind == yaml.MappingNode:
		d.readMapping("", root, 1)
	default:
		d.addFault(root.Line, "must be a mapping of settings")
	}
	return d
}

func newDocument(isTable func(string) bool) *document {
	return &document{texts: map[string]string{}, lines: map[string]int{}, tables: map[string]tableEntries{}, isTable: isTable}
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
		if key.Kind != yaml.ScalarNode || key.Value == "" || strictyaml.Unsupported(key) != nil {
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
	if node.Kind == yaml.MappingNode && len(node.Content) > 0 && strictyaml.Unsupported(node) == nil {
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
	if node.Kind != yaml.SequenceNode || strictyaml.Unsupported(node) != nil {
		d.addFault(line, name+" must be a list of mappings")
		return
	}
	all := tableEntries{line: line}
	for i, node := range node.Content {
		if node.Kind != yaml.MappingNode || strictyaml.Unsupported(node) != nil {
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
	if err := strictyaml.Unsupported(node); err != nil {
		return "", err
	}
	if node.Kind != yaml.SequenceNode {
		return node.Value, nil
	}
	parts := make([]string, len(node.Content))
	for i, entry := range node.Content {
		if err := strictyaml.Unsupported(entry); err != nil {
			return "", err
		}
		if entry.Kind != yaml.ScalarNode || strings.Contains(entry.Value, ",") {
			return "", errors.New("must be a list of strings without commas")
		}
		parts[i] = entry.Value
	}
	return strings.Join(parts, ","), nil
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }
