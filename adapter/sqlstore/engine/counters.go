package engine

// A Counter is a key column whose values the database generates.
type Counter struct{ Table, Column string }

// CounterStatements return the statements that move a counter; a field is nil if the
// engine needs no such statement.
type CounterStatements struct {
	// Restart makes a counter start again, within a transaction that has emptied the
	// table.
	Restart func(Counter) string
	// Advance moves a counter past all stored keys, within a transaction.
	Advance func(Counter) string
	// PassKey moves a counter past one key, within a transaction. The statement behind finds a
	// row if the counter is not there yet; the statements move then move it while no other
	// transaction can use the counter. It is nil for engines that pass keys by themselves.
	PassKey func(c Counter, key int64) (behind string, move []string)
	// Last selects the last key that a counter gave, or 0. It is nil for engines that Describe
	// a table.
	Last func(Counter) string
	// Describe and ContinueAt are for engines that can pass keys that no record has only
	// outside a transaction: Describe finds a text with "AUTO_INCREMENT=" and the next key, if
	// it is not the first, and ContinueAt makes a key the next one.
	Describe   func(Counter) string
	ContinueAt func(c Counter, next int64) string
	// Resync moves a counter to the greatest stored key, outside a transaction, for engines
	// that cannot do so within one.
	Resync func(Counter) string
}
