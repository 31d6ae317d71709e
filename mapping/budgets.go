package mapping

import (
	"bytes"
	"context"
	"io"
	"math"
	"time"

	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/budget"
	"github.com/portico-commerce/portico/mapping/contract"
)

// requestBudgets limit the memory that requests hold, in bytes.
type requestBudgets struct {
	// all covers bodies, query strings and their decoded forms, from the moment they are
	// read until the call has been answered. guests is the part of it available to
	// Guests.
	all, guests *budget.Budget
	// forms covers the bodies that are read only to authenticate the caller.
	forms *budget.Budget
}

const (
	// budgetWait is how long a request waits until others return enough of a budget.
	budgetWait = time.Second
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

func newRequestBudgets(bytes int64) requestBudgets {
	all, guests := newBudgetPair("requests", bytes)
	return requestBudgets{all, guests, budget.New("forms", maxConcurrentForms*auth.MaxForm, budgetWait)}
}

// newBudgetPair returns a budget and the half of it that Guests may take. A limit of 0
// means no limit.
func newBudgetPair(name string, limit int64) (all, guests *budget.Budget) {
	if limit == 0 {
		limit = math.MaxInt64
	}
	all = budget.New(name, limit, budgetWait)
	return all, all.Part(name+"_of_guests", max(1, limit/2))
}

// listBudgets limit how many lists longer than one batch are read and sent at the same
// time. Each holds a batch in memory for as long as a slow client takes.
type listBudgets struct{ all, guests *budget.Budget }

func newListBudgets(inFlight int64) listBudgets {
	all, guests := newBudgetPair("lists", inFlight)
	return listBudgets{all, guests}
}

// listBudget returns the budget from which the list of c takes a slot.
func (s *Service) listBudget(c *Call) *budget.Budget {
	if c.Principal.Role == contract.Guest {
		return s.lists.guests
	}
	return s.lists.all
}

// reserve takes bytes from the request budget until c has been answered.
func (s *Service) reserve(ctx context.Context, c *Call, bytes int64) error {
	if c.reserved == 0 && bytes <= freeRequestBytes {
		return nil
	}
	if err := s.requestBudget(c).Take(ctx, bytes); err != nil {
		return err
	}
	c.reserved += bytes
	return nil
}

// release returns what c has reserved.
func (s *Service) release(c *Call) {
	if c.reserved > 0 {
		s.requestBudget(c).Return(c.reserved)
		c.reserved = 0
	}
}

func (s *Service) requestBudget(c *Call) *budget.Budget {
	if c.Principal.Role == contract.Guest {
		return s.requests.guests
	}
	return s.requests.all
}

// readBody reads the body of an authenticated call, once. It reserves nothing more until
// the first bytes have arrived, so that clients who only announce a body take little
// memory. Then it reserves and allocates the announced length at once, because a growing
// buffer would leave its smaller predecessors to the garbage collector and fragment the
// heap. A body larger than the settings allow is refused.
func (s *Service) readBody(ctx context.Context, c *Call) ([]byte, error) {
	if c.body != nil {
		return c.body, nil
	}
	if c.request.ContentLength > s.settings.BodyBytes {
		return nil, s.dialect.Fault(contract.RequestInvalid)
	}
	body := make([]byte, 0, firstReadBytes)
	for {
		n, err := c.request.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			c.body = body
			return body, nil
		case err != nil || int64(len(body)) > s.settings.BodyBytes:
			return nil, s.dialect.Fault(contract.RequestInvalid)
		case len(body) == cap(body):
			size := min(4*int64(cap(body)), s.settings.BodyBytes+1)
			if known := c.request.ContentLength; known >= int64(len(body)) {
				size = known + 1
			}
			if err := s.reserve(ctx, c, size-int64(cap(body))); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, size), body...)
		}
	}
}

// readForm reads a form-encoded body, once, to authenticate the caller.
func (s *Service) readForm(ctx context.Context, c *Call) ([]byte, error) {
	if c.formRead {
		return c.form, nil
	}
	if c.request.ContentLength > auth.MaxForm {
		return nil, s.dialect.Fault(contract.RequestInvalid)
	}
	if err := s.requests.forms.Take(ctx, auth.MaxForm); err != nil {
		return nil, err
	}
	defer s.requests.forms.Return(auth.MaxForm)
	form, err := io.ReadAll(io.LimitReader(c.request.Body, auth.MaxForm+1))
	if err != nil || len(form) > auth.MaxForm {
		return nil, s.dialect.Fault(contract.RequestInvalid)
	}
	c.form, c.formRead = form, true
	// The legacy system may need the body; the pipeline ignores such a body.
	c.request.Body = io.NopCloser(bytes.NewReader(form))
	return form, nil
}
