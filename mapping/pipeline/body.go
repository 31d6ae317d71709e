package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// readBody reads the body of an authenticated call, once. It reserves nothing more until
// the first bytes have arrived, so that clients that only announce a body take little
// memory. Then it reserves and allocates the announced length at once, because a growing
// buffer would leave its smaller predecessors to the garbage collector and fragment the
// heap. A body larger than the settings allow is refused.
func (s *Pipeline) readBody(ctx context.Context, c *Run) ([]byte, error) {
	if c.body != nil {
		return c.body, nil
	}
	if size := c.HTTP.ContentLength; size > s.settings.BodyBytes {
		return nil, s.bodyTooLarge(strconv.FormatInt(size, 10))
	}
	body := make([]byte, 0, firstReadBytes)
	for {
		n, err := c.HTTP.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > s.settings.BodyBytes:
			return nil, s.bodyTooLarge("more than " + strconv.FormatInt(s.settings.BodyBytes, 10))
		case err == io.EOF:
			c.body = body
			return body, nil
		case err != nil:
			return nil, s.dialect.Fault(contract.RequestInvalid)
		case len(body) == cap(body):
			size := min(4*int64(cap(body)), s.settings.BodyBytes+1)
			if known := c.HTTP.ContentLength; known >= int64(len(body)) {
				size = known + 1
			}
			if err := s.requests.reserve(ctx, c, size-int64(cap(body))); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, size), body...)
		}
	}
}

// bodyTooLarge returns the fault for a body that is larger than the settings allow. size is its size in
// words, for the log.
func (s *Pipeline) bodyTooLarge(size string) contract.Fault {
	return s.dialect.Fault(contract.RequestInvalid).Because(fmt.Sprintf("the body has %s bytes, and limits.body_bytes allows %d", size, s.settings.BodyBytes))
}

// readForm reads a form-encoded body, once, to authenticate the caller.
func (s *Pipeline) readForm(ctx context.Context, c *Run) ([]byte, error) {
	if c.formRead {
		return c.form, nil
	}
	if c.HTTP.ContentLength > auth.MaxForm {
		return nil, s.dialect.Fault(contract.RequestInvalid)
	}
	if err := s.requests.forms.Take(ctx, auth.MaxForm); err != nil {
		return nil, err
	}
	defer s.requests.forms.Return(auth.MaxForm)
	form, err := io.ReadAll(io.LimitReader(c.HTTP.Body, auth.MaxForm+1))
	if err != nil || len(form) > auth.MaxForm {
		return nil, s.dialect.Fault(contract.RequestInvalid)
	}
	c.form, c.formRead = form, true
	// The legacy store may need the body; the pipeline ignores such a body.
	c.HTTP.Body = io.NopCloser(bytes.NewReader(form))
	return form, nil
}
