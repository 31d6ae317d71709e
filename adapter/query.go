package adapter

// A Query selects, sorts and cuts a list. Names are attribute names of the
// resource's schema. Operands are canonical for the attribute's kind, so that
// an adapter parses nothing: a whole or decimal number in plain notation for
// KindInteger and KindDecimal, "2006-01-02 15:04:05" for KindTime or "" for a
// moment before all others, any text for KindText.
type Query struct {
	// Where: all of these must hold.
	Where []Condition
	// OrderBy names the attribute to sort by; "" sorts by ascending key. Null
	// and absent values come lowest; equal ones by ascending key.
	OrderBy string
	Desc    bool
	// After, unless nil, begins the list behind a record, found or gone since;
	// Offset then counts from there.
	After *Cursor
	// Offset rows are skipped, and at most Limit returned; 0 is no limit.
	Offset int64
	Limit  int64
	// MatchBytes, unless 0, bounds the text that patterns are matched with outside a
	// database, in bytes: beyond it a list fails with kind Unavailable and the cause
	// [ErrMatchLimit].
	MatchBytes int64
}

// A Mark is a place in the order of a query: that of the record Key whose value
// of the attribute OrderBy is Value. Value means nothing where the order is by
// key.
type Cursor struct {
	Value Value
	Key   Key
}

// A Condition holds when any of its tests does.
type Condition struct{ Any []Test }

// A Test compares one attribute. Every operator but IsNull is false for an
// attribute that is null, and every one for an attribute that is absent.
type Test struct {
	Attribute string
	Op        Op
	Operands  []string
}

// An Op is an operator of a [Test].
type Op uint8

const (
	Eq          Op = iota // equals the operand
	NotEq                 // differs from the operand
	Like                  // matches the SQL pattern: % any text, _ any character, \ escapes
	NotLike               // does not match the SQL pattern
	In                    // equals one of the operands
	NotIn                 // equals none of the operands
	Gt                    // greater than the operand
	Lt                    // less than the operand
	GtEq                  // greater than or equal to the operand
	LtEq                  // less than or equal to the operand
	IsNull                // is stored as null; no operands
	IsNotNull             // has a value; no operands
	InCommaList           // is a comma-separated list that holds the operand
	Matches               // matches the regular expression (RE2, letter case ignored)
	Within                // at least the first operand and at most the second
)

// TextOnly reports whether op works on the written form of a value rather than
// on the value: numbers and times are then compared as the texts they are.
func (op Op) TextOnly() bool {
	return op == Like || op == NotLike || op == InCommaList || op == Matches
}
