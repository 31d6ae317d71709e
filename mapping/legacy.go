package mapping

import (
	"context"
	"errors"
	"net/http"

	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A LegacyAuth says how calls are signed that the old system answers.
type LegacyAuth uint8

const (
	// KeptSignature passes calls on as they came. The old system alone verifies them.
	UnchangedSignature LegacyAuth = iota
	// CallersSignature signs anew with the consumer and the token of the caller.
	CallerSignature
	// OwnSignature signs anew as an Admin of the old system, for Admins alone.
	AdminSignature
)

// ErrBody is for a request whose body cannot be read.
var ErrUnreadableBody = errors.New("mapping: the body of the request cannot be read")

// UnknownRole stands for the role of a caller whom the old system alone knows.
const UnknownRole = "unknown"

// An Admission is a call that the old system may answer.
type LegacyAuthorization struct {
	Role string // of the caller, fit for a label
	// NotAcceptable: the caller accepts no format there is, for which the old system
	// answers 500.
	NotAcceptable bool
	// Sign returns the Authorization header for a call as it is sent to a scheme, host
	// and target; it is nil where the call goes as it came. It may read
	// the body of the request, and replaces it by what it has read.
	Sign func(scheme, host, target string) (authorization string, err error)
}

// Admit decides whether r, which must be owned, may be passed on to the old system,
// and how it is signed there. Where calls are signed anew that is for the first steps
// of the pipeline: who fails them is refused as [Service.Serve] would, by the
// response, and ok is false. The arguments are those of Serve.
func (s *Service) AuthorizeLegacy(ctx context.Context, r *http.Request, scheme string, buf []byte) (a LegacyAuthorization, refusal Response, ok bool) {
	a.Role = contract.Guest.String()
	if auth.Signed(r.Header.Get("Authorization")) {
		a.Role = UnknownRole
	}
	c, unacceptable := s.newLegacyCall(ctx, r, scheme)
	a.NotAcceptable = unacceptable != nil
	if s.settings.LegacyAuth == UnchangedSignature {
		return a, refusal, true
	}
	signer, err := s.legacySignerFor(ctx, c)
	if err != nil {
		if unacceptable != nil { // which is found out first
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

// admit takes c through the steps that it has to pass before it is signed anew, and
// returns by whom, nil for a Guest.
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
		return nil, s.dialect.Fault(contract.AccessDenied) // it has no secret to sign with
	case s.settings.LegacyAuth == CallerSignature:
		return s.auth.Signer(ctx, s.credentials(ctx, c))
	case role == contract.Admin:
		return s.settings.LegacySigner, nil
	default: // would get what is an Admin's
		return nil, s.dialect.Fault(contract.AccessDenied)
	}
}

// Refuse answers r, which must be owned and could not be passed on because of err,
// as [Service.Serve] would: by its arguments, which are those of Serve. An error of
// kind Unavailable is answered with 503, a [*RateError] with 429, ErrBody with 400.
func (s *Service) ErrorResponse(ctx context.Context, r *http.Request, scheme string, err error, buf []byte) Response {
	c, _ := s.newLegacyCall(ctx, r, scheme)
	return s.errorResponse(ctx, c, err, buf)
}

// passing returns the call of r as far as it has to be known to be passed on. What
// the caller may not accept is for the old system to say, and returned: a refusal of
// ours comes in the format that there is then.
func (s *Service) newLegacyCall(ctx context.Context, r *http.Request, scheme string) (c *Call, unacceptable error) {
	c = s.newCall(ctx, r, scheme)
	return c, s.negotiate(ctx, c)
}

// refusal answers c, which has not been passed on.
func (s *Service) errorResponse(ctx context.Context, c *Call, err error, buf []byte) Response {
	response := s.renderError(ctx, c, err, buf)
	response.describe(c)
	return response
}
