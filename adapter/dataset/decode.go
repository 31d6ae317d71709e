package dataset

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	_ "embed"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/strictyaml"
)

// MaxSize bounds the size of a data set that Decode reads, in bytes.
const MaxSize = 256 << 20

//go:embed directory.json
var directoryJSON []byte

// object is a JSON object whose members are decoded later, by their shape.
type object map[string]jsontext.Value

// Decode reads a data set: JSON in UTF-8, at most MaxSize bytes. Its records have the given
// schemas. Paths of images are names in files, which the caller closes after the last use
// of the result; nil means that there are no files. An invalid data set fails with
// [adapter.LineErrors]; other errors are errors of in.
func Decode(in io.Reader, schemas *adapter.Schemas, files fs.FS) (*adapter.Dataset, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("data set: larger than %d bytes", MaxSize)
	}
	d := newDecoder(schemas, files)
	var members object
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, adapter.LineErrors{jsonError(text, err)}
	}
	d.decodeDataset(members)
	if len(d.errors) > 0 {
		return nil, withLines(text, d.errors)
	}
	return d.data, nil
}

// A decoder decodes one data set.
type decoder struct {
	schemas *adapter.Schemas
	lists   []member
	media   *media
	data    *adapter.Dataset
	errors  []locatedError
	// pointers are the positions of the records that have a key, by resource and key.
	pointers map[adapter.Resource]map[int64]jsontext.Pointer
	// references are checked once all records are known.
	references []reference
	// uniqueValues are the values that no other record may have.
	uniqueValues map[string]bool
	images       []imageNode
}

func newDecoder(schemas *adapter.Schemas, files fs.FS) *decoder {
	d := &decoder{
		schemas: schemas, lists: newFormat(schemas), media: &media{files, map[string]string{}, map[string]string{}},
		pointers: map[adapter.Resource]map[int64]jsontext.Pointer{}, uniqueValues: map[string]bool{},
		data: &adapter.Dataset{
			Records:   map[adapter.Resource][]adapter.Record{},
			Passwords: map[adapter.Key]string{},
			Stock:     adapter.DefaultStock(),
		},
	}
	d.data.Content = d.media.content
	return d
}

// addError adds an error at a position.
func (d *decoder) addError(pointer jsontext.Pointer, format string, arguments ...any) {
	d.errors = append(d.errors, locatedError{pointer, fmt.Sprintf(format, arguments...)})
}

// addUnknown adds the error of an unknown member.
func (d *decoder) addUnknown(pointer jsontext.Pointer, what string, names []string) {
	hint := ""
	if len(d.errors) < maxSuggestions {
		hint = strictyaml.DidYouMean(pointer.LastToken(), names)
	}
	if hint == "" && len(names) <= maxListedNames {
		hint = ": use one of " + strings.Join(names, ", ")
	}
	d.addError(pointer, "%s%s", what, hint)
}

const (
	// maxSuggestions bounds the number of errors of a file for which similar names are
	// looked for.
	maxSuggestions = 100
	// maxListedNames is the length up to which all valid names are listed.
	maxListedNames = 20
)

// decodeDataset decodes the members of the top-level object. An object without lists stores
// nothing.
func (d *decoder) decodeDataset(members object) {
	delete(members, comment)
	delete(members, schemaMember)
	if raw, given := members[verbatimMember]; given {
		if err := json.Unmarshal(raw, &d.data.Verbatim); err != nil {
			d.addError("/"+verbatimMember, "must be true or false")
		}
		delete(members, verbatimMember)
	}
	if len(members) == 0 {
		return
	}
	d.decodeDirectory(members)
	for _, l := range d.lists {
		pointer := jsontext.Pointer("").AppendToken(l.name)
		for _, n := range d.decodeList(l.of, pointer, members[l.name]) {
			d.addRoot(n)
		}
		delete(members, l.name)
	}
	d.addImages()
	for _, r := range []adapter.Resource{adapter.Websites, adapter.Stores} {
		if len(d.data.Records[r]) == 0 && len(d.errors) == 0 && !d.data.Verbatim { // an empty store is exported, too
			d.addError("", "the list %q is missing or empty: at least one is required", r)
		}
	}
	d.addCredentials(members[credentials])
	delete(members, credentials)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d.addUnknown(jsontext.Pointer("").AppendToken(name), "unknown list", append(names(d.lists), credentials, verbatimMember))
	}
	d.checkReferences()
}

// decodeDirectory adds Portico's countries and regions in place of missing lists. Countries
// have the numbers of their positions.
func (d *decoder) decodeDirectory(members object) {
	var directory object
	if err := json.Unmarshal(directoryJSON, &directory); err != nil {
		panic("dataset: directory.json: " + err.Error()) // the build is broken
	}
	for name, records := range directory {
		if _, given := members[name]; !given {
			members[name] = records
		}
	}
}

// A node is a record of a data set with the data that belongs to it.
type node struct {
	pointer jsontext.Pointer
	record  adapter.Record
	nested  map[string][]node // by member, of the forms one and list
	stores  []adapter.Level
	keys    map[string][]int64
	texts   map[string]string
}

// decodeList returns the records of a list, without elements that are not objects.
func (d *decoder) decodeList(s *shape, pointer jsontext.Pointer, raw jsontext.Value) []node {
	if raw == nil || raw.Kind() == 'n' {
		return nil
	}
	var values []jsontext.Value
	if err := json.Unmarshal(raw, &values); err != nil {
		d.addError(pointer, "must be a list of records")
		return nil
	}
	var nodes []node
	for i, v := range values {
		if n, ok := d.decodeNode(s, elementPointer(pointer, i), v); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// decodeNode decodes a record. ok is false if it is not an object.
func (d *decoder) decodeNode(s *shape, pointer jsontext.Pointer, raw jsontext.Value) (n node, ok bool) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		d.addError(pointer, "must be a record")
		return n, false
	}
	n = node{pointer: pointer, record: adapter.NewRecord(s.schema), nested: map[string][]node{}, keys: map[string][]int64{}, texts: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		m, known := s.find(name)
		switch {
		case known:
			d.decodeMember(&n, m, pointer.AppendToken(name), o[name])
		case name != comment:
			d.addUnknown(pointer.AppendToken(name), "unknown", names(s.members))
		}
	}
	for _, m := range s.members {
		raw, given := o[m.name]
		switch {
		case m.form == one && d.data.Verbatim: // not every product has a stock item
		case m.required && !given, m.required && m.form == one && raw.Kind() == 'n':
			d.addError(pointer.AppendToken(m.name), "missing")
		case m.required && m.attribute != nil && raw.Kind() == 'n':
			d.addError(pointer.AppendToken(m.name), "must have a value")
		case m.attribute != nil && n.record.Get(m.name).Kind() == adapter.Absent && !given:
			n.record.Set(m.name, m.fallback)
		}
	}
	return n, true
}

// decodeMember decodes a member into a node.
func (d *decoder) decodeMember(n *node, m *member, pointer jsontext.Pointer, raw jsontext.Value) {
	switch m.form {
	case value:
		n.record.Set(m.name, d.decodeValue(m, n.record.Schema, pointer, raw))
	case text:
		var s string
		if err := json.Unmarshal(raw, &s); err != nil || s == "" {
			d.addError(pointer, "must be a text")
		}
		n.texts[m.name] = s
	case keys:
		var ids []int64
		if err := json.Unmarshal(raw, &ids); err != nil {
			d.addError(pointer, "must be a list of ids of %s, such as [1, 2]", m.refers)
		}
		n.keys[m.name] = ids
	case one:
		if raw.Kind() == 'n' {
			return
		}
		if nested, ok := d.decodeNode(m.of, pointer, raw); ok {
			n.nested[m.name] = []node{nested}
		}
	case list:
		n.nested[m.name] = d.decodeList(m.of, pointer, raw)
		if m.attribute != nil {
			n.record.Set(m.name, recordsOf(n.nested[m.name]))
		}
	case byStore:
		n.stores = d.decodeStores(m, pointer, raw)
	}
}

// recordsOf returns the records of nodes as the value of an attribute.
func recordsOf(nodes []node) adapter.Value {
	var records []adapter.Record
	for _, n := range nodes {
		records = append(records, n.record)
	}
	return adapter.RecordsValue(records)
}

// decodeStores decodes the values of a record at store views, by their ids.
func (d *decoder) decodeStores(m *member, pointer jsontext.Pointer, raw jsontext.Value) []adapter.Level {
	var stores map[string]jsontext.Value
	if err := json.Unmarshal(raw, &stores); err != nil {
		d.addError(pointer, `must be an object of values by the ids of store views, such as {"2": {…}}`)
	}
	delete(stores, comment)
	var levels []adapter.Level
	for _, name := range slices.SortedFunc(maps.Keys(stores), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }) {
		pointer := pointer.AppendToken(name)
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil || id < 1 || strconv.FormatInt(id, 10) != name {
			d.addError(pointer, "must be the id of a store view")
			continue
		}
		d.references = append(d.references, reference{pointer, m.refers, id})
		if n, ok := d.decodeNode(m.of, pointer, stores[name]); ok {
			levels = append(levels, adapter.Level{StoreID: id, Record: n.record})
		}
	}
	return levels
}
