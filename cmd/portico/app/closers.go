package app

import (
	"errors"
	"slices"
)

// closers holds the functions that close open resources. The zero value is empty.
type closers []func() error

// add appends a function that closes a resource.
func (c *closers) add(close func() error) { *c = append(*c, close) }

// close calls all functions in reverse order and removes them, so that none is called
// twice. It continues after errors and returns all of them.
func (c *closers) close() error {
	var errs []error
	for _, close := range slices.Backward(*c) {
		errs = append(errs, close())
	}
	*c = nil
	return errors.Join(errs...)
}
