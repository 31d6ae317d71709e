package strictyaml

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Decoder decodes a file and collects its faults.
type Decoder struct {
	// File is the name by which faults refer to the file.
	File string
	// Check, unless it is nil, is called with a pointer to each value that was decoded, after the values
	// inside of it. It reports further faults by Fault and Require.
	Check func(p Place, v any)
	// MayBeEmpty allows a file without any value, which leaves the destination unchanged.
	MayBeEmpty bool
	// Aliases allows anchors and aliases. They can expand exponentially, so it is only for
	// files that the program itself contains.
	Aliases bool

	faults []Fault
}

// maxFaults limits how many faults are listed: a file that has more is of another kind.
const maxFaults = 100

// A Fault is a mistake in a line of a file.
type Fault struct {
	File    string
	Line    int // 0: the whole file
	Message string
}

// Error returns the fault with file and line.
func (f Fault) Error() string { return at(f.File, f.Line) + ": " + f.Message }

// Decode decodes a file to v, a pointer to a struct or to a list of them. The name of a member is the
// field's name in lower case, or the field's tag yaml. Members of embedded structs are members of the
// struct around them. Fields may be structs, maps by name, lists, texts, booleans, integers, floating-point
// numbers, durations, a [Size], pointers to these, and types that implement [encoding.TextUnmarshaler] or
// [yaml.Unmarshaler], whose errors name the valid values: "must be …". A field with the tag yaml:"-" is no
// member. Further tags are
//
//	need:"true"            the member must have a value
//	default:"10s"          its value if it has none
//	range:"1s 10m"         the lowest and the highest value of a number
//	only:"client server"   the member is only allowed inside of members with these names
//
// Maps and lists of pointers must not have null as an element.
func (d *Decoder) Decode(content []byte, v any) {
	root, line, err := Parse(content)
	if err == nil && root == nil {
		if d.MayBeEmpty {
			return
		}
		err = errors.New("is empty")
	}
	if err != nil {
		d.FaultAt(line, "%v", err)
		return
	}
	d.decode(Place{Node: root, Line: root.Line}, reflect.ValueOf(v).Elem(), "")
}

// FaultAt records a fault in a line of the file, or 0 for the whole file.
func (d *Decoder) FaultAt(line int, format string, arguments ...any) {
	d.faults = append(d.faults, Fault{d.File, line, fmt.Sprintf(format, arguments...)})
}

// Fault records a fault of the value at p, the subject of the sentence.
func (d *Decoder) Fault(p Place, format string, arguments ...any) {
	d.FaultAt(p.Line, "%s %s", cmp.Or(p.Path, "the file"), fmt.Sprintf(format, arguments...))
}

// Require records a fault of the value at p unless ok.
func (d *Decoder) Require(ok bool, p Place, format string, arguments ...any) {
	if !ok {
		d.Fault(p, format, arguments...)
	}
}

// Need records members at p that have no value.
func (d *Decoder) Need(p Place, names ...string) {
	for _, name := range names {
		d.Require(p.In(name).IsSet(), p.In(name), "must have a value")
	}
}

// Refuse records members at p that have a value, though they are only allowed elsewhere.
func (d *Decoder) Refuse(p Place, where string, names ...string) {
	for _, name := range names {
		d.Require(!p.In(name).IsSet(), p.In(name), "is only allowed in %s", where)
	}
}

// Faults returns the faults in the order of their lines. If there are too many, the last one gives
// the number of the remaining faults.
func (d *Decoder) Faults() []Fault {
	slices.SortStableFunc(d.faults, func(a, b Fault) int { return a.Line - b.Line })
	d.faults = slices.Compact(d.faults)
	all := slices.Clone(d.faults[:min(len(d.faults), maxFaults)])
	if more := len(d.faults) - maxFaults; more > 0 {
		all = append(all, Fault{File: d.File, Message: fmt.Sprintf("has %d more faults", more)})
	}
	return all
}

// Err joins the faults, each with file and line. It returns nil if there are none.
func (d *Decoder) Err() error {
	var all []error
	for _, f := range d.Faults() {
		all = append(all, f)
	}
	return errors.Join(all...)
}

// At returns a line of the file as faults name it, such as "shop.yaml:12".
func (d *Decoder) At(line int) string { return at(d.File, line) }

func at(file string, line int) string {
	if line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}

// decode decodes the value at p to v, which has this tag, and checks it. It takes the place of the YAML
// library's decoder, which neither reports all faults nor knows their paths.
func (d *Decoder) decode(p Place, v reflect.Value, tag reflect.StructTag) {
	p.tag = tag
	if p.Node != nil && d.Aliases {
		p.Node = withoutAnchor(p.Node)
	}
	if p.Node != nil {
		if err := Unsupported(p.Node); err != nil {
			d.Fault(p, "%v", err)
			return
		}
	}
	if !p.IsSet() && (decodesItself(v) || v.Kind() != reflect.Struct) { // a struct may have defaults
		d.decodeMissing(p, v)
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if d.decodeValue(p, v) && d.Check != nil {
		d.Check(p, v.Addr().Interface())
	}
}

// decodeMissing sets v to its default.
func (d *Decoder) decodeMissing(p Place, v reflect.Value) {
	if p.tag.Get("need") != "" {
		d.Fault(p, "must have a value")
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem())) // for the checks that follow
		}
	}
	if value := p.tag.Get("default"); value != "" {
		_ = yaml.Unmarshal([]byte(value), v.Addr().Interface())
	}
}

// withoutAnchor returns the value that a node stands for.
func withoutAnchor(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor == "" {
		return n
	}
	plain := *n
	plain.Anchor = ""
	return &plain
}

// decodesItself reports whether v has a type with a decoder of its own.
func decodesItself(v reflect.Value) bool {
	switch v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler, yaml.Unmarshaler:
		return true
	}
	return false
}

// decodeValue decodes the value at p to v and reports whether it has the form of v.
func (d *Decoder) decodeValue(p Place, v reflect.Value) (ok bool) {
	if decodesItself(v) {
		var err error
		switch target := v.Addr().Interface().(type) {
		case yaml.Unmarshaler:
			err = target.UnmarshalYAML(p.Node)
		case encoding.TextUnmarshaler:
			err = target.UnmarshalText([]byte(p.Node.Value)) // lists and mappings have the value ""
		}
		if err != nil {
			d.Fault(p, "%v", err)
		}
		return err == nil && d.checkRange(p, v)
	}
	switch v.Kind() {
	case reflect.Slice:
		if ok = p.Node.Kind == yaml.SequenceNode; ok {
			v.Set(reflect.MakeSlice(v.Type(), len(p.Node.Content), len(p.Node.Content)))
			for i := range p.Node.Content {
				d.decode(p.Element(i), v.Index(i), elementTag(v))
			}
		}
		d.Require(ok, p, "must be a list")
	case reflect.Map, reflect.Struct:
		ok = !p.IsSet() || p.Node.Kind == yaml.MappingNode
		d.Require(ok, p, "must be a mapping such as {name: value}")
		if ok {
			d.decodeMembers(p, v)
		}
	default:
		ok = d.decodeScalar(p, v)
	}
	return ok
}

// decodeMembers decodes the members at p to the fields of a struct, or to a map.
func (d *Decoder) decodeMembers(p Place, v reflect.Value) {
	var known []string
	if v.Kind() == reflect.Struct {
		known = d.decodeFields(p, v)
	} else {
		v.Set(reflect.MakeMap(v.Type()))
	}
	first := map[string]int{}
	for i, key := range p.keys() {
		name, member := key.Value, p.member(i)
		d.Require(first[name] == 0, member, "is already defined in line %d", first[name])
		first[name] = cmp.Or(first[name], key.Line)
		if key.Kind != yaml.ScalarNode || name == "" || Unsupported(key) != nil {
			d.FaultAt(key.Line, "the names in %s must be plain strings", cmp.Or(p.Path, "the file"))
		}
		if v.Kind() == reflect.Struct {
			if !slices.Contains(known, name) {
				d.addUnknown(member, name, known)
			}
			continue
		}
		e := reflect.New(v.Type().Elem()).Elem()
		d.decode(member, e, elementTag(v))
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), e)
	}
}

// addUnknown records that a struct has no member with this name.
func (d *Decoder) addUnknown(p Place, name string, known []string) {
	similar := ""
	if len(d.faults) < maxFaults {
		similar = DidYouMean(name, known)
	}
	d.Fault(p, "is unknown; known members are %s%s", strings.Join(known, ", "), similar)
}

// elementTag returns the tag of the elements of a list or a map: none of them may be nil.
func elementTag(v reflect.Value) reflect.StructTag {
	if v.Type().Elem().Kind() == reflect.Pointer {
		return `need:"true"`
	}
	return ""
}

// decodeFields decodes the members at p to the fields of a struct. It returns their names.
func (d *Decoder) decodeFields(p Place, v reflect.Value) (names []string) {
	for f, field := range v.Fields() {
		name := cmp.Or(f.Tag.Get("yaml"), strings.ToLower(f.Name))
		switch {
		case f.Anonymous:
			embedded := p
			embedded.tag, embedded.around = f.Tag, &p
			names = append(names, d.decodeFields(embedded, field)...)
		case f.IsExported() && name != "-":
			names = append(names, name)
			if only := f.Tag.Get("only"); only != "" && !slices.Contains(strings.Fields(only), p.Name()) {
				d.Refuse(p, strings.ReplaceAll(only, " ", " or "), name)
			}
			if !p.has(name) && field.Kind() != reflect.Struct && f.Tag.Get("need")+f.Tag.Get("default") == "" {
				continue // most fields of large structs are missing
			}
			d.decode(p.In(name), field, f.Tag)
		}
	}
	return names
}

// decodeScalar decodes a value that is neither a list nor a mapping. It reports whether the
// value is valid.
func (d *Decoder) decodeScalar(p Place, v reflect.Value) bool {
	err := p.Node.Decode(v.Addr().Interface())
	if v.Kind() == reflect.Int {
		_, err = strconv.Atoi(p.Node.Value) // the library cuts 1.5 to 1
	}
	if err != nil {
		d.Fault(p, "must be %s", form(p, v.Type()))
	}
	return err == nil && d.checkRange(p, v)
}

// checkRange reports whether a number is in the range that its tag demands.
func (d *Decoder) checkRange(p Place, v reflect.Value) bool {
	from, to, limited := strings.Cut(p.tag.Get("range"), " ")
	if !limited {
		return true
	}
	lowest, highest := reflect.New(v.Type()), reflect.New(v.Type())
	_, _ = yaml.Unmarshal([]byte(from), lowest.Interface()), yaml.Unmarshal([]byte(to), highest.Interface())
	within := number(lowest.Elem()) <= number(v) && number(v) <= number(highest.Elem()) // NaN is not
	d.Require(within, p, "must be %s", form(p, v.Type()))
	return within
}

// form describes the notation of the values at p, which are of this type.
func form(p Place, t reflect.Type) string {
	text := "a string"
	switch t {
	case reflect.TypeFor[int]():
		text = "a whole number"
	case reflect.TypeFor[float64]():
		text = "a number"
	case reflect.TypeFor[bool]():
		text = "true or false"
	case reflect.TypeFor[time.Duration]():
		text = "a duration such as 10s"
	case reflect.TypeFor[Size]():
		text = sizeForm
	}
	if from, to, limited := strings.Cut(p.tag.Get("range"), " "); limited {
		text += " from " + from + " to " + to
	}
	return text
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}
