package reststore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Limits on mapping files.
const (
	maxMappingBytes = 1 << 20
	maxMappingDepth = 24
)

// A fileError is a problem at a line of the mapping file.
type fileError struct {
	line    int // 0: the whole file
	message string
}

// yamlReader reads values from YAML nodes and collects all problems.
type yamlReader struct {
	file string
	errs []fileError
}

// err returns all problems in line order, each with file and line, or nil.
func (f *yamlReader) err() error {
	if len(f.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(f.errs, func(a, b fileError) int { return a.line - b.line })
	var all []error
	for i, fault := range f.errs {
		if i > 0 && fault == f.errs[i-1] {
			continue
		}
		all = append(all, fmt.Errorf("%s: %s", f.at(fault.line), fault.message))
	}
	return errors.Join(all...)
}

// at returns the location of a line for error messages.
func (f *yamlReader) at(line int) string {
	if line == 0 {
		return f.file
	}
	return f.file + ":" + strconv.Itoa(line)
}

func (f *yamlReader) errorf(line int, format string, arguments ...any) {
	f.errs = append(f.errs, fileError{line, fmt.Sprintf(format, arguments...)})
}

// parse returns the root node of a file, or nil if it cannot be read.
func (f *yamlReader) parse(content []byte) *yaml.Node {
	if len(content) > maxMappingBytes {
		f.errorf(0, "is larger than %d bytes", maxMappingBytes)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var root, more yaml.Node
	err := decoder.Decode(&root)
	if err == nil {
		err = decoder.Decode(&more)
	}
	switch {
	case err == nil:
		f.errorf(more.Line, "a mapping file must be a single YAML document")
	case !errors.Is(err, io.EOF):
		f.errorf(0, "is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	case len(root.Content) == 0:
		f.errorf(0, "is empty")
	default:
		before := len(f.errs)
		f.rejectUnsupported(root.Content[0], 0)
		if len(f.errs) == before {
			return root.Content[0]
		}
	}
	return nil
}

// rejectUnsupported reports YAML features that mapping files must not use: anchors,
// aliases, tags and deep nesting.
func (f *yamlReader) rejectUnsupported(n *yaml.Node, depth int) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		f.errorf(n.Line, "anchors and aliases are not supported")
	case n.Style&yaml.TaggedStyle != 0:
		f.errorf(n.Line, "tags are not supported")
	case depth > maxMappingDepth:
		f.errorf(n.Line, "is nested too deeply")
	default:
		for _, under := range n.Content {
			f.rejectUnsupported(under, depth+1)
		}
	}
}

// isNull reports whether a node is missing or null.
func isNull(n *yaml.Node) bool { return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// An entry is a member of a YAML mapping.
type entry struct {
	name string
	line int
	node *yaml.Node
}

// entries returns the members of a YAML mapping, or nil for null.
func (f *yamlReader) entries(n *yaml.Node, what string) []entry {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		f.errorf(n.Line, "%s must be a mapping such as {name: value}", what)
		return nil
	}
	seen := map[string]int{}
	var all []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Value == "" {
			f.errorf(key.Line, "the keys of %s must be strings", what)
			continue
		}
		if first, twice := seen[key.Value]; twice {
			f.errorf(key.Line, "%.40q is already defined in line %d", key.Value, first)
			continue
		}
		seen[key.Value] = key.Line
		all = append(all, entry{key.Value, key.Line, value})
	}
	return all
}

// fields returns the members of a YAML mapping that are not null, and reports those that
// are not in known.
func (f *yamlReader) fields(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	for _, e := range f.entries(n, what) {
		if !slices.Contains(known, e.name) {
			f.errorf(e.line, "%s has no %.40q; it has %s", what, e.name, strings.Join(known, ", "))
			continue
		}
		if !isNull(e.node) {
			found[e.name] = e.node
		}
	}
	return found
}

// scalar returns the text of a scalar, whatever type YAML gives it, or "" for null.
func (f *yamlReader) scalar(n *yaml.Node, what string) string {
	if isNull(n) {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		f.errorf(n.Line, "%s must be a string", what)
		return ""
	}
	return n.Value
}

// list returns the elements of a list, or nil for null.
func (f *yamlReader) list(n *yaml.Node, what string) []*yaml.Node {
	switch {
	case isNull(n):
		return nil
	case n.Kind != yaml.SequenceNode:
		f.errorf(n.Line, "%s must be a list", what)
		return nil
	}
	return n.Content
}

// texts returns a list of distinct strings.
func (f *yamlReader) texts(n *yaml.Node, what string) []string {
	var all []string
	for _, e := range f.list(n, what) {
		text := f.scalar(e, "an element of "+what)
		if slices.Contains(all, text) {
			f.errorf(e.Line, "%.40q is listed twice", text)
			continue
		}
		all = append(all, text)
	}
	return all
}

func (f *yamlReader) flag(n *yaml.Node, what string) bool {
	switch text := f.scalar(n, what); text {
	case "", "false":
		return false
	case "true":
		return true
	default:
		f.errorf(n.Line, "%s must be true or false", what)
		return false
	}
}

// number returns an integer from lowest to highest, or fallback for null.
func (f *yamlReader) number(n *yaml.Node, what string, fallback, lowest, highest int) int {
	if isNull(n) {
		return fallback
	}
	i, err := strconv.Atoi(f.scalar(n, what))
	if err != nil || i < lowest || i > highest {
		f.errorf(n.Line, "%s must be a whole number from %d to %d", what, lowest, highest)
		return fallback
	}
	return i
}

func (f *yamlReader) duration(n *yaml.Node, what string, fallback, shortest, longest time.Duration) time.Duration {
	if isNull(n) {
		return fallback
	}
	d, err := time.ParseDuration(f.scalar(n, what))
	if err != nil || d < shortest || d > longest {
		f.errorf(n.Line, "%s must be a duration from %s to %s, such as 10s", what, shortest, longest)
		return fallback
	}
	return d
}

// size returns a number of bytes, written as 16777216 or 16MiB.
func (f *yamlReader) size(n *yaml.Node, what string, fallback int64) int64 {
	const largest = 1 << 30
	if isNull(n) {
		return fallback
	}
	text, unit := f.scalar(n, what), int64(1)
	for suffix, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if t, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = t, bytes
		}
	}
	i, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || i < 1 || i > largest/unit {
		f.errorf(n.Line, "%s must be a number of bytes up to 1024MiB, such as 16MiB", what)
		return fallback
	}
	return i * unit
}

// path parses a path such as "data.items". "." is the document itself. It returns nil for
// null.
func (f *yamlReader) path(n *yaml.Node, what string) path {
	text := f.scalar(n, what)
	switch text {
	case "":
		return nil
	case ".":
		return path{}
	}
	names := strings.Split(text, ".")
	if slices.Contains(names, "") {
		f.errorf(n.Line, "%s must be names separated by dots, such as data.items, or . for the whole body", what)
		return nil
	}
	return names
}
