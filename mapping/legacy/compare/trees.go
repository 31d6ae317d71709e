package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A scope is a position in a body, and how to report differences there.
type scope struct {
	field   string          // "" at the top
	route   *contract.Route // the resource of the records here; nil below the top
	fields  *contract.FieldTable
	unnamed string // names below field that are not part of the contract, separated by dots
	// settled: all differences below are reported under the name field.
	settled bool
	// integer: a value here may come from an integer column. At a field of the contract it does.
	integer bool
	private bool // as Difference.Private
	record  string
	depth   int // number of enclosing lists
}

// rootScope returns the scope of a whole body.
func rootScope(route *contract.Route) scope { return scope{route: route, private: personal(route)} }

// personal reports whether unknown data may be personal.
func personal(route *contract.Route) bool { return route == nil || route.Personal() }

// within returns the scope of the field called name.
func (s scope) within(name string) scope {
	if field, known := s.find(name); known {
		s.private = field.Private() || s.private && s.field != ""
		s.field = join(s.field, name)
		s.route, s.fields, s.integer = nil, field.Part, field.Integer
		return s
	}
	if s.settled = true; s.field == "" {
		s.field = "other"
	}
	if s.field != "messages" {
		s.integer = true
		s.unnamed = cut(join(s.unnamed, name), maxKey)
	}
	return s
}

// find returns the contract's field called name in this scope, and whether there is one.
func (s scope) find(name string) (*contract.Field, bool) {
	switch {
	case s.settled:
	case s.route != nil:
		return s.route.Field(name)
	case s.fields != nil:
		if i, ok := s.fields.Index(name); ok {
			return &s.fields.Fields[i], true
		}
	}
	return nil, false
}

// of returns the scope of the record with the given key.
func (s scope) of(key string) scope {
	if s.record != "" {
		key = s.record + "/" + key
	}
	s.record = printable(cut(key, maxKey))
	s.depth++
	return s
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// value returns the description of a value in this scope.
func (s scope) value(n *codec.Node) *string {
	text := describe(n)
	if s.unnamed != "" {
		text = printable(s.unnamed) + ": " + text
	}
	return &text
}

// describe describes a value. Records and lists are described by their size, because their
// content may be confidential.
func describe(n *codec.Node) string {
	switch n.Kind {
	case codec.Null:
		return "null"
	case codec.False:
		return "false"
	case codec.True:
		return "true"
	case codec.Number:
		return cut(n.Text, maxValue)
	case codec.Text:
		return quote(n.Text)
	}
	if isList(n) {
		return fmt.Sprintf("list of %d", len(n.Members))
	}
	return fmt.Sprintf("record of %d", len(n.Members))
}

// printable returns a name with escapes for invisible characters.
func printable(s string) string { return strings.Trim(strconv.Quote(s), `"`) }

// trees adds the differences of two bodies.
func (d *differ) trees(route *contract.Route, a, b *codec.Node) {
	top := rootScope(route)
	failedA, failedB := isEnvelope(a), isEnvelope(b)
	if failedA || failedB {
		top.field, top.settled = "messages", true
	}
	if failedA != failedB {
		describeReply := func(n *codec.Node, failed bool) *string {
			if !failed {
				return top.value(n)
			}
			return new(cut(string(codec.Append(nil, contract.JSON, "", n, false)), maxValue))
		}
		d.differ(top, describeReply(a, failedA), describeReply(b, failedB))
		return
	}
	d.values(top, a, b)
	d.addIntegers()
}

// isEnvelope reports whether a body is an error envelope (wire 8).
func isEnvelope(n *codec.Node) bool { return len(n.Members) == 1 && n.Members[0].Key == "messages" }

// values adds the differences of two values. The codec limits the depth of the recursion.
func (d *differ) values(at scope, a, b *codec.Node) {
	structs := a.Kind == codec.Struct && b.Kind == codec.Struct
	switch {
	case structs && isList(a) && isList(b):
		d.lists(at, a, b)
	case structs && !isList(a) && !isList(b):
		d.records(at, a, b)
	case !structs && a.Kind == b.Kind && a.Text == b.Text:
		d.sameForm = d.sameForm || at.integer && !at.settled && (a.Kind == codec.Number || a.Kind == codec.Text)
	case at.integer && a.Text == b.Text && codec.IsCanonicalNumber(a.Text): // of a number and a text
		d.otherForm(at, a, b)
	case !structs && d.sameTime(a, b):
		d.tolerated = true
	default:
		d.differ(at, at.value(a), at.value(b))
	}
}

// otherForm notes an integer that is a number in one answer and a text in the other.
func (d *differ) otherForm(at scope, a, b *codec.Node) {
	numbersOf := 0
	if a.Kind == codec.Text {
		numbersOf = 1
	}
	found := Difference{cmp.Or(at.field, "body"), at.record, at.private, at.value(a), at.value(b)}
	if d.options.Ignores(found.Field) {
		d.tolerated = true
	} else if len(d.integers[numbersOf]) < d.options.MaxPerField()*maxFields {
		d.integers[numbersOf] = append(d.integers[numbersOf], found)
	}
}

// addIntegers adds the integers in another form: as one difference, which names the setting, if no
// integer column has the same form in both answers.
func (d *differ) addIntegers() {
	legacy, candidate := d.integers[0], d.integers[1]
	if d.sameForm || len(legacy) > 0 && len(candidate) > 0 {
		for _, found := range append(legacy, candidate...) {
			d.add(found)
		}
		return
	}
	for i, all := range d.integers {
		if len(all) > 0 {
			forms := [2]string{"numbers", "texts"}
			d.add(Difference{
				Field: Integers, Record: all[0].Record,
				Legacy:    new(forms[i] + ", such as " + all[0].Field),
				Candidate: new(forms[1-i] + ": set store.integers to " + strings.TrimSuffix(forms[i], "s")),
			})
		}
	}
}

// differ adds a difference between values.
func (d *differ) differ(at scope, legacy, candidate *string) {
	field := cmp.Or(at.field, "body")
	d.add(Difference{field, at.record, at.private, legacy, candidate})
}

// sameTime reports whether both values are times in the same format whose difference
// Options.Clock ignores.
func (d *differ) sameTime(a, b *codec.Node) bool {
	if d.options.Clock == 0 || a.Kind != codec.Text || b.Kind != codec.Text {
		return false
	}
	for _, form := range []string{time.DateTime, time.RFC3339} {
		atA, errA := time.Parse(form, a.Text)
		atB, errB := time.Parse(form, b.Text)
		if errA == nil && errB == nil {
			return atA.Sub(atB).Abs() <= d.options.Clock
		}
	}
	return false
}

// records adds the differences of two records.
func (d *differ) records(at scope, a, b *codec.Node) {
	ofB := places(b.Members, func(i int) string { return b.Members[i].Key })
	var inA, inB []int // positions of the fields that both records have
	for i := range a.Members {
		name := a.Members[i].Key
		in := at.within(name)
		j, ok := ofB[name]
		if !ok {
			d.differ(in, in.value(&a.Members[i].Value), nil)
			continue
		}
		inA = append(inA, j)
		d.values(in, &a.Members[i].Value, &b.Members[j].Value)
	}
	inB = slices.Sorted(slices.Values(inA))
	if len(inB) < len(b.Members) {
		shared := make([]bool, len(b.Members))
		for _, j := range inB {
			shared[j] = true
		}
		for j := range b.Members {
			if !shared[j] {
				in := at.within(b.Members[j].Key)
				d.differ(in, nil, in.value(&b.Members[j].Value))
			}
		}
	}
	d.order(Difference{Field: "rendering", Record: at.record}, inA, func(j int) string { return b.Members[j].Key })
}

// order adds a difference if entries that both systems have are in a different order. places holds
// the candidate's positions in the legacy store's order.
func (d *differ) order(found Difference, places []int, name func(place int) string) {
	if slices.IsSorted(places) {
		return
	}
	if d.options.Unordered {
		d.tolerated = true
		return
	}
	orderOf := func(places []int) *string {
		b := strings.Builder{}
		for _, j := range places {
			if b.Len() > maxValue {
				break
			}
			b.WriteString(" " + printable(name(j)))
		}
		return new("order" + cut(b.String(), maxValue))
	}
	found.Legacy, found.Candidate = orderOf(places), orderOf(slices.Sorted(slices.Values(places)))
	d.add(found)
}

// places returns the position of each key of a list.
func places[T any](all []T, key func(int) string) map[string]int {
	found := make(map[string]int, len(all))
	for i := range all {
		found[key(i)] = i
	}
	return found
}
