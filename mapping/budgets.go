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

// requestBudgets bound the bytes that requests make the service hold.
type requestBudgets struct {
	// all is for bodies, query strings and what they are decoded to, from the moment
	// they are read until the call has been answered. guests is the part of it that
	// Guests may take.
	all, guests *budget.Budget
	// forms is for the bodies that are read to find out who calls.
	forms *budget.Budget
}

const (
	// budgetWait is how long a request waits for a budget that others hold.
	budgetWait = time.Second
	// freeRequest is the cost of a request, in bytes, up to which no budget is asked:
	// nearly all are below it, and the goroutine that serves one takes as much.
	freeRequestBytes = 32 << 10
	// entryCost is what the entry of a record takes in the reply to a list of records, in
	// bytes, with its rendering.
	replyEntryBytes = 1 << 10
	// formsAtOnce bounds how many bodies are read at a time to find out who calls.
	maxConcurrentForms = 256
	// firstPiece is the size of the buffer that a body is first read into.
	firstReadBytes = 8 << 10
)

func newRequestBudgets(bytes int64) requestBudgets {
	all, guests := newBudgetPair("requests", bytes)
	return requestBudgets{all, guests, budget.New("forms", maxConcurrentForms*auth.MaxForm, budgetWait)}
}

// halved returns a budget, without a bound for a limit of 0, and the half of it that
// Guests may take.
func newBudgetPair(name string, limit int64) (all, guests *budget.Budget) {
	if limit == 0 {
		limit = math.MaxInt64
	}
	all = budget.New(name, limit, budgetWait)
	return all, all.Part(name+"_of_guests", max(1, limit/2))
}

// listBudgets bound how many lists that are longer than a batch are read and sent at the
// same time. Slow clients hold a batch of each for as long as they like.
type listBudgets struct{ all, guests *budget.Budget }

func newListBudgets(inFlight int64) listBudgets {
	all, guests := newBudgetPair("lists", inFlight)
	return listBudgets{all, guests}
}

// listPlaces returns the budget that the list of c takes a place of.
func (s *Service) listBudget(c *Call) *budget.Budget {
	if c.Principal.Role == contract.Guest {
		return s.lists.guests
	}
	return s.lists.all
}

// reserve takes bytes from the budget of requests for as long as c lasts.
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

// readBody reads the body of a call that has been authenticated, once. Until its first
// piece has arrived nothing else is reserved, so that senders who only announce a body
// hold little. Then what was announced is reserved and allocated at once: pieces that
// grow would leave their predecessors to the garbage collector, and holes between them.
// A body that is larger than the settings allow is refused.
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

// readForm reads an urlencoded body, once, to find out who calls.
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
	// For who passes the request on. The pipeline takes no data in such a body.
	c.request.Body = io.NopCloser(bytes.NewReader(form))
	return form, nil
}
