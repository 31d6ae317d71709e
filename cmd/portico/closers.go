package main

import (
	"errors"
	"slices"
)

// closers own what has been opened. The zero value owns nothing.
type closers []func() error

// add adds a function that closes a resource.
func (c *closers) add(close func() error) { *c = append(*c, close) }

// close closes all resources, the last one first, and forgets them, so that none is
// closed twice. Each is closed although others fail.
func (c *closers) close() error {
	var errs []error
	for _, close := range slices.Backward(*c) {
		errs = append(errs, close())
	}
	*c = nil
	return errors.Join(errs...)
}
