package adapter

// An Aggregate is a record as an import stores it: with the records that are part of it, and
// with the values that it and they have at store views. Each part holds the id of its root.
// Orders have lines, addresses and comments as parts; products may have assignments to
// websites and categories, which are matched by those and need no keys, and images.
type Aggregate struct {
	Record Record
	Parts  []Record
	// PartsOf names the resources of which Parts holds all parts of the record, so that
	// others are removed from it; parts of other resources stay. nil stands for all
	// resources of an order, and none of other records.
	PartsOf []Resource
	// Levels hold values at store views. A record of Levels has the schema and the key of
	// Record or of a part, and has all values of its own at the store view: an absent value
	// is the one of the default scope, and null is stored as null. Products have any values
	// at store views but those of [Attribute.Static], and, with their images, pointers such
	// as image_id also in the default scope, 0, where images have all their values.
	// Categories have names at store views.
	Levels []Level
	// PartsOnly: the values of Record, of which only the key counts, stay as they are. If
	// there is no such record the import fails with kind NotFound. [ExistingPolicy] then
	// concerns its parts of the resources in PartsOf: it has none, or they exist.
	PartsOnly bool
	// Gone: an import removes the record, of which only the key counts, with everything
	// that belongs to it.
	Gone bool
}

// A Level is what a record has at a store view.
type Level struct {
	StoreID int64
	Record  Record
}
