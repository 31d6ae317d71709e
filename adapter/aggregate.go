package adapter

// An Aggregate is a record with the records that are part of it and come and go with
// it: an order with its lines, addresses and comments. A part names its owner by id.
type Aggregate struct {
	Record Record
	Parts  []Record
}
