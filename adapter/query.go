package adapter

import (
	"slices"
	"strconv"
	"strings"
)

// A Query filters, sorts and pages a list. Names are attribute names of the resource's
// schema. Operands are in the canonical form of the attribute's kind, so that adapters need
// not parse them: a whole or decimal number in plain notation for KindInteger and
// KindDecimal, "2006-01-02 15:04:05" for KindTime or "" for a moment before all others, any
// text for KindText.
type Query struct {
	// Where lists the conditions; all of them must hold.
	Where []Condition
	// OrderBy names the attribute to sort by; "" sorts by ascending key. Null and absent
	// values are the lowest. Ties are sorted by ascending key.
	OrderBy string
	Desc    bool
	// Ranks, unless nil, sorts by the places of options instead of by values of OrderBy, which is an
	// added attribute. A value has the place of the option whose id it is, or begins with. Values
	// without a place are the lowest, as null is, and equal places are ties.
	Ranks map[int64]int
	// After, unless nil, starts the list after the position of a record, which may have
	// been deleted since. Offset then counts from there.
	After *Cursor
	// Offset is the number of records to skip, and Limit the greatest number to return, 0
	// for no limit.
	Offset int64
	Limit  int64
	// MatchBytes, unless 0, bounds the text that is matched with patterns outside a
	// database, in bytes. A list that exceeds it fails with kind Unavailable and the cause
	// [ErrMatchLimit].
	MatchBytes int64
}

// A Cursor is a position in the order of a query: the position of the record with this Key,
// whose attribute OrderBy has this Value. Value is ignored when the order is by key.
type Cursor struct {
	Value Value
	Key   Key
}

// OptionID returns the id of the option that a value is, or begins with: of "47,49" it is 47.
func OptionID(v Value) (id int64, ok bool) {
	text := v.Text()
	if end := strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
		text = text[:end]
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil
}

// Rank returns the place of a value, -1 for none.
func (q *Query) Rank(v Value) int {
	id, ok := OptionID(v)
	if rank, has := q.Ranks[id]; ok && has {
		return rank
	}
	return -1
}

// Names reports whether a condition of q, or its order, names an attribute.
func (q *Query) Names(attribute string) bool {
	return q.OrderBy == attribute || slices.ContainsFunc(q.Where, func(c Condition) bool {
		return slices.ContainsFunc(c.Any, func(t Test) bool { return t.Attribute == attribute })
	})
}

// A Condition holds if any of its tests holds.
type Condition struct{ Any []Test }

// A Test compares one attribute with operands. Every operator but IsNull is false for a
// null attribute, and every operator is false for an absent one.
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
	Like                  // matches the SQL pattern: % any text, _ any character, \ escapes; trailing blanks count
	NotLike               // does not match the SQL pattern
	In                    // equals one of the operands
	NotIn                 // equals none of the operands
	Gt                    // greater than the operand
	Lt                    // less than the operand
	GtEq                  // greater than or equal to the operand
	LtEq                  // less than or equal to the operand
	IsNull                // is stored as null; no operands
	IsNotNull             // has a value; no operands
	InCommaList           // is a comma-separated list that contains the operand
	Matches               // matches the regular expression (RE2, letter case ignored)
	Within                // at least the first operand and at most the second
)

// TextOnly reports whether op compares the text of a value, even if the value is a number
// or a time.
func (op Op) TextOnly() bool {
	return op == Like || op == NotLike || op == InCommaList || op == Matches
}
