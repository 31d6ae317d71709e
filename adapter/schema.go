package adapter

import "slices"

// A Kind is the type of an attribute. It determines how values are written, compared and
// sorted.
type Kind uint8

const (
	// KindText is any text; compared by [Fold].
	KindText Kind = iota
	// KindInteger is an id, a flag or a count; compared as a number.
	KindInteger
	// KindDecimal is a text with exactly four decimal places, "-12.5000"; compared as a
	// number.
	KindDecimal
	// KindTime is a text "2006-01-02 15:04:05" in UTC; compared as a time.
	KindTime
	// KindTexts is an ordered list of texts; neither compared nor sorted.
	KindTexts
	// KindRecords is an ordered list of records of another schema; neither compared nor
	// sorted.
	KindRecords
)

// A Scope is the part of the store for which a value may differ.
type Scope uint8

const (
	// ScopeGlobal: one value for the whole store.
	ScopeGlobal Scope = iota
	// ScopeWebsite: a default value, and at most one value for each website.
	ScopeWebsite
	// ScopeStore: a default value, and at most one value for each store view.
	ScopeStore
)

// An Attribute is one named property of the records of a resource.
type Attribute struct {
	Name  string
	Kind  Kind
	Scope Scope
	// ReadOnly: the store sets the attribute itself. A change must leave it absent.
	ReadOnly bool
	// Fixed: the attribute is set when a record is created. A change must leave it absent
	// or unchanged.
	Fixed bool
	// Required: every record has a value that is neither absent nor null.
	Required bool
	// OnDemand: the attribute may be absent from the records of a store unless the query or
	// With names it.
	OnDemand bool
	// WriteOnly: the attribute is set by writes and absent from every record that is read.
	WriteOnly bool
	// Exclusive: only one of the records with the same owner or product can have the value, and
	// writing it removes it from the others.
	Exclusive bool
	// Added: the store's configuration adds the attribute, whose values are entered as Input says.
	Added bool
	Input Input
	// Static: the attribute has one value for all store views, in a resource whose records have
	// scoped values. Any other stored attribute may have values at store views, which reads of
	// a store view return; values of attributes of [ScopeGlobal] there come from imports.
	Static bool
	// Refers is the resource of the record whose key the value is; "" for any other value. Some
	// values mean no record, such as 0 or 32000, which stand for all.
	Refers Resource
	// Nested is the schema of the records of a KindRecords attribute; nil for other kinds.
	Nested *Schema
	// Doc describes the value, and its unit if it has one.
	Doc string
}

// A Schema lists the attributes of a resource. It is immutable once made.
type Schema struct {
	Resource Resource
	Doc      string // describes the records of a list; "" for parts that are listed with their root
	Key      string // the attribute that holds the record's [Key]
	// Owner names the attribute that holds the id of the customer who owns a record; "" if
	// customers do not own records of the resource.
	Owner string
	// Root is the resource whose records have these as parts, as customers have addresses, and
	// RootAttribute is the attribute that holds the key of a part's root; "" if they are no
	// parts.
	Root          Resource
	RootAttribute string
	// Parent names the attribute that holds the key of the parent record, of the same resource;
	// "" if the records do not form a tree.
	Parent string
	// PerLevel: a record has values of its own at each scope at which it was written. They
	// cannot be unset, and the record can be deleted from one scope.
	PerLevel bool
	// HasFile: a record describes a file whose bytes come only with its creation, so that it
	// cannot be copied from elsewhere.
	HasFile bool
	// Filters names the filters of the resource (see [Filter]).
	Filters []string
	// Unique names attributes whose values, taken together, no two records share; texts are
	// compared by [Fold]. A write that violates this is a Conflict, with the last one as Field.
	Unique []string
	// DistinctNulls: a value that was never set is absent, and a value that was set to nothing
	// is null. Records of other resources have no absent values except on-demand ones, and
	// changes must not use Unset.
	DistinctNulls bool
	Attributes    []Attribute
	index         map[string]int
}

// NewSchema returns a schema. key names the attribute that holds the record's key. It
// panics if a name is repeated, or if key is not among attributes.
func NewSchema(resource Resource, key string, attributes []Attribute) *Schema {
	s := &Schema{Resource: resource, Key: key, Attributes: attributes, index: make(map[string]int, len(attributes))}
	for i, a := range attributes {
		if _, twice := s.index[a.Name]; twice {
			panic("adapter: " + string(resource) + " has attribute " + a.Name + " twice")
		}
		s.index[a.Name] = i
	}
	if _, ok := s.index[key]; !ok {
		panic("adapter: " + string(resource) + " has no key attribute " + key)
	}
	return s
}

// OwnedBy sets Owner and returns s. It panics if s has no such attribute.
func (s *Schema) OwnedBy(attribute string) *Schema {
	if _, ok := s.index[attribute]; !ok {
		panic("adapter: " + string(s.Resource) + " has no owner attribute " + attribute)
	}
	s.Owner = attribute
	return s
}

// PartOf sets Root and RootAttribute and returns s. It panics if s has no such attribute.
func (s *Schema) PartOf(root Resource, attribute string) *Schema {
	if _, ok := s.index[attribute]; !ok {
		panic("adapter: " + string(s.Resource) + " has no attribute " + attribute)
	}
	s.Root, s.RootAttribute = root, attribute
	return s
}

// Below sets Parent and returns s. It panics if s has no such attribute.
func (s *Schema) Below(attribute string) *Schema {
	if _, ok := s.index[attribute]; !ok {
		panic("adapter: " + string(s.Resource) + " has no attribute " + attribute)
	}
	s.Parent = attribute
	return s
}

// Described sets Doc and returns s.
func (s *Schema) Described(doc string) *Schema {
	s.Doc = doc
	return s
}

// FilteredBy sets Filters and returns s.
func (s *Schema) FilteredBy(filters ...string) *Schema {
	s.Filters = filters
	return s
}

// UniqueBy sets Unique and returns s.
func (s *Schema) UniqueBy(attributes ...string) *Schema {
	s.Unique = attributes
	return s
}

// WithDistinctNulls sets DistinctNulls and returns s.
func (s *Schema) WithDistinctNulls() *Schema {
	s.DistinctNulls = true
	return s
}

// Needs reports whether an imported record must have a value of an attribute of s. It must for
// all required attributes except the times of records that clients write, which an import sets.
func (s *Schema) Needs(a *Attribute) bool {
	return a.Required && !(s.DistinctNulls && a.ReadOnly && a.Kind == KindTime)
}

// ReadOnly reports whether clients can only read the records: every attribute is read-only.
func (s *Schema) ReadOnly() bool {
	return !slices.ContainsFunc(s.Attributes, func(a Attribute) bool { return !a.ReadOnly })
}

// Index returns the index of an attribute in Attributes, and in the Values of a [Record].
func (s *Schema) Index(name string) (int, bool) { i, ok := s.index[name]; return i, ok }
