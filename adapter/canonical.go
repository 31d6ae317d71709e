package adapter

import (
	"errors"
	"slices"
	"time"
)

var (
	errKind    = errors.New("the value is not of the attribute's kind")
	errDecimal = errors.New("must be a decimal with at most four decimal places")
	errTime    = errors.New("must be a time between the years 1 and 9999")
)

// FirstTime is the earliest time that every store can hold.
const FirstTime = "0001-01-01 00:00:00"

// IsTime reports whether s is a time that every store can hold, in the form of
// [KindTime].
func IsTime(s string) bool {
	t, err := time.Parse(time.DateTime, s)
	return err == nil && s >= FirstTime && t.Format(time.DateTime) == s
}

// Canonical returns v in the form in which stores return values of a: decimals with four
// decimal places. It fails if v is not a value of a. It does not check the contents of
// lists of records.
func (a *Attribute) Canonical(v Value) (Value, error) {
	switch v.Kind() {
	case Absent, Null, Unset:
		return v, nil
	case Integer:
		if a.Kind == KindInteger {
			return v, nil
		}
	case Texts:
		if a.Kind == KindTexts {
			return v, nil
		}
	case Records:
		if a.Kind == KindRecords {
			return v, nil
		}
	case Text:
		switch a.Kind {
		case KindText:
			return v, nil
		case KindDecimal:
			tenThousandths, ok := ParseDecimal(v.Text())
			if !ok {
				return v, errDecimal
			}
			return TextValue(FormatDecimal(tenThousandths)), nil
		case KindTime:
			if !IsTime(v.Text()) {
				return v, errTime
			}
			return v, nil
		}
	}
	return v, errKind
}

// Equal reports whether two canonical values are the same. Lists of records are never
// equal.
func (v Value) Equal(other Value) bool {
	if v.kind != other.kind || v.kind == Records {
		return false
	}
	return v.Int() == other.Int() && v.Text() == other.Text() && slices.Equal(v.Texts(), other.Texts())
}
