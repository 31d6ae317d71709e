package adapter

// An Aggregate is a record as an import stores it, with its parts and the store-view values
// of both. Each part holds the id of its root. Orders have lines, addresses and comments as
// parts; products may have images as parts, and assignments to websites and categories,
// which an import matches by website and category, so that they need no keys.
type Aggregate struct {
	Record Record
	Parts  []Record
	// PartsOf names the resources whose parts Parts lists completely: the import removes the
	// record's other parts of these resources and leaves parts of other resources unchanged.
	// nil stands for all resources of an order, and for none of other records.
	PartsOf []Resource
	// Levels hold scoped values. A record in Levels has the schema and the key of Record or
	// of a part, and holds all values of its own at the store view: an absent value is
	// inherited from the default scope, and null is stored as null. Products may have a
	// value at store views for every attribute except [Attribute.Static] ones. With their
	// images, they also have pointers such as image_id in the default scope, 0, where images
	// have all their values. Categories have names at store views.
	Levels []Level
	// PartsOnly leaves the values of Record unchanged; only its key counts. If there is no
	// such record, the import fails with kind NotFound. [ExistingPolicy] then applies to the
	// record's parts of the resources in PartsOf, which exist if there is at least one.
	PartsOnly bool
	// Gone removes the record, of which only the key counts, and everything that belongs to
	// it.
	Gone bool
}

// A Level holds a record's values for one store view, or for the default scope.
type Level struct {
	StoreID int64
	Record  Record
}
