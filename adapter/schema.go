package adapter

// A Kind is the type of an attribute. It fixes how values are written, compared
// and sorted.
type Kind uint8

const (
	// KindText: any text; compared through [Fold].
	KindText Kind = iota
	// KindInteger: an id, a flag or a count; compared as a number.
	KindInteger
	// KindDecimal: a text with exactly four places, "-12.5000"; compared as a number.
	KindDecimal
	// KindTime: a text "2006-01-02 15:04:05" in UTC; compared as a moment.
	KindTime
	// KindTexts: an ordered list of texts; neither compared nor sorted.
	KindTexts
	// KindRecords: an ordered list of records of another schema; neither
	// compared nor sorted.
	KindRecords
)

// A Scope says how far one stored value reaches.
type Scope uint8

const (
	// ScopeGlobal: one value for the whole shop.
	ScopeGlobal Scope = iota
	// ScopeWebsite: a default value, and at most one for each website.
	ScopeWebsite
	// ScopeStore: a default value, and at most one for each store view.
	ScopeStore
)

// An Attribute is one named property of the records of a resource.
type Attribute struct {
	Name  string
	Kind  Kind
	Scope Scope
	// ReadOnly attributes are kept by the store itself; a change must leave
	// them absent.
	ReadOnly bool
	// Fixed attributes are given when a record is created; a change must leave
	// them absent, or as they are.
	Fixed bool
	// OnDemand attributes may be absent from the records of a store, except where
	// the query or With names them.
	OnDemand bool
	// WriteOnly attributes are given when a record is written, and absent from
	// every record that is read.
	WriteOnly bool
	// Added attributes are the store's own, from its configuration.
	Added bool
	// Nested is the schema of the records of a KindRecords attribute, else nil.
	Nested *Schema
	// Doc says what the value means, and its unit where it has one.
	Doc string
}

// A Schema lists the attributes of a resource. It is immutable once made.
type Schema struct {
	Resource Resource
	Key      string // the attribute that holds the record's [Key]
	// Owner names the attribute that holds the id of the customer a record
	// belongs to; "" where records belong to nobody.
	Owner      string
	Attributes []Attribute
	index      map[string]int
}

// NewSchema returns the schema of resource with the given attributes, of which
// key must be one. It panics on a repeated or missing name.
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

// OwnedBy sets Owner and returns s. It panics when s has no such attribute.
func (s *Schema) OwnedBy(attribute string) *Schema {
	if _, ok := s.index[attribute]; !ok {
		panic("adapter: " + string(s.Resource) + " has no owner attribute " + attribute)
	}
	s.Owner = attribute
	return s
}

// Index returns the place of the attribute called name in Attributes and in the
// Values of a [Record].
func (s *Schema) Index(name string) (int, bool) { i, ok := s.index[name]; return i, ok }

// Schemas holds the schema of every resource.
type Schemas struct{ of map[Resource]*Schema }

// NewSchemas returns the schemas of all resources.
func NewSchemas() *Schemas {
	all := &Schemas{of: map[Resource]*Schema{}}
	stock := stockItemSchema()
	for _, s := range []*Schema{
		websiteSchema(),
		storeSchema(),
		customerGroupSchema(),
		categorySchema(),
		taxRateSchema(),
		countrySchema(),
		regionSchema(),
		adminSchema(),
		customerSchema(),
		customerAddressSchema(),
		productSchema(stock),
		productImageSchema(),
		productWebsiteSchema(),
		productCategorySchema(),
		stock,
		orderSchema(),
		orderItemSchema(),
		orderAddressSchema(),
		orderCommentSchema(),
	} {
		all.of[s.Resource] = s
	}
	return all
}

// Of returns the schema of r, or nil for a resource that is none of the
// constants of this package.
func (all *Schemas) Of(r Resource) *Schema { return all.of[r] }
