package mapping

import (
	"context"
	"errors"

	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A LegacyAuth says how a call is signed when it is forwarded to the legacy system.
type LegacyAuth uint8

const (
	// UnchangedSignature forwards calls with the client's signature, which only the
	// legacy system verifies.
	UnchangedSignature LegacyAuth = iota
	// CallerSignature verifies calls and signs them again with the consumer and the token
	// of the caller.
	CallerSignature
	// AdminSignature verifies calls and signs those of Admins as one Admin of the legacy
	// system. Calls of Customers are refused.
	AdminSignature
)

// ErrUnreadableBody is the error of a request whose body cannot be read.
var ErrUnreadableBody = errors.New("mapping: the body of the request cannot be read")

// UnknownRole stands for the role of a caller whom only the legacy system can identify.
const UnknownRole = "unknown"

// A LegacyAuthorization says how a call may be forwarded to the legacy system.
type LegacyAuthorization struct {
	Role string // of the caller, suitable as a label
	// NotAcceptable reports that the caller accepts none of the contract's formats. The
	// legacy system answers such a call with 500.
	NotAcceptable bool
	// Sign returns the Authorization header for the call as it is forwarded to the given
	// scheme, host and target. It is nil if the call keeps its own header. Sign may read
	// the body of the request, and replaces it with what it has read.
	Sign func(scheme, host, target string) (authorization string, err error)
}

// AuthorizeLegacy decides whether r, which must be an API request, may be forwarded to
// the legacy system, and how it is signed there. If calls are signed again, it runs the
// first steps of the pipeline. If one of them fails, ok is false and refusal is the
// response that [Service.Serve] would return. The parameters are those of Serve.
func (s *Service) AuthorizeLegacy(ctx context.Context, r *Request, buf []byte) (a LegacyAuthorization, refusal Response, ok bool) {
	a.Role = contract.Guest.String()
	if auth.Signed(r.HTTP.Header.Get("Authorization")) {
		a.Role = UnknownRole
	}
	c, unacceptable := s.newLegacyCall(ctx, r)
	a.NotAcceptable = unacceptable != nil
	if s.settings.LegacyAuth == UnchangedSignature {
		return a, refusal, true
	}
	signer, err := s.legacySignerFor(ctx, c)
	if err != nil {
		if unacceptable != nil { // the pipeline checks it first
			err = unacceptable
		}
		return a, s.errorResponse(ctx, c, err, buf), false
	}
	a.Role = c.Principal.Role.String()
	if signer != nil {
		a.Sign = func(scheme, host, target string) (string, error) {
			request := s.credentials(ctx, c)
			request.Scheme, request.Host, request.Target = scheme, host, target
			return signer.Sign(request, s.settings.Now())
		}
	}
	return a, refusal, true
}

// legacySignerFor runs the steps that c has to pass before it is signed again, and
// returns its signer, or nil for a Guest.
func (s *Service) legacySignerFor(ctx context.Context, c *Call) (*auth.Signer, error) {
	for _, check := range []step{(*Service).limitQuery, (*Service).authenticate, (*Service).limitConsumer} {
		if err := check(s, ctx, c); err != nil {
			return nil, err
		}
	}
	switch role := c.Principal.Role; {
	case role == contract.Guest:
		return nil, nil
	case s.settings.LegacyAuth == CallerSignature && c.Principal.KeyID != 0:
		return nil, s.dialect.Fault(contract.AccessDenied) // an API key has no secret to sign with
	case s.settings.LegacyAuth == CallerSignature:
		return s.auth.Signer(ctx, s.credentials(ctx, c))
	case role == contract.Admin:
		return s.settings.LegacySigner, nil
	default: // A Customer would get an Admin's access.
		return nil, s.dialect.Fault(contract.AccessDenied)
	}
}

// ErrorResponse returns the response to r, which must be an API request, for an error
// that kept it from being answered, in the format and words of [Service.Serve]. An error
// of kind Unavailable becomes a 503, a [*RateLimitError] a 429 and ErrUnreadableBody a
// 400. The other parameters are those of Serve.
func (s *Service) ErrorResponse(ctx context.Context, r *Request, err error, buf []byte) Response {
	c, _ := s.newLegacyCall(ctx, r)
	return s.errorResponse(ctx, c, err, buf)
}

// newLegacyCall returns the call of r as far as forwarding needs it. If the client
// accepts none of the contract's formats, that is for the legacy system to answer, so the
// fault is only returned; error responses then use the default format.
func (s *Service) newLegacyCall(ctx context.Context, r *Request) (c *Call, unacceptable error) {
	c = s.newCall(ctx, r)
	return c, s.negotiate(ctx, c)
}

// errorResponse returns the response to c, which has not been forwarded, for err.
func (s *Service) errorResponse(ctx context.Context, c *Call, err error, buf []byte) Response {
	response := s.renderError(ctx, c, err, buf)
	response.describe(c)
	return response
}
