package adapter

// An Aggregate is a record together with the records that are part of it and share its
// lifetime: an order with its lines, addresses and comments. Each part holds the id of its
// owner.
type Aggregate struct {
	Record Record
	Parts  []Record
	// Gone: an import removes the record, of which only the key counts, with everything
	// that belongs to it.
	Gone bool
}
