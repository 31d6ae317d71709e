package engine

import (
	"database/sql"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"math"
	"strconv"
	"strings"
	"time"
)

// Decimals have four decimal places. Integers named units or tenThousandths hold them in
// ten-thousandths.
const (
	DecimalPlaces = 4
	decimalUnit   = 10_000
	// MaxDecimal is exact in a double, and far above the range of DECIMAL(12,4).
	MaxDecimal = 1 << 52
)

// Bind returns the argument of a statement for v, a value of a. Arguments are
// comparable.
func (e *Engine) Bind(a *adapter.Attribute, v adapter.Value) (any, error) {
	switch v.Kind() {
	case adapter.Absent, adapter.Null, adapter.Unset:
		return nil, nil
	case adapter.Integer:
		if a.Kind == adapter.KindInteger {
			return v.Int(), nil
		}
	case adapter.Texts:
		if a.Kind == adapter.KindTexts {
			return strings.Join(v.Texts(), "\n"), nil
		}
	case adapter.Text:
		switch a.Kind {
		case adapter.KindText:
			return v.Text(), nil
		case adapter.KindDecimal:
			units, ok := adapter.ParseDecimal(v.Text())
			if !ok {
				return nil, errDecimal
			}
			return e.Decimal(units), nil
		case adapter.KindTime:
			if !adapter.IsTime(v.Text()) {
				return nil, errTime
			}
			return v.Text(), nil
		}
	}
	return nil, errKind
}

// Fold returns the value of a text's folded column.
func Fold(v adapter.Value) any {
	if v.Empty() || v.Kind() == adapter.Unset {
		return nil
	}
	return adapter.Fold(v.Text())
}

// ValueTexts returns the two texts that a value table stores for v, a value of a.
func (e *Engine) ValueTexts(a *adapter.Attribute, v adapter.Value) (value, folded any, err error) {
	bound, err := e.Bind(a, v)
	switch {
	case err != nil || bound == nil:
		return nil, nil, err
	case a.Kind == adapter.KindText:
		return v.Text(), adapter.Fold(v.Text()), nil
	case a.Kind == adapter.KindDecimal:
		canonical, err := a.Canonical(v)
		return canonical.Text(), nil, err
	default:
		return v.Text(), nil, nil
	}
}

var (
	errKind    = errors.New("the value is not of the attribute's kind")
	errDecimal = errors.New("must be a decimal with at most four decimal places")
	errTime    = errors.New("must be a time between the years 1 and 9999")
)

// A Cell receives one column of a row. It is a sql.Scanner, so that a value goes from
// the driver into the record without an intermediate variable.
type Cell struct {
	kind  adapter.Kind
	Value *adapter.Value // destination
}

// NewCell returns a cell for a value of a kind.
func NewCell(kind adapter.Kind, value *adapter.Value) *Cell { return &Cell{kind: kind, Value: value} }

// Scan stores a value of the driver.
func (c *Cell) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c.Value = adapter.NullValue()
		return nil
	case string:
		return c.text(v)
	case []byte: // the driver reuses it for the next row
		return c.text(string(v))
	case int64:
		return c.integer(v)
	case float64:
		return c.float(v)
	case time.Time:
		if c.kind == adapter.KindTime {
			*c.Value = adapter.TextValue(v.UTC().Format(time.DateTime))
			return nil
		}
	}
	return fmt.Errorf("unexpected type %T in a column", src)
}

func (c *Cell) integer(v int64) error {
	switch c.kind {
	case adapter.KindInteger:
		*c.Value = adapter.IntegerValue(v)
		return nil
	case adapter.KindDecimal:
		return c.decimal(decimalFromInteger(v))
	}
	return errors.New("unexpected integer in a column")
}

func (c *Cell) float(v float64) error {
	if c.kind != adapter.KindDecimal {
		return errors.New("unexpected number in a column")
	}
	return c.decimal(decimalFromFloat(v))
}

func (c *Cell) text(s string) error {
	switch c.kind {
	case adapter.KindText, adapter.KindTime:
		*c.Value = adapter.TextValue(s)
	case adapter.KindTexts:
		*c.Value = adapter.TextsValue(strings.Split(s, "\n"))
	case adapter.KindDecimal:
		if hasFourPlaces(s) {
			*c.Value = adapter.TextValue(s)
			return nil
		}
		units, ok := adapter.ParseDecimal(s)
		if !ok {
			return errDecimal
		}
		return c.decimal(units, nil)
	default:
		return errors.New("unexpected text in a column")
	}
	return nil
}

func (c *Cell) decimal(tenThousandths int64, err error) error {
	*c.Value = adapter.TextValue(adapter.FormatDecimal(tenThousandths))
	return err
}

// ScopedValue converts the text in a value table to a value.
func ScopedValue(kind adapter.Kind, stored sql.NullString) (adapter.Value, error) {
	switch {
	case !stored.Valid:
		return adapter.NullValue(), nil
	case kind == adapter.KindInteger:
		i, err := strconv.ParseInt(stored.String, 10, 64)
		return adapter.IntegerValue(i), err
	case kind == adapter.KindDecimal && !hasFourPlaces(stored.String):
		return (&adapter.Attribute{Kind: kind}).Canonical(adapter.TextValue(stored.String))
	default:
		return adapter.TextValue(stored.String), nil
	}
}

// hasFourPlaces reports whether s, a number in plain notation, has the form that
// adapter.FormatDecimal returns: digits, four of them after the point.
func hasFourPlaces(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	point := len(digits) - 1 - DecimalPlaces
	if point < 1 || digits[point] != '.' {
		return false
	}
	for i := 0; i < len(digits); i++ {
		if i != point && (digits[i] < '0' || digits[i] > '9') {
			return false
		}
	}
	return true
}

// decimalFromFloat converts a double in which the database stores a decimal.
func decimalFromFloat(f float64) (tenThousandths int64, err error) {
	scaled := math.Round(f * decimalUnit)
	if !(math.Abs(scaled) <= MaxDecimal) { // also true for NaN
		return 0, errDecimal
	}
	return int64(scaled), nil
}

// decimalFromInteger converts an integer in which the database stores a whole decimal.
func decimalFromInteger(i int64) (tenThousandths int64, err error) {
	if i > MaxDecimal/decimalUnit || i < -MaxDecimal/decimalUnit {
		return 0, errDecimal
	}
	return i * decimalUnit, nil
}
