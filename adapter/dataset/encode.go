package dataset

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// An Encoder writes a verbatim data set, one record in a line. It holds one record in
// memory.
type Encoder struct {
	out     *bufio.Writer
	lists   []member
	content func(file string) (Content, error)
}

// Content is the location of the bytes of an image: the path of a file below the folder of
// the data set, or the bytes themselves. Both are empty if they are lost.
type Content struct {
	Path  string
	Bytes []byte
}

// NewEncoder returns an encoder of records with the given schemas. It calls content for the
// bytes of each image, by its file.
func NewEncoder(out io.Writer, schemas *adapter.Schemas, content func(file string) (Content, error)) *Encoder {
	e := &Encoder{out: bufio.NewWriter(out), lists: newFormat(schemas), content: content}
	_, _ = e.out.WriteString(`{"verbatim":true`) // Close returns the error
	return e
}

// Lists returns the resources that have lists, in their order.
func (e *Encoder) Lists() []adapter.Resource {
	var all []adapter.Resource
	for _, l := range e.lists {
		if r := l.of.schema.Resource; r != consumers && r != roles {
			all = append(all, r)
		}
	}
	return all
}

// list returns the list of a resource.
func (e *Encoder) list(r adapter.Resource) *member {
	return &e.lists[slices.IndexFunc(e.lists, func(l member) bool { return l.of.schema.Resource == r })]
}

// WriteList writes the list of a resource. next returns the records after a key, like
// [adapter.Exporter], and none at the end.
func (e *Encoder) WriteList(r adapter.Resource, next func(after adapter.Key) ([]adapter.Aggregate, error)) error {
	l := e.list(r)
	_, _ = e.out.WriteString(",\n\"" + l.name + "\":[")
	for after, first := adapter.Key(-1), true; ; {
		batch, err := next(after)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			break
		}
		for _, a := range batch {
			if err := e.write(l.of, a, first); err != nil {
				return err
			}
			first = false
		}
		after = batch[len(batch)-1].Record.Key()
	}
	_, err := e.out.WriteString("]")
	return err
}

// write writes one record.
func (e *Encoder) write(s *shape, a adapter.Aggregate, first bool) error {
	n, err := e.nodeOf(s, a)
	if err != nil {
		return err
	}
	text, err := json.Marshal(s.encode(n))
	if err != nil {
		return err
	}
	separator := ",\n"
	if first {
		separator = "\n"
	}
	_, _ = e.out.WriteString(separator)
	_, err = e.out.Write(text)
	return err
}

// WriteConsumers writes client programs with their valid tokens.
func (e *Encoder) WriteConsumers(grants []adapter.Grant) error {
	l := e.list(consumers)
	schema := l.of.schema
	member, _ := l.of.find(string(tokens))
	var all []adapter.Aggregate
	for i, g := range grants {
		one := adapter.Aggregate{Record: textRecord(schema, map[string]string{
			"name": g.Consumer.Name, "key": g.Consumer.Key, "secret": g.Consumer.Secret, "callback": g.Consumer.Callback, "rejected_callback": g.Consumer.RejectedCallback,
		})}
		one.Record.Set(schema.Key, adapter.IntegerValue(int64(i)))
		for _, t := range g.Tokens {
			if t.Type != adapter.AccessToken || t.Revoked {
				continue
			}
			r := textRecord(member.of.schema, map[string]string{
				"token": t.Token, "secret": t.Secret, "verifier": t.Verifier, "created_at": t.CreatedAt.UTC().Format(time.DateTime),
			})
			if t.AdminID != 0 {
				r.Set("admin_id", adapter.IntegerValue(t.AdminID))
			} else {
				r.Set("customer_id", adapter.IntegerValue(t.CustomerID))
			}
			one.Parts = append(one.Parts, r)
		}
		all = append(all, one)
	}
	return e.WriteList(consumers, func(after adapter.Key) ([]adapter.Aggregate, error) { return all[after+1:], nil })
}

// Close ends the data set. It does not close the writer.
func (e *Encoder) Close() error {
	_, _ = e.out.WriteString("}\n")
	return e.out.Flush()
}

// nodeOf returns an exported record in the form of the data set.
func (e *Encoder) nodeOf(s *shape, a adapter.Aggregate) (n node, err error) {
	n = node{record: a.Record, nested: map[string][]node{}, keys: map[string][]int64{}}
	levels := levelsByRecord(a.Levels)
	n.stores = levels[recordID{a.Record.Schema.Resource, a.Record.Key()}]
	pointed := takePointers(n.stores)
	for _, part := range a.Parts {
		p := node{record: part}
		switch r := part.Schema.Resource; r {
		case adapter.ProductWebsites:
			n.keys["websites"] = append(n.keys["websites"], part.Get("website_id").Int())
			continue
		case adapter.ProductImages:
			if p, err = e.imageOf(part, levels[recordID{r, part.Key()}], pointed); err != nil {
				return n, err
			}
		}
		if m := s.holder(part.Schema.Resource); m != nil {
			n.nested[m.name] = append(n.nested[m.name], p)
		}
	}
	if len(n.stores) > 0 && n.stores[0].StoreID == 0 { // pointers to no image
		n.record = n.record.Clone()
		for _, name := range rules.ImageTypes() {
			n.record.Set(rules.PointerTo(name), n.stores[0].Record.Get(rules.PointerTo(name)))
		}
		n.stores = n.stores[1:]
	}
	return n, nil
}

// holder returns the member that holds the parts of a resource.
func (s *shape) holder(r adapter.Resource) *member {
	at := slices.IndexFunc(s.members, func(m member) bool { return (m.form == one || m.form == list) && m.of.schema.Resource == r })
	if at < 0 {
		return nil
	}
	return &s.members[at]
}

// A recordID identifies a record of any resource.
type recordID struct {
	resource adapter.Resource
	key      adapter.Key
}

// levelsByRecord returns copies of scoped values by their record, sorted by store view.
func levelsByRecord(levels []adapter.Level) map[recordID][]adapter.Level {
	all := map[recordID][]adapter.Level{}
	for _, l := range levels {
		id := recordID{l.Record.Schema.Resource, l.Record.Key()}
		all[id] = append(all[id], adapter.Level{StoreID: l.StoreID, Record: l.Record.Clone()})
	}
	for _, of := range all {
		slices.SortFunc(of, func(a, b adapter.Level) int { return cmp.Compare(a.StoreID, b.StoreID) })
	}
	return all
}

// A pointer is a type of an image at a scope.
type pointer struct {
	store int64
	name  string
}

// takePointers removes the pointers that point to an image from the scoped values of a
// product, and returns their images.
func takePointers(levels []adapter.Level) map[pointer]int64 {
	pointed := map[pointer]int64{}
	for _, l := range levels {
		for _, name := range rules.ImageTypes() {
			attribute := rules.PointerTo(name)
			if v := l.Record.Get(attribute); v.Kind() == adapter.Integer {
				pointed[pointer{l.StoreID, name}] = v.Int()
				l.Record.Set(attribute, adapter.Value{})
			}
		}
	}
	return pointed
}

// imageOf returns an image with its scoped values and types.
func (e *Encoder) imageOf(image adapter.Record, levels []adapter.Level, pointed map[pointer]int64) (n node, err error) {
	n = node{record: image.Clone(), texts: map[string]string{}}
	at := func(store int64) adapter.Record {
		if store == 0 {
			return n.record
		}
		i := slices.IndexFunc(n.stores, func(l adapter.Level) bool { return l.StoreID == store })
		if i < 0 {
			i = len(n.stores)
			n.stores = append(n.stores, adapter.Level{StoreID: store, Record: adapter.NewRecord(image.Schema)})
		}
		return n.stores[i].Record
	}
	for _, l := range levels {
		for _, name := range []string{"label", "position", "exclude"} {
			if v := l.Record.Get(name); !v.Empty() && v.Text() != "" { // an empty label counts as missing
				at(l.StoreID).Set(name, v)
			}
		}
	}
	for _, name := range rules.ImageTypes() {
		for to, id := range pointed {
			if to.name == name && id == image.Get("id").Int() {
				r := at(to.store)
				r.Set("types", adapter.TextsValue(append(slices.Clone(r.Get("types").Texts()), name)))
			}
		}
	}
	slices.SortFunc(n.stores, func(a, b adapter.Level) int { return cmp.Compare(a.StoreID, b.StoreID) })
	content, err := e.content(image.Get("file").Text())
	if content.Path != "" {
		n.texts["path"] = content.Path
	} else if len(content.Bytes) > 0 {
		n.texts["content"] = base64.StdEncoding.EncodeToString(content.Bytes)
	}
	return n, err
}

// encode returns a record as a JSON object.
func (s *shape) encode(n node) ordered {
	o := ordered{}
	for i := range s.members {
		m := &s.members[i]
		var v any
		switch m.form {
		case value:
			v = encodeValue(n.record.Schema, n.record.Get(m.name))
		case text:
			if t := n.texts[m.name]; t != "" {
				v = t
			}
		case keys:
			if len(n.keys[m.name]) > 0 {
				v = n.keys[m.name]
			}
		case byStore:
			v = m.encodeStores(n.stores)
		default:
			v = m.encodeNested(n)
		}
		if v != nil {
			o = append(o, field{m.name, v})
		}
	}
	return o
}

// encodeValue returns the JSON value of a value; nil if the data set leaves it out, as null
// is the same as absent for most records.
func encodeValue(s *adapter.Schema, v adapter.Value) any {
	switch v.Kind() {
	case adapter.Integer:
		return v.Int()
	case adapter.Text:
		return v.Text()
	case adapter.Texts:
		return v.Texts()
	case adapter.Null:
		if s.DistinctNulls {
			return jsontext.Value("null")
		}
	}
	return nil
}

// encodeStores returns the scoped values by the ids of their store views.
func (m *member) encodeStores(levels []adapter.Level) any {
	var o ordered
	for _, l := range levels {
		if values := m.of.encode(node{record: l.Record}); len(values) > 0 {
			o = append(o, field{strconv.FormatInt(l.StoreID, 10), values})
		}
	}
	if len(o) == 0 {
		return nil
	}
	return o
}

// encodeNested returns records in a record. It leaves out the keys of prices and of
// assignments, which are never visible.
func (m *member) encodeNested(n node) any {
	nodes := n.nested[m.name]
	for _, r := range n.record.Get(m.name).Records() {
		nodes = append(nodes, node{record: r})
	}
	var all []ordered
	for _, nested := range nodes {
		o := m.of.encode(nested)
		if m.attribute != nil || m.of.schema.Resource == adapter.ProductCategories {
			o = slices.DeleteFunc(o, func(f field) bool { return f.name == m.of.schema.Key })
		}
		all = append(all, o)
	}
	switch {
	case len(all) == 0:
		return nil
	case m.form == one:
		return all[0]
	}
	return all
}

// textRecord returns a record with the texts that are not empty.
func textRecord(schema *adapter.Schema, texts map[string]string) adapter.Record {
	r := adapter.NewRecord(schema)
	for name, s := range texts {
		if s != "" {
			r.Set(name, adapter.TextValue(s))
		}
	}
	return r
}

// An ordered is a JSON object whose members keep their order.
type ordered []field

// A field is a member of a JSON object.
type field struct {
	name  string
	value any
}

// MarshalJSONTo writes the members.
func (o ordered) MarshalJSONTo(out *jsontext.Encoder) error {
	if err := out.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, f := range o {
		if err := out.WriteToken(jsontext.String(f.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(out, f.value); err != nil {
			return err
		}
	}
	return out.WriteToken(jsontext.EndObject)
}
