package reststore

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
)

// Limits on mapping files.
const (
	maxMappingBytes = 1 << 20
	maxMappingDepth = 24
)

// readerVersion is part of every tag. Change it when documents are read differently, so
// that all of them are read again.
const readerVersion = "reststore 1"

// A loader decodes, validates and compiles a mapping file. It collects all problems.
type loader struct {
	compiler
	file    string
	schemas *adapter.Schemas
	// The values of $user and $secret.
	user, secret string
	errs         []fileError
}

// A fileError is a problem at a line of the mapping file.
type fileError struct {
	line    int // 0: the whole file
	message string
}

// load decodes, validates and compiles a mapping file. Its error joins all problems, each
// with file and line.
func load(o *Options) (*mapping, error) {
	l := &loader{file: o.File, schemas: o.Schemas, user: o.User, secret: o.Secret}
	m := &mapping{}
	if root := l.parse(o.Mapping); root != nil {
		top := newPlace(root, root.Line, "")
		// Expressions need the variables and functions.
		l.loadVariables(top.in("vars"), o.Vars)
		l.loadFunctions(top.in("functions"))
		l.decode(top, reflect.ValueOf(m).Elem(), "", nil)
		l.checkName(top.in("name"), m.Name)
		l.loadResources(top.in("resources"), m)
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%q\n", readerVersion, l.constants)
	_, _ = h.Write(o.Mapping)
	m.fingerprint = h.Sum(nil)
	return m, nil
}

// parse returns the root node of a file, or nil if it cannot be read.
func (l *loader) parse(content []byte) *yaml.Node {
	if len(content) > maxMappingBytes {
		l.add(0, "is larger than %d bytes", maxMappingBytes)
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
		l.add(more.Line, "a mapping file must be a single YAML document")
	case !errors.Is(err, io.EOF):
		l.add(0, "is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	case len(root.Content) == 0:
		l.add(0, "is empty")
	default:
		if l.rejectUnsupported(root.Content[0], 0); len(l.errs) == 0 {
			return root.Content[0]
		}
	}
	return nil
}

// rejectUnsupported reports YAML features that mapping files must not use: anchors,
// aliases, merge keys, tags and deep nesting.
func (l *loader) rejectUnsupported(n *yaml.Node, depth int) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "" || n.ShortTag() == "!!merge":
		l.add(n.Line, "anchors and aliases are not supported")
	case n.Style&yaml.TaggedStyle != 0:
		l.add(n.Line, "tags are not supported")
	case depth > maxMappingDepth:
		l.add(n.Line, "is nested too deeply")
	default:
		for _, under := range n.Content {
			l.rejectUnsupported(under, depth+1)
		}
	}
}

func (l *loader) add(line int, format string, arguments ...any) {
	l.errs = append(l.errs, fileError{line, fmt.Sprintf(format, arguments...)})
}

// errorf records a problem of the value at p, the subject of the sentence.
func (l *loader) errorf(p place, format string, arguments ...any) {
	if p.path == "" {
		p.path = "the mapping file"
	}
	l.add(p.line, "%s %s", p.path, fmt.Sprintf(format, arguments...))
}

// err returns all problems in line order, each with file and line, or nil.
func (l *loader) err() error {
	slices.SortStableFunc(l.errs, func(a, b fileError) int { return a.line - b.line })
	var all []error
	for _, e := range slices.Compact(l.errs) {
		all = append(all, fmt.Errorf("%s: %s", l.at(e.line), e.message))
	}
	return errors.Join(all...)
}

// at returns a line of the file as errors name it.
func (l *loader) at(line int) string {
	if line == 0 {
		return l.file
	}
	return l.file + ":" + strconv.Itoa(line)
}

// A place is where a mapping file has a value, or could have one.
type place struct {
	node *yaml.Node // nil if the value is missing or null
	line int        // of the value's key, or of the nearest value around a missing one
	path string     // such as resources.customers.create[0].path
}

// isSet reports whether there is a value.
func (p place) isSet() bool { return p.node != nil }

// name returns the last name in the path.
func (p place) name() string { return p.path[strings.LastIndexByte(p.path, '.')+1:] }

// has reports which of the members have a value.
func (p place) has(names ...string) (found []string) {
	for _, name := range names {
		if p.in(name).isSet() {
			found = append(found, name)
		}
	}
	return found
}

// in returns the place of a member.
func (p place) in(name string) place {
	text := name
	if !plainName.MatchString(name) {
		text = fmt.Sprintf("%.40q", name)
	}
	path := strings.TrimPrefix(p.path+"."+text, ".")
	if i := slices.Index(p.names(), name); i >= 0 {
		return newPlace(p.node.Content[2*i+1], p.node.Content[2*i].Line, path)
	}
	return place{line: p.line, path: path}
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// names returns the names of the members in the order of the file.
func (p place) names() []string {
	var all []string
	if p.isSet() && p.node.Kind == yaml.MappingNode {
		for pair := range slices.Chunk(p.node.Content, 2) {
			all = append(all, pair[0].Value)
		}
	}
	return all
}

// element returns the place of an element of a list.
func (p place) element(i int) place {
	n := p.node.Content[i]
	return newPlace(n, n.Line, fmt.Sprintf("%s[%d]", p.path, i))
}

func newPlace(n *yaml.Node, line int, path string) place {
	if n.ShortTag() == "!!null" {
		n = nil
	}
	return place{n, line, path}
}

// decode decodes the value at p to v, compiles the expressions in it and checks it. It does
// what the YAML library would do for structs, maps and lists, in order to report problems
// with their paths. tag is that of the field v.
func (l *loader) decode(p place, v reflect.Value, tag reflect.StructTag, variables []string) {
	variables = variablesOf(tag, variables)
	if !p.isSet() && v.Kind() != reflect.Struct {
		if text := tag.Get("default"); text != "" {
			_ = yaml.Unmarshal([]byte(text), v.Addr().Interface())
		}
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	target := v.Addr().Interface()
	_, decodesItself := target.(yaml.Unmarshaler)
	switch kind := v.Kind(); {
	case decodesItself, kind != reflect.Struct && kind != reflect.Map && kind != reflect.Slice:
		if !l.decodeScalar(p, v, tag.Get("range")) {
			return
		}
	case kind == reflect.Slice:
		if p.node.Kind != yaml.SequenceNode {
			l.errorf(p, "must be a list")
			return
		}
		for i := range p.node.Content {
			e := reflect.New(v.Type().Elem()).Elem()
			l.decode(p.element(i), e, "", variables)
			l.needValue(p.element(i), e)
			v.Set(reflect.Append(v, e))
		}
	case p.isSet() && p.node.Kind != yaml.MappingNode:
		l.errorf(p, "must be a mapping such as {name: value}")
		return
	case kind == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, name := range l.distinctNames(p) {
			e := reflect.New(v.Type().Elem()).Elem()
			l.decode(p.in(name), e, "", variables)
			l.needValue(p.in(name), e)
			v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), e)
		}
	default:
		known := l.decodeFields(p, v, variables)
		for _, name := range l.distinctNames(p) {
			if !slices.Contains(known, name) {
				l.errorf(p.in(name), "is unknown; known members are %s", strings.Join(known, ", "))
			}
		}
	}
	switch x := target.(type) {
	case *expression:
		l.compile(p, x, x.text, variables)
	case *template:
		l.compileTemplate(p, x, variables)
	case interface{ check(l *loader, p place) }:
		x.check(l, p)
	}
}

// needValue reports an element of a list or a map that is null, and sets it.
func (l *loader) needValue(p place, v reflect.Value) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		l.errorf(p, "has no value")
		v.Set(reflect.New(v.Type().Elem()))
	}
}

// decodeFields decodes the members at p to the fields of a struct. It returns their names.
func (l *loader) decodeFields(p place, v reflect.Value, variables []string) (names []string) {
	for f, field := range v.Fields() {
		name := cmp.Or(f.Tag.Get("yaml"), strings.ToLower(f.Name))
		switch {
		case f.Anonymous:
			names = append(names, l.decodeFields(p, field, variablesOf(f.Tag, variables))...)
		case f.IsExported():
			names = append(names, name)
			if f.Tag.Get("need") != "" {
				l.need(p, name)
			}
			if only := f.Tag.Get("only"); only != "" && !slices.Contains(strings.Fields(only), p.name()) {
				l.refuse(p, strings.ReplaceAll(only, " ", " or "), name)
			}
			l.decode(p.in(name), field, f.Tag, variables)
		}
	}
	return names
}

// variablesOf returns the variables that expressions of a field can use.
func variablesOf(tag reflect.StructTag, inherited []string) []string {
	if names, ok := tag.Lookup("vars"); ok {
		return strings.Fields(names)
	}
	return inherited
}

// need reports members that are missing.
func (l *loader) need(p place, names ...string) {
	for _, name := range names {
		if !p.in(name).isSet() {
			l.errorf(p, "needs %s", name)
		}
	}
}

// distinctNames returns the names of the members at p and reports those that are repeated.
func (l *loader) distinctNames(p place) []string {
	names := p.names()
	for i, name := range names {
		key := p.node.Content[2*i]
		if first := slices.Index(names, name); first < i {
			l.add(key.Line, "%s is already defined in line %d", p.in(name).path, p.node.Content[2*first].Line)
		}
		if key.Kind != yaml.ScalarNode || name == "" {
			l.add(key.Line, "the keys of %s must be strings", p.path)
		}
	}
	return names
}

// forms says how the values of types are written.
var forms = map[reflect.Type]string{
	reflect.TypeFor[int]():           "a whole number",
	reflect.TypeFor[float64]():       "a number",
	reflect.TypeFor[bool]():          "true or false",
	reflect.TypeFor[time.Duration](): "a duration such as 10s",
	reflect.TypeFor[byteCount]():     "a number of bytes such as 16MiB",
	reflect.TypeFor[path]():          "names separated by dots, such as data.items, or . for the whole body",
}

// decodeScalar decodes a value that is neither a list nor a mapping. limits are the lowest
// and the highest value, or empty. It reports whether the value is valid.
func (l *loader) decodeScalar(p place, v reflect.Value, limits string) bool {
	err := p.node.Decode(v.Addr().Interface())
	if v.Kind() == reflect.Int {
		_, err = strconv.Atoi(p.node.Value) // the library cuts 1.5 to 1
	}
	form := cmp.Or(forms[v.Type()], "a string")
	if from, to, limited := strings.Cut(limits, " "); limited {
		lowest, highest := reflect.New(v.Type()), reflect.New(v.Type())
		_, _ = yaml.Unmarshal([]byte(from), lowest.Interface()), yaml.Unmarshal([]byte(to), highest.Interface())
		if !(number(lowest.Elem()) <= number(v) && number(v) <= number(highest.Elem())) { // NaN is not
			err = errNotNumber
		}
		form += " from " + from + " to " + to
	}
	if err != nil {
		l.errorf(p, "must be %s", form)
	}
	return err == nil
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// A byteCount is a number of bytes, written as 16777216 or 16MiB.
type byteCount int64

// UnmarshalYAML decodes a number of bytes.
func (b *byteCount) UnmarshalYAML(n *yaml.Node) error {
	text, unit := n.Value, byteCount(1)
	for suffix, bytes := range map[string]byteCount{"KiB": 1 << 10, "MiB": 1 << 20} {
		if t, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = t, bytes
		}
	}
	i, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	*b = byteCount(i) * unit
	return err
}

// UnmarshalYAML decodes a path such as "data.items". "." is the document itself.
func (p *path) UnmarshalYAML(n *yaml.Node) error {
	*p = path{}
	if n.Value != "." {
		*p = strings.Split(n.Value, ".")
	}
	if n.Kind != yaml.ScalarNode || slices.Contains(*p, "") {
		return errors.New("is not a path")
	}
	return nil
}

// UnmarshalYAML decodes the text of an expression, which is compiled later.
func (e *expression) UnmarshalYAML(n *yaml.Node) error {
	e.node = n
	return n.Decode(&e.text)
}
