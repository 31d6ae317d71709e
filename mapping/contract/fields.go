package contract

// A RoleSet is a set of roles.
type RoleSet uint8

// Has reports whether role is in s.
func (s RoleSet) Has(role Role) bool { return s>>role&1 == 1 }

const (
	onlyAdmin RoleSet = 1 << Admin
	noRole    RoleSet = 0
)

// A View is one of the ways a resource's records are shown. The document gives
// some lists of fields for one format only; text/plain shows what JSON does.
type View uint8

const (
	ListJSON   View = iota // an element of a list, in JSON
	ListXML                // an element of a list, in XML
	SingleJSON             // a record of its own, in JSON
	SingleXML              // a record of its own, in XML
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
	// OrderFault and FilterFault are what sorting and filtering by the field cost
	// a role that may read it; 0 is nothing: the list is sorted and filtered.
	OrderFault, FilterFault FaultKey
	// Write holds the roles whose values for it are taken; those of others are
	// dropped unseen.
	Write RoleSet
	// RefusedEmpty: read-only, and yet refused when a batch sends it empty, in
	// the dialects that refuse empty values (Batch PUT response).
	RefusedEmpty bool
	// Rules are checked in order on a value sent, and all failures reported.
	Rules []Rule

	shown [columns]shown
	// alsoRead holds further roles that may read the field in a dialect, but
	// neither filter nor sort by it.
	alsoRead [columns]RoleSet
}

// shown says in which views a field appears unasked.
type shown uint8

const (
	inList   shown = 1<<ListJSON | 1<<ListXML
	inSingle shown = 1<<SingleJSON | 1<<SingleXML
	inBoth         = inList | inSingle
	// hidden fields may be filtered and sorted by, but are never returned.
	hidden shown = 1 << views
)

// Readable reports whether role may read the field in dialect d.
func (f *Field) Readable(d *Dialect, role Role) bool {
	return f.Read.Has(role) || f.alsoRead[d.column].Has(role)
}

// Shown reports whether dialect d shows the field in view v when the caller
// names no fields.
func (f *Field) Shown(d *Dialect, v View) bool { return f.shown[d.column]>>v&1 == 1 }

// Hidden reports whether the field is never returned, whatever the caller asks.
func (f *Field) Hidden(d *Dialect) bool { return f.shown[d.column]&hidden != 0 }

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
}

func newFieldTable(fields []Field) *FieldTable {
	t := &FieldTable{Fields: fields, index: make(map[string]int, len(fields))}
	for i := range fields {
		t.index[fields[i].Name] = i
	}
	return t
}

// Index returns the place of the field called name in Fields. Names are
// case-sensitive.
func (t *FieldTable) Index(name string) (int, bool) { i, ok := t.index[name]; return i, ok }
