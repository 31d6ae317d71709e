package adapter

import (
	"fmt"
	"strconv"
	"unsafe"
)

// A ValueKind is the kind of content of a [Value].
type ValueKind uint8

const (
	// Absent: the record does not hold the attribute. In a change: leave it unchanged.
	Absent ValueKind = iota
	// Null: the attribute is stored as null.
	Null
	// Unset, in a change only: delete the value stored at this scope, so that the value of the wider
	// scope is inherited. Attributes without scopes become absent.
	Unset
	// Text: a text, a decimal with four places or a UTC time.
	Text
	// Integer: an id, a flag or a count.
	Integer
	// Texts: an ordered list of texts.
	Texts
	// Records: an ordered list of records.
	Records
)

// A Value is the value of one attribute of a [Record]. The zero Value is absent. It has three words, as a list of
// a hundred products holds six thousand values, which the garbage collector clears and frees for each request. Compare
// values with Equal: equal texts may lie at several addresses, and package reflect compares those.
type Value struct {
	_      [0]func() // the compiler refuses ==
	kind   ValueKind
	number int64          // the integer, or the length of the text
	data   unsafe.Pointer // the bytes of the text, or the *lists
}

// lists holds the content of a value that is a list.
type lists struct {
	texts   []string
	records []Record
}

// NullValue returns a null value.
func NullValue() Value { return Value{kind: Null} }

// UnsetValue returns the change that deletes a value.
func UnsetValue() Value { return Value{kind: Unset} }

// TextValue returns a value that holds a text, a decimal or a time.
func TextValue(s string) Value {
	return Value{kind: Text, number: int64(len(s)), data: unsafe.Pointer(unsafe.StringData(s))}
}

// IntegerValue returns a value that holds an integer.
func IntegerValue(i int64) Value { return Value{kind: Integer, number: i} }

// TextsValue returns a value that holds a list of texts. The caller must not change list afterwards.
func TextsValue(list []string) Value {
	return Value{kind: Texts, data: unsafe.Pointer(&lists{texts: list})}
}

// RecordsValue returns a value that holds a list of records. The caller must not change list afterwards.
func RecordsValue(list []Record) Value {
	return Value{kind: Records, data: unsafe.Pointer(&lists{records: list})}
}

// Kind returns the kind of v's content.
func (v Value) Kind() ValueKind { return v.kind }

// Empty reports whether v is absent or null.
func (v Value) Empty() bool { return v.kind == Absent || v.kind == Null }

// Int returns the integer that v holds, or 0.
func (v Value) Int() int64 {
	if v.kind == Integer {
		return v.number
	}
	return 0
}

// Text returns v as text: a text unchanged, an integer in decimal, "" for anything else.
func (v Value) Text() string {
	switch v.kind {
	case Text:
		return unsafe.String((*byte)(v.data), int(v.number))
	case Integer:
		return strconv.FormatInt(v.number, 10)
	}
	return ""
}

// Texts returns the list of texts that v holds, or nil. The caller must not change it.
func (v Value) Texts() []string {
	if v.kind != Texts {
		return nil
	}
	return (*lists)(v.data).texts
}

// Records returns the list of records that v holds, or nil. The caller must not change it.
func (v Value) Records() []Record {
	if v.kind != Records {
		return nil
	}
	return (*lists)(v.data).records
}

// String returns v for messages and tests: its text, "null", "unset", or its list; "" for an absent value.
func (v Value) String() string {
	switch v.kind {
	case Texts:
		return fmt.Sprintf("%q", v.Texts())
	case Records:
		all := make([][]Value, len(v.Records()))
		for i, r := range v.Records() {
			all[i] = r.Values
		}
		return fmt.Sprint(all)
	case Null:
		return "null"
	case Unset:
		return "unset"
	}
	return v.Text()
}
