package pipeline

import (
	"context"
	"github.com/portico-commerce/portico/mapping/limits"
	"time"
)

// requestBudgets limit the memory that requests hold, in bytes.
type requestBudgets struct {
	// memory covers bodies, query strings and their decoded forms, from the moment they are
	// read until the call has been answered.
	memory limits.BudgetPair
	// forms covers the bodies that are read only to authenticate the caller.
	forms *limits.Budget
}

const (
	// formWait is how long a request waits until others have been authenticated.
	formWait = time.Second
	// freeRequestBytes is the size up to which a request takes nothing from the budget.
	// Nearly all requests are smaller, and the goroutine that serves one takes as much
	// memory.
	freeRequestBytes = 32 << 10
	// replyEntryBytes estimates the memory of one record's entry, with its rendering, in
	// the reply to a list of records.
	replyEntryBytes = 1 << 10
	// maxConcurrentForms limits how many bodies are read for authentication at a time.
	maxConcurrentForms = 256
	// firstReadBytes is the size of the first buffer for a body.
	firstReadBytes = 8 << 10
)

// reserve takes bytes from the request budget until c has been answered.
func (b *requestBudgets) reserve(ctx context.Context, c *Run, bytes int64) error {
	if c.reserved == 0 && bytes <= freeRequestBytes {
		return nil
	}
	if err := b.memory.For(c.IsGuest()).Take(ctx, bytes); err != nil {
		return err
	}
	c.reserved += bytes
	return nil
}

// release returns the bytes that c has reserved.
func (b *requestBudgets) release(c *Run) {
	if c.reserved > 0 {
		b.memory.For(c.IsGuest()).Return(c.reserved)
		c.reserved = 0
	}
}
