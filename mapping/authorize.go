package mapping

import (
	"context"
	"time"

	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/replycache"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A LegacyAuth is the way in which a call is signed when it is forwarded to the legacy store.
type LegacyAuth uint8

const (
	// UnchangedSignature forwards calls with the client's signature, which only the
	// legacy store verifies.
	UnchangedSignature LegacyAuth = iota
	// CallerSignature verifies calls and signs them again with the consumer and the token
	// of the caller.
	CallerSignature
	// AdminSignature verifies calls and signs the calls of Admins as one Admin of the
	// legacy store. Calls of Customers are refused.
	AdminSignature
)

// UnknownRole stands for the role of a caller whom only the legacy store can identify.
const UnknownRole = "unknown"

// An authorization decides how a call may be forwarded to the legacy store.
type authorization struct {
	Role string // of the caller, suitable as a label
	// NotAcceptable reports that the caller accepts none of the contract's formats. The
	// legacy store answers such a call with 500.
	NotAcceptable bool
	// Sign returns the Authorization header for the call as it is forwarded to the given
	// scheme, host and target. It is nil if the call keeps its own header. Sign may read
	// the body of the request, and replaces it with the bytes that it has read.
	Sign func(scheme, host, target string) (authorization string, err error)
}

// LegacySettings configure the answers to calls for the legacy store.
type LegacySettings struct {
	// LegacyAuth is the way in which calls for the legacy store are signed. LegacySigner
	// is the signer for AdminSignature. CacheLegacy also caches replies of the legacy
	// store to Guests.
	LegacyAuth   LegacyAuth
	LegacySigner *auth.Signer
	CacheLegacy  bool
}

// A Gate authorizes the calls that the legacy store answers, caches their replies, and
// names the records that they have written. It is safe for concurrent use.
type Gate struct {
	dialect    *contract.Dialect
	auth       *auth.Authenticator
	settings   LegacySettings
	now        func() time.Time
	products   *handlers.ProductFinder
	pipeline   *pipeline.Pipeline
	replyCache *replycache.Guests // nil: replies are not cached
}

// gateParts are the parts that a gate connects.
type gateParts struct {
	Dialect       *contract.Dialect
	Authenticator *auth.Authenticator
	Now           func() time.Time
	Products      *handlers.ProductFinder
	Pipeline      *pipeline.Pipeline
	ReplyCache    *replycache.Guests // nil: replies are not cached
}

// newGate returns a gate.
func newGate(p gateParts, settings LegacySettings) *Gate {
	return &Gate{
		dialect: p.Dialect, auth: p.Authenticator, settings: settings, now: p.Now, products: p.Products,
		pipeline: p.Pipeline, replyCache: p.ReplyCache,
	}
}

// AuthorizeLegacy decides whether r, which must be an API request, may be forwarded to
// the legacy store, and how it is signed there. If calls are signed again, it runs the
// first steps of the pipeline. If one of them fails, ok is false and refusal is the
// response that the service would return. The parameters are as in Serve.
func (s *Gate) AuthorizeLegacy(ctx context.Context, r *resource.Request, buf []byte) (a authorization, refusal resource.Response, ok bool) {
	a.Role = contract.Guest.String()
	if auth.Signed(r.HTTP.Header.Get("Authorization")) {
		a.Role = UnknownRole
	}
	c, unacceptable := s.pipeline.Begin(ctx, r)
	a.NotAcceptable = unacceptable != nil
	if s.settings.LegacyAuth == UnchangedSignature {
		return a, refusal, true
	}
	signer, err := s.legacySignerFor(ctx, c)
	if err != nil {
		if unacceptable != nil { // the pipeline checks it first
			err = unacceptable
		}
		return a, s.pipeline.Refuse(ctx, c, err, buf), false
	}
	a.Role = c.Principal.Role.String()
	if signer != nil {
		a.Sign = func(scheme, host, target string) (string, error) {
			request := s.pipeline.Credentials(ctx, c)
			request.Scheme, request.Host, request.Target = scheme, host, target
			return signer.Sign(request, s.now())
		}
	}
	return a, refusal, true
}

// legacySignerFor runs the steps that c has to pass before it is signed again, and
// returns its signer, or nil for a Guest.
func (s *Gate) legacySignerFor(ctx context.Context, c *pipeline.Run) (*auth.Signer, error) {
	if err := s.pipeline.Identify(ctx, c); err != nil {
		return nil, err
	}
	if err := s.checkRole(c); err != nil {
		return nil, err
	}
	switch role := c.Principal.Role; {
	case role == contract.Guest:
		return nil, nil
	case s.settings.LegacyAuth == CallerSignature && c.Principal.KeyID != 0:
		return nil, s.dialect.Fault(contract.AccessDenied) // an API key has no secret to sign with
	case s.settings.LegacyAuth == CallerSignature:
		return s.auth.Signer(ctx, s.pipeline.Credentials(ctx, c))
	case role == contract.Admin:
		return s.settings.LegacySigner, nil
	default: // A Customer would get an Admin's access.
		return nil, s.dialect.Fault(contract.AccessDenied)
	}
}

// checkRole refuses a call that the role of its caller does not allow, before it is signed again
// (configurations 8.1). A path that only the legacy store knows is for that to judge, unless the call
// is signed as another administrator, whose rights may be wider.
func (s *Gate) checkRole(c *pipeline.Run) error {
	p, unknown := &c.Principal, c.Route == nil || !c.Known
	limited := p.NoRole || p.Grants != nil
	switch {
	case unknown && limited && p.Role == contract.Admin && s.settings.LegacyAuth == AdminSignature:
		return s.dialect.Fault(contract.AccessDenied)
	case unknown:
		return nil
	case p.NoRole:
		return s.dialect.Fault(contract.AdminWithoutRole)
	case !p.Grants.Allow(c.Route.Resource, c.Method), !s.mayReadLists(c):
		return s.dialect.Fault(contract.AccessDenied)
	}
	return nil
}

// mayReadLists reports whether the caller of a forwarded call may read the lists inside its records.
// The legacy store judges the administrator who signs the call, and would put in the lists of an
// order that the caller's own role keeps from them.
func (s *Gate) mayReadLists(c *pipeline.Run) bool {
	grants := c.Principal.Grants
	if grants == nil || c.Route.Resource != "orders" {
		return true
	}
	return grants.Allow("order_items", contract.GET) && grants.Allow("order_addresses", contract.GET) && grants.Allow("order_comments", contract.GET)
}
