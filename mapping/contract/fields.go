package contract

import "slices"

// A RoleSet is a set of roles.
type RoleSet uint8

// Has reports whether role is in s.
func (s RoleSet) Has(role Role) bool { return s>>role&1 == 1 }

const (
	onlyAdmin RoleSet = 1 << Admin
	// shoppers see the storefront's view of products.
	shoppers RoleSet = 1<<Customer | 1<<Guest
	noRole   RoleSet = 0
)

// A View is one of the ways a resource's records are shown. The document gives
// some lists of fields for one format only; text/plain shows what JSON does.
type View uint8

const (
	ListJSON   View = iota // an element of a list, in JSON
	ListXML                // an element of a list, in XML
	SingleJSON             // a record of its own, in JSON
	SingleXML              // a record of its own, in XML
	// InCategory: a product in the list of one category, in any format, in the
	// dialects that have such a view.
	InCategory
	views
)

// ListView returns the view of a list's elements in f.
func ListView(f Format) View {
	if f == XML {
		return ListXML
	}
	return ListJSON
}

// SingleView returns the view of a record of its own in f.
func SingleView(f Format) View {
	if f == XML {
		return SingleXML
	}
	return SingleJSON
}

// A Field is one row of a resource's table of fields.
type Field struct {
	// Name is the field's name on the wire.
	Name string
	// Attribute names the attribute of the resource's schema it shows; "" for a
	// field that is computed.
	Attribute string
	// Native integers are numbers on the wire; others are texts, as the
	// original reads them from its database (Conventions 2).
	Native bool
	// Read holds the roles that may read the field, and filter and sort by it.
	Read RoleSet
	// ReadShown holds the roles that may read the field, and no more than that,
	// in the views that show it unasked.
	ReadShown RoleSet
	// Sort and Filter say what ordering and filtering a list by the field does.
	Sort   Sorting
	Filter Filtering
	// Write holds the roles whose values for it are taken; those of others are
	// dropped unseen.
	Write RoleSet
	// RefusedEmpty: read-only, and yet refused when a batch sends it empty, in
	// the dialects that refuse empty values (Batch PUT response).
	RefusedEmpty bool
	// Rules are checked in order on a value sent, and all failures reported.
	Rules []Rule

	shown [columns]shown
}

// shown says in which views a field appears unasked.
type shown uint8

const (
	inList     shown = 1<<ListJSON | 1<<ListXML
	inSingle   shown = 1<<SingleJSON | 1<<SingleXML
	inBoth           = inList | inSingle
	inCategory shown = 1 << InCategory
	// hidden fields may be filtered and sorted by, but are never returned.
	hidden shown = 1 << views
)

// Shown reports whether dialect d shows the field in view v when the caller
// names no fields.
func (f *Field) Shown(d *Dialect, v View) bool { return f.shown[d.column]>>v&1 == 1 }

// Readable reports whether role may read the field in view v of dialect d.
func (f *Field) Readable(d *Dialect, role Role, v View) bool {
	return !f.Hidden(d) && (f.Read.Has(role) || f.ReadShown.Has(role) && f.Shown(d, v))
}

// Hidden reports whether the field is never returned, whatever the caller asks.
func (f *Field) Hidden(d *Dialect) bool { return f.shown[d.column]&hidden != 0 }

// A Sorting is what order does with a field (wire 10).
type Sorting uint8

const (
	// Sorts: by the value of the attribute.
	Sorts Sorting = iota
	// SortsByDir: the same, but without a direction the original dies.
	SortsByDir
	// SortsNothing: accepted, and records stay by ascending id.
	SortsNothing
	// SortCrash: the original dies.
	SortCrash
)

// A Filtering is what a condition on a field does (wire 10).
type Filtering uint8

const (
	// Filters: by the value of the attribute.
	Filters Filtering = iota
	// FiltersAll: no record matches, whatever the condition says.
	FiltersAll
	// FiltersNothing: every record matches.
	FiltersNothing
	// Unfilterable: refused as a field that cannot be read.
	Unfilterable
)

// A Check is what a [Rule] demands of a value.
type Check uint8

const (
	// Between: by value from Min to Max; a text that is no number is compared
	// with both byte by byte.
	Between Check = iota
	// Float: a number, whose text may group its digits by commas.
	Float
	// Whole: a number without a fraction.
	Whole
	// OneCharacter: a single character of Set, or a number that reads as one.
	OneCharacter
)

// A Rule is one check of a field and the message of its failure. In Message
// {value} stands for the value sent; the field's name and a colon are put
// before it.
type Rule struct {
	Check    Check
	Min, Max string // Between: limits as decimal texts
	Set      string // OneCharacter
	Message  string
}

// A FieldTable holds the fields of a resource in their order on the wire.
type FieldTable struct {
	Fields []Field
	index  map[string]int
	// orders holds, for views whose order is not that of Fields, the places of
	// their fields; fields that are not named follow in the order of Fields.
	orders [columns][views][]int
}

func newFieldTable(fields []Field) *FieldTable {
	t := &FieldTable{Fields: fields, index: make(map[string]int, len(fields))}
	for i := range fields {
		t.index[fields[i].Name] = i
	}
	for c := range t.orders {
		for v := range t.orders[c] {
			t.orders[c][v] = t.completed(nil)
		}
	}
	return t
}

// Index returns the place of the field called name in Fields. Names are
// case-sensitive.
func (t *FieldTable) Index(name string) (int, bool) { i, ok := t.index[name]; return i, ok }

// Order returns the places of all fields in the order of view v in dialect d.
func (t *FieldTable) Order(d *Dialect, v View) []int { return t.orders[d.column][v] }

// View returns the places of the fields that view v of dialect d shows unasked,
// in its order.
func (t *FieldTable) View(d *Dialect, v View) []int {
	var fields []int
	for _, i := range t.Order(d, v) {
		if t.Fields[i].Shown(d, v) {
			fields = append(fields, i)
		}
	}
	return fields
}

// AskedOrder returns the places of all fields in the order in which view v shows
// those a caller names: the original's, in every dialect (products 3.2).
func (t *FieldTable) AskedOrder(v View) []int { return t.orders[magento][v] }

// arrange shows the named fields, and only them, in the views of dialect c that
// s holds, and puts them in this order.
func (t *FieldTable) arrange(c column, s shown, names ...string) {
	for i := range t.Fields {
		t.Fields[i].shown[c] &^= s
	}
	order := make([]int, 0, len(t.Fields))
	for _, name := range names {
		at, ok := t.index[name]
		if !ok {
			panic("contract: no field " + name)
		}
		t.Fields[at].shown[c] |= s
		order = append(order, at)
	}
	for v := range views {
		if s>>v&1 == 1 {
			t.orders[c][v] = t.completed(order)
		}
	}
}

// completed adds the fields that order lacks.
func (t *FieldTable) completed(order []int) []int {
	all := slices.Clone(order)
	for i := range t.Fields {
		if !slices.Contains(order, i) {
			all = append(all, i)
		}
	}
	return all
}
