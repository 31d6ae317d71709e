package rules

import (
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"strings"
)

// Reasons why a value cannot be stored.
var (
	ErrReadOnly  = errors.New("the attribute is read-only")
	ErrKind      = errors.New("the value is not of the attribute's kind")
	ErrRequired  = errors.New("a value is required")
	ErrStoreView = errors.New("no such store view")
)

// lacking returns the error of a record that lacks required values, or nil if there are none.
func lacking(op string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	err := ErrRequired
	if len(names) > 1 {
		err = fmt.Errorf("%w of each of %s", ErrRequired, strings.Join(names, ", "))
	}
	return Invalid(op, names[0], err)
}

// Invalid returns the error of a value that cannot be stored.
func Invalid(op, field string, err error) error {
	return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: field, Err: err}
}
