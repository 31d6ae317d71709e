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
	// shoppers see products as the storefront shows them.
	shoppers RoleSet = onlyCustomer | 1<<Guest
)

// A View is a way of presenting a resource's records. The document gives some lists of
// fields for one format only; text/plain uses the JSON views.
type View uint8

const (
	ListJSON   View = iota // an element of a list, in JSON
	ListXML                // an element of a list, in XML
	SingleJSON             // a single record, in JSON
	SingleXML              // a single record, in XML
	// InCategory: a product in the list of one category, in any format; only with
	// [Dialect.CategoryView].
	InCategory
	views
)

// InList reports whether v shows the elements of a list of records.
func (v View) InList() bool { return inList.in(v) }

// ListView returns the view of list elements in f.
func ListView(f Format) View {
	if f == XML {
		return ListXML
	}
	return ListJSON
}

// View returns the view of the route's records in f.
func (r *Route) View(f Format) View {
	if r.Shape == Collection {
		return ListView(f)
	}
	return SingleView(f)
}

// SingleView returns the view of a single record in f.
func SingleView(f Format) View {
	if f == XML {
		return SingleXML
	}
	return SingleJSON
}

// A Field is one row of a resource's field table.
type Field struct {
	// Name is the field's name on the wire.
	Name string
	// Attribute is the name of the schema attribute that the field shows; "" for a
	// computed field.
	Attribute string
	// Native integers are numbers on the wire; other fields are texts, as the original
	// reads them from its database (contract 2, convention 2).
	Native bool
	// Integer fields show an integer column. With [Dialect.NumericIntegers] they are numbers in JSON.
	Integer bool
	// EmptyText: without a value the field is an empty text, in all dialects
	// (rulings 2).
	EmptyText bool
	// Read holds the roles that may read the field, and filter and sort by it, unless
	// the dialect withholds it from them.
	Read RoleSet
	// Sort and Filter are the effects of ordering and filtering a list by the field.
	Sort   Sorting
	Filter Filtering
	// Write holds the roles whose values are accepted; values from other roles are
	// ignored.
	Write RoleSet
	// Personal values are personal data; Secret values grant something to their holder.
	// Logs, recordings and reports must show neither.
	Personal, Secret bool
	// Part is the field table of the records nested in the field; nil for a plain value.
	Part *FieldTable
	// RejectsEmpty: the field is read-only, but an empty value for it in a batch is an
	// error, in the dialects with [Dialect.EmptyValues] (contract 5.8).
	RejectsEmpty bool
	// OmittedUntilStored: the field is omitted until a value is stored, in all dialects
	// (contract 3.1, on custom attributes).
	OmittedUntilStored bool
	// FixedTax: the field shows the fixed product taxes in the attribute of the same name.
	// ByWebsite: also those of single websites (configurations 9).
	FixedTax, ByWebsite bool

	shown cells[shown]
	// withheld holds the roles of Read that may not read the field in a dialect.
	withheld cells[RoleSet]
	// isoTime holds the views that write the time in ISO 8601 format.
	isoTime cells[shown]
	// absent holds the views whose records never have the field, even if a value is
	// stored and the caller asks for the field by name.
	absent cells[shown]
	// absentFor holds the roles whose records never have the field, in any view.
	absentFor cells[RoleSet]
	// stored holds the roles that read a list of prices as it is stored.
	stored cells[RoleSet]
	// alsoWrite holds additional roles whose values a dialect accepts.
	alsoWrite cells[RoleSet]
	// alsoRead holds additional roles that may read the field, in the views that show it
	// by default, but may neither filter nor sort by it.
	alsoRead cells[RoleSet]
	// readList and writeList are the shop's field lists (configurations 8).
	readList, writeList fieldList
}

// A fieldList is the part of the shop's field lists that concerns one field.
type fieldList struct {
	limited RoleSet // the roles that have a list
	named   RoleSet // those of them whose list names the field
}

// set notes that the list of role names the field, or does not.
func (l *fieldList) set(role Role, named bool) {
	l.limited |= 1 << role
	if l.named &^= 1 << role; named {
		l.named |= 1 << role
	}
}

// shown is the set of views that show a field by default.
type shown uint8

const (
	inList     shown = 1<<ListJSON | 1<<ListXML
	inSingle   shown = 1<<SingleJSON | 1<<SingleXML
	inBoth           = inList | inSingle
	inCategory shown = 1 << InCategory
	// hidden fields can be filtered and sorted by, but are never returned.
	hidden shown = 1 << views
)

func (s shown) in(v View) bool { return s>>v&1 == 1 }

// Queryable reports whether role may filter by the field in dialect d. A field list of the role
// decides alone, over the contract (configurations 8).
func (f *Field) Queryable(d *Dialect, role Role) bool {
	if f.readList.limited.Has(role) {
		return f.readList.named.Has(role)
	}
	return f.Sortable(d, role)
}

// Sortable reports whether role may sort by the field in dialect d, which field lists do not change
// (configurations 8).
func (f *Field) Sortable(d *Dialect, role Role) bool {
	return f.Read.Has(role) && !f.withheld.of(d).Has(role)
}

// Readable reports whether role may read the field in view v of dialect d.
func (f *Field) Readable(d *Dialect, role Role, v View) bool {
	switch {
	case f.Hidden(d):
		return false
	case f.readList.limited.Has(role):
		return f.readList.named.Has(role)
	}
	return f.Sortable(d, role) || f.alsoRead.of(d).Has(role) && f.Shown(d, v)
}

// Writable reports whether dialect d accepts a value for the field from role. A field list can only
// take fields away (configurations 8).
func (f *Field) Writable(d *Dialect, role Role) bool {
	return f.Offered(d, role) && !f.Dropped(role)
}

// Dropped reports whether the field list of role takes the field out of bodies.
func (f *Field) Dropped(role Role) bool {
	return f.writeList.limited.Has(role) && !f.writeList.named.Has(role)
}

// Offered reports whether dialect d accepts a value for the field from role where no field list
// takes the field away.
func (f *Field) Offered(d *Dialect, role Role) bool {
	return f.Write.Has(role) || f.alsoWrite.of(d).Has(role)
}

// Shown reports whether view v of dialect d shows the field when the caller does not
// select fields.
func (f *Field) Shown(d *Dialect, v View) bool { return f.shown.of(d).in(v) }

// ISOTime reports whether dialect d writes the field's time in view v as 2006-01-02T15:04:05+00:00,
// with the offset of the shop's time zone; otherwise times are written in their stored form.
func (f *Field) ISOTime(d *Dialect, v View) bool { return f.isoTime.of(d).in(v) }

// Absent reports whether the records that role reads in view v never have the field in dialect d, even
// if a value is stored.
func (f *Field) Absent(d *Dialect, role Role, v View) bool {
	return f.absent.of(d).in(v) || f.absentFor.of(d).Has(role)
}

// AsStored reports whether dialect d shows role a list of prices as it is stored, with the prices of all
// groups; otherwise it shows the prices that apply to the caller.
func (f *Field) AsStored(d *Dialect, role Role) bool { return f.stored.of(d).Has(role) }

// Hidden reports whether dialect d never returns the field, even to a caller who asks for it.
func (f *Field) Hidden(d *Dialect) bool { return f.shown.of(d)&hidden != 0 }

// IsNumber reports whether dialect d writes the field's integers as numbers.
func (f *Field) IsNumber(d *Dialect) bool { return f.Native || f.Integer && d.NumericIntegers }

// A Sorting is the effect of ordering a list by a field (wire 10).
type Sorting uint8

const (
	// SortByValue orders by the value of the attribute.
	SortByValue Sorting = iota
	// SortRequiresDir is the same, but without a direction the original crashes.
	SortRequiresDir
	// SortByLabel orders by the label of the option whose id the attribute holds (own_attributes 3).
	SortByLabel
	// SortIgnored: accepted, and records stay in ascending order of their ids.
	SortIgnored
	// SortIgnoredAsNull is the same; with [Dialect.OrderedByNull] every record also shows
	// the field as null.
	SortIgnoredAsNull
	// Unsortable: rejected like a field that the role cannot read.
	Unsortable
	// SortCrash: the original crashes.
	SortCrash
)

// A Filtering is the effect of a filter condition on a field (wire 10).
type Filtering uint8

const (
	// FilterByValue compares the value of the attribute.
	FilterByValue Filtering = iota
	// FilterMatchesNone: no record matches any condition.
	FilterMatchesNone
	// FilterMatchesAll: every record matches every condition.
	FilterMatchesAll
	// Unfilterable: rejected like a field that the role cannot read.
	Unfilterable
	// FilterCrash: the original crashes.
	FilterCrash
)

// A FieldTable holds the fields of a resource.
type FieldTable struct {
	Fields []Field
	// EmptyIsNull: an empty text is shown as null, in all dialects.
	EmptyIsNull bool
	// Rules limit the values that a body may hold for the fields.
	Rules RuleTable

	// alwaysAbsent holds names that roles may read although no record has them (wire 10).
	alwaysAbsent []absentNames
	// tail names the fields that the original writes after all stored attributes of its
	// EAV records: the first of them in a view marks the end of the attributes.
	tail []string
	// listed holds the names in the field list of each role that has one (configurations 8).
	listed [roleCount][]string
	index  map[string]int
	orders cells[[views][]int] // indexes of all fields, in the order of the view
}

// newFieldTable returns a table whose views show the fields in the given order.
func newFieldTable(fields []Field) *FieldTable {
	t := &FieldTable{Fields: fields, index: make(map[string]int, len(fields))}
	var orders [views][]int
	orders[0] = make([]int, len(fields))
	for i := range fields {
		t.index[fields[i].Name] = i
		orders[0][i] = i
	}
	for v := range orders {
		orders[v] = orders[0]
	}
	t.orders = both(orders)
	return t
}

// arrange makes the views in the set in of dialect c show exactly the named fields by
// default, in this order. The other fields follow in the order of the table.
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
			f.shown.set(c, *f.shown.at(c)|in)
			continue
		}
		f.shown.set(c, *f.shown.at(c)&^in)
		order = append(order, i)
	}
	orders := *t.orders.at(c)
	for v := range views {
		if in.in(v) {
			orders[v] = order
		}
	}
	t.orders.set(c, orders)
}

// add adds a field of the store. The original writes it among the stored attributes; the
// views of the document, which does not list such fields, put it after the fields they
// show by default.
func (t *FieldTable) add(f Field) {
	at := len(t.Fields)
	t.Fields = append(t.Fields, f)
	t.index[f.Name] = at
	insert := func(orders *[views][]int, v View, before func(*Field) bool) {
		order := orders[v]
		place := slices.IndexFunc(order, func(i int) bool { return before(&t.Fields[i]) })
		if place < 0 {
			place = len(order)
		}
		orders[v] = slices.Insert(slices.Clone(order), place, at)
	}
	inTail := func(f *Field) bool { return slices.Contains(t.tail, f.Name) }
	for v := range views {
		insert(&t.orders.documented, v, func(f *Field) bool { return !f.shown.documented.in(v) })
		for _, orders := range t.orders.ofOriginal() {
			insert(orders, v, inTail)
		}
	}
}

// absentNames are names that some roles may read although no record has them.
type absentNames struct {
	roles RoleSet
	names []string
}

// addAlwaysAbsent adds names that the roles may ask for without ever getting a value.
func (t *FieldTable) addAlwaysAbsent(roles RoleSet, names ...string) {
	t.alwaysAbsent = append(t.alwaysAbsent, absentNames{roles, names})
}

// AlwaysAbsent reports whether role may read name although no record ever has it. To
// select such a name is not an error and adds nothing to the reply (wire 10). Of a role with a field
// list, that are the names in the list (configurations 8).
func (t *FieldTable) AlwaysAbsent(name string, role Role) bool {
	if listed := t.listed[role]; listed != nil {
		return slices.Contains(listed, name)
	}
	return slices.ContainsFunc(t.alwaysAbsent, func(u absentNames) bool { return u.roles.Has(role) && slices.Contains(u.names, name) })
}

// mark applies set to the named fields. It panics if the table lacks one of them.
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
func integer(f *Field)  { f.Integer = true }

// Private reports whether the field's values must be masked for everyone but the caller
// of the request.
func (f *Field) Private() bool { return f.Personal || f.Secret }

// Index returns the index in Fields of the field called name. Names are case-sensitive.
func (t *FieldTable) Index(name string) (int, bool) { i, ok := t.index[name]; return i, ok }

// Order returns the indexes in Fields of all fields, in the order of view v of dialect d.
// The caller must not modify the slice.
func (t *FieldTable) Order(d *Dialect, v View) []int { return t.orders.of(d)[v] }

// RequestedOrder returns the indexes in Fields of all fields, in the order in which view
// v shows the fields that a caller selects by name: the original's order, in all
// dialects (products 3.2). The caller must not modify the slice.
func (t *FieldTable) RequestedOrder(d *Dialect, v View) []int {
	return (*t.orders.at(max(d.column, magento)))[v]
}
