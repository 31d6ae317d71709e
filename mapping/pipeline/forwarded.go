package pipeline

import (
	"context"
	"github.com/portico-commerce/portico/mapping/resource"
)

// ErrorResponse returns the response to r, which must be an API request, for an error
// that kept it from being answered, in the format and words of [Pipeline.Serve]. An error
// of kind Unavailable becomes a 503, a [*RateLimitError] a 429 and ErrUnreadableBody a
// 400. The other parameters are as in Serve.
func (s *Pipeline) ErrorResponse(ctx context.Context, r *resource.Request, err error, buf []byte) resource.Response {
	c, _ := s.Begin(ctx, r)
	return s.Refuse(ctx, c, err, buf)
}

// Identify runs the steps after begin that a call has to pass before it is forwarded with
// another signature. It identifies the caller.
func (s *Pipeline) Identify(ctx context.Context, c *Run) error {
	for _, check := range []step{limitQuery, authenticate, limitConsumer} {
		if err := check(ctx, s, c); err != nil {
			return err
		}
	}
	return nil
}

// Begin returns the call of r as far as forwarding needs it. If the client accepts none
// of the contract's formats, that is for the legacy store to answer, so the fault is only
// returned; error responses then use the default format.
func (s *Pipeline) Begin(ctx context.Context, r *resource.Request) (c *Run, unacceptable error) {
	c = s.newRun(ctx, r)
	return c, negotiate(ctx, s, c)
}

// Refuse returns the response to c, which has not been forwarded, for err.
func (s *Pipeline) Refuse(ctx context.Context, c *Run, err error, buf []byte) resource.Response {
	response := s.renderError(ctx, c, err, buf)
	response.Describe(&c.Call)
	return response
}
