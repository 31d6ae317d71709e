package contract

import "slices"

// A RoleSet is a set of roles.
type RoleSet uint8

// Has reports whether role is in s.
func (s RoleSet) Has(role Role) bool { return s>>role&1 == 1 }

const (
	noRole           RoleSet = 0
	onlyAdmin        RoleSet = 1 << Admin
	onlyCustomer     RoleSet = 1 << Customer
	adminAndCustomer RoleSet = onlyAdmin | onlyCustomer
	everybody        RoleSet = onlyAdmin | shoppers
	// shoppers see products as the storefront does.
	shoppers RoleSet = onlyCustomer | 1<<Guest
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

// InList reports whether v shows the elements of a list of records.
func (v View) InList() bool { return inList.in(v) }

// ListView returns the view of a list's elements in f.
func ListView(f Format) View {
	if f == XML {
		return ListXML
	}
	return ListJSON
}

// View returns the view of r's records in f.
func (r *Route) View(f Format) View {
	if r.Shape == Collection {
		return ListView(f)
	}
	return SingleView(f)
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
	// original reads them from its database (contract 2, convention 2).
	Native bool
	// EmptyText: without a value the field is present as an empty text, in every
	// dialect (rulings 2).
	EmptyText bool
	// Read holds the roles that may read the field, and filter and sort by it,
	// unless a dialect withholds it from them.
	Read RoleSet
	// Sort and Filter say what ordering and filtering a list by the field does.
	Sort   Sorting
	Filter Filtering
	// Write holds the roles whose values for it are taken; those of others are
	// dropped unseen.
	Write RoleSet
	// Personal: the value tells of a person. Secret: whoever has it can use it.
	// Neither is to be seen in logs, recordings and reports.
	Personal, Secret bool
	// Part holds the fields of the records that the field holds; nil where it holds
	// a value.
	Part *FieldTable
	// RefusedEmpty: read-only, and yet refused when a batch sends it empty, in
	// the dialects that refuse empty values (contract 5.8).
	RefusedEmpty bool
	// OnceStored: until a value is stored the field is missing, in every dialect
	// (contract 3.1, on custom attributes).
	OnceStored bool
	// Rules are checked in order on a value sent, and all failures reported.
	Rules []Rule

	shown [columns]shown
	// withheld holds the roles of Read that a dialect keeps the field from.
	withheld [columns]RoleSet
	// isoTime holds the views that write the time in the form of ISO 8601.
	isoTime [columns]shown
	// lacking holds the views whose records are without the field, whatever is
	// stored and even when a caller names it.
	lacking [columns]shown
	// alsoWrite holds further roles whose values a dialect takes.
	alsoWrite [columns]RoleSet
	// alsoRead holds further roles that may read the field, in the views that show
	// it unasked, but neither filter nor sort by it.
	alsoRead [columns]RoleSet
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

func (s shown) in(v View) bool { return s>>v&1 == 1 }

// Queryable reports whether role may filter and sort by the field in dialect d.
func (f *Field) Queryable(d *Dialect, role Role) bool {
	return f.Read.Has(role) && !f.withheld[d.column].Has(role)
}

// Readable reports whether role may read the field in view v of dialect d.
func (f *Field) Readable(d *Dialect, role Role, v View) bool {
	return !f.Hidden(d) && (f.Queryable(d, role) || f.alsoRead[d.column].Has(role) && f.Shown(d, v))
}

// Writable reports whether dialect d takes a value for the field from role.
func (f *Field) Writable(d *Dialect, role Role) bool {
	return f.Write.Has(role) || f.alsoWrite[d.column].Has(role)
}

// Shown reports whether dialect d shows the field in view v when the caller
// names no fields.
func (f *Field) Shown(d *Dialect, v View) bool { return f.shown[d.column].in(v) }

// ISOTime reports whether dialect d writes the field's time in view v as
// 2006-01-02T15:04:05+00:00; otherwise times are written as they are stored.
func (f *Field) ISOTime(d *Dialect, v View) bool { return f.isoTime[d.column].in(v) }

// Lacking reports whether the records of view v are without the field in dialect
// d, whatever is stored.
func (f *Field) Lacking(d *Dialect, v View) bool { return f.lacking[d.column].in(v) }

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
	// SortsAsNull: the same, and in the dialects of [Dialect.OrderedByNull] every
	// record shows the field, as null.
	SortsAsNull
	// Unsortable: refused as a field that cannot be read.
	Unsortable
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
	// FilterCrash: the original dies.
	FilterCrash
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

// A FieldTable holds the fields of a resource.
type FieldTable struct {
	Fields []Field
	// EmptyIsNull: a text without characters is shown as null, in every dialect.
	EmptyIsNull bool

	// unfilled names what roles may read and no record has (wire 10).
	unfilled []unfilledNames
	// tail names fields that the original writes behind all stored attributes of
	// its EAV records: the first of them in a view ends the attributes there.
	tail   []string
	index  map[string]int
	orders [columns][views][]int // the places of all fields
}

// newFieldTable returns a table whose views write the fields in the given order.
func newFieldTable(fields []Field) *FieldTable {
	t := &FieldTable{Fields: fields, index: make(map[string]int, len(fields))}
	places := make([]int, len(fields))
	for i := range fields {
		t.index[fields[i].Name] = i
		places[i] = i
	}
	for c := range t.orders {
		for v := range t.orders[c] {
			t.orders[c][v] = places
		}
	}
	return t
}

// arrange makes the views of dialect c that in holds show the named fields
// unasked, and no others, in this order. The rest follows in the order of the
// table.
func (t *FieldTable) arrange(c column, in shown, names ...string) {
	order := make([]int, 0, len(t.Fields))
	for _, name := range names {
		at, ok := t.index[name]
		if !ok {
			panic("contract: no field " + name)
		}
		order = append(order, at)
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		if slices.Contains(names, f.Name) {
			f.shown[c] |= in
			continue
		}
		f.shown[c] &^= in
		order = append(order, i)
	}
	for v := range views {
		if in.in(v) {
			t.orders[c][v] = order
		}
	}
}

// add adds a field. The original writes it with the stored attributes; views of
// the document, which lists no such fields, behind those they show.
func (t *FieldTable) add(f Field) {
	at := len(t.Fields)
	t.Fields = append(t.Fields, f)
	t.index[f.Name] = at
	insert := func(c column, v View, before func(*Field) bool) {
		order := t.orders[c][v]
		place := slices.IndexFunc(order, func(i int) bool { return before(&t.Fields[i]) })
		if place < 0 {
			place = len(order)
		}
		t.orders[c][v] = slices.Insert(slices.Clone(order), place, at)
	}
	for v := range views {
		insert(documented, v, func(f *Field) bool { return !f.shown[documented].in(v) })
		insert(magento, v, func(f *Field) bool { return slices.Contains(t.tail, f.Name) })
	}
}

// unfilledNames are names that some roles may read and no record has.
type unfilledNames struct {
	roles RoleSet
	names []string
}

// leaveUnfilled adds names that roles may ask for and never get a value of.
func (t *FieldTable) leaveUnfilled(roles RoleSet, names ...string) {
	t.unfilled = append(t.unfilled, unfilledNames{roles, names})
}

// Unfilled reports whether role may read name and no record ever has it: naming it
// selects nothing, and is no error (wire 10).
func (t *FieldTable) Unfilled(name string, role Role) bool {
	return slices.ContainsFunc(t.unfilled, func(u unfilledNames) bool { return u.roles.Has(role) && slices.Contains(u.names, name) })
}

// mark sets the flags of the named fields, which the table must have.
func (t *FieldTable) mark(set func(*Field), names ...string) {
	for _, name := range names {
		at, ok := t.index[name]
		if !ok {
			panic("contract: no field " + name)
		}
		set(&t.Fields[at])
	}
}

func personal(f *Field) { f.Personal = true }
func secret(f *Field)   { f.Secret = true }

// Private reports whether the values of the field are to be masked wherever others
// than its caller see them.
func (f *Field) Private() bool { return f.Personal || f.Secret }

// Index returns the place of the field called name in Fields. Names are
// case-sensitive.
func (t *FieldTable) Index(name string) (int, bool) { i, ok := t.index[name]; return i, ok }

// Order returns the places of all fields in Fields, as view v of dialect d writes
// them. It must not be changed.
func (t *FieldTable) Order(d *Dialect, v View) []int { return t.orders[d.column][v] }

// AskedOrder returns the places of all fields in the order in which view v shows
// those a caller names: the original's, in every dialect (products 3.2). It must
// not be changed.
func (t *FieldTable) AskedOrder(v View) []int { return t.orders[magento][v] }
