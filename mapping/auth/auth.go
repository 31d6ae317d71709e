package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Credentials looks up registered consumers and tokens. An error of any kind but NotFound
// means that the store failed.
type Credentials interface {
	// Consumer returns the consumer with the key, ignoring letter case.
	// Kinds: NotFound.
	Consumer(ctx context.Context, key string) (adapter.Consumer, error)
	// Token returns the token with the text, ignoring letter case.
	// Kinds: NotFound.
	Token(ctx context.Context, token string) (adapter.Token, error)
}

// Nonces stores used nonces. A nonce is at most 32 characters of valid UTF-8 without U+0000.
type Nonces interface {
	// Use stores the nonce with its timestamp in Unix seconds and reports whether it was
	// new. Of concurrent calls with the same nonce, exactly one finds it new.
	Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error)
	// Used reports whether the nonce is stored. It does not store the nonce.
	Used(ctx context.Context, nonce string) (bool, error)
}

// A Principal is the authenticated sender of a call (Authentication, 1 to 3). Only the id
// that belongs to its role is set; a Guest has none.
type Principal struct {
	Role       contract.Role
	CustomerID int64
	AdminID    int64 // 0 for an Admin whose API key belongs to no administrator
	// ConsumerID or KeyID identifies the client program of a Customer or an Admin.
	ConsumerID, KeyID int64
	// Grants are the calls that the role of the sender allows; nil stands for all calls of its
	// kind of user. NoRole: an administrator without a role, every call of whom fails
	// (configurations 8).
	Grants *contract.Grants
	NoRole bool
}

// Client returns a number that identifies the client program: the id of the consumer, the negated
// id of the API key, or 0 for a Guest.
func (p Principal) Client() int64 {
	if p.KeyID != 0 {
		return -p.KeyID
	}
	return p.ConsumerID
}

// A Request is the part of an HTTP request that authentication needs.
type Request struct {
	Method string
	// Scheme is "http" or "https", as used by the client.
	Scheme string
	// Host is the Host header, or the host of an absolute request target, including the
	// port if the client sent one.
	Host string
	// Target is the request target exactly as sent, in origin or absolute form.
	Target        string
	Authorization string
	ContentType   string
	// Form returns the whole form-encoded body, of at most [MaxForm] bytes. It is called at
	// most once, and only for a form-encoded body that credentials or a signature may
	// depend on; nil means no body.
	Form func() ([]byte, error)
	// Client is the network address of the sender, or "". A nonce counts as used with a
	// wrong signature only for the same address.
	Client string
	// Again: this request has been authenticated before and is checked a second time. Its
	// nonce is not checked, because the first time has used it.
	Again bool
}

// MaxForm is the maximum size in bytes of a form-encoded body that is read for credentials or
// for its signature. The interface accepts no data in such bodies.
const MaxForm = 64 << 10

// Options are the settings of an [Authenticator]; the zero value is valid.
type Options struct {
	// PublicURL is the base URL known to clients, or nil. Clients may have signed its scheme and
	// host instead of the request's.
	PublicURL *url.URL
	// RSACrashes makes RSA-SHA1 signatures fail with [ErrUnverifiable], like the crash of
	// the original (wire 14), instead of with a [Problem].
	RSACrashes bool
	// TimestampMaxAge, unless 0, is the maximum age of a signature's timestamp. It must be
	// at least ten minutes shorter than the time for which Nonces stores nonces; otherwise
	// an intercepted call could be replayed. 0 allows any age (wire 12).
	TimestampMaxAge time.Duration
	// RefusePlaintext rejects the signature method PLAINTEXT like an unknown method.
	RefusePlaintext bool
	// PlusAsSpace also accepts signatures of clients that read a plus in the query as a space.
	// The original rejects them (wire 12).
	PlusAsSpace bool
	// Keys looks up API keys. Without it, a Bearer Authorization header is ignored like all
	// schemes other than OAuth (wire 4).
	Keys Keys
	// Roles looks up the REST roles. Without it everybody may make all calls of their kind of
	// user.
	Roles Roles
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log, unless nil, gets a line at debug level for each refused request, with the base string
	// that the client should have signed.
	Log *slog.Logger
}

// ErrUnverifiable is the error for an RSA-SHA1 signature with [Options.RSACrashes]. The reply
// to it is a 500 with an empty body (wire 14).
var ErrUnverifiable = errors.New("auth: RSA-SHA1 signatures cannot be verified")

// An Authenticator verifies the credentials of calls. It is safe for concurrent
// use.
type Authenticator struct {
	credentials     Credentials
	nonces          Nonces
	keys            Keys // nil if API keys are not supported
	publicOrigins   []string
	rsaCrashes      bool
	refusePlaintext bool
	plusAsSpace     bool
	timestampMaxAge time.Duration
	now             func() time.Time
	log             *slog.Logger // may be nil
	cache           atomic.Pointer[credentialCache]
	rights          rightsCache
}

// New returns an Authenticator that uses the two stores.
func New(credentials Credentials, nonces Nonces, o Options) *Authenticator {
	a := &Authenticator{
		credentials: credentials, nonces: nonces, keys: o.Keys,
		rsaCrashes: o.RSACrashes, refusePlaintext: o.RefusePlaintext, plusAsSpace: o.PlusAsSpace,
		timestampMaxAge: o.TimestampMaxAge, now: o.Now, log: o.Log,
	}
	if a.now == nil {
		a.now = time.Now
	}
	a.rights.roles, a.rights.now = o.Roles, a.now
	if o.PublicURL != nil {
		a.publicOrigins = origins(o.PublicURL.Scheme, o.PublicURL.Host)
	}
	a.Purge()
	return a
}

// Purge empties all caches. Call it when the store was replaced.
func (a *Authenticator) Purge() {
	a.rights.current.Store(nil)
	a.cache.Store(newCredentialCache(a.credentials, a.keys, a.now))
}

// PurgeCredentials empties the credential cache. Call it when a token was removed. A nonce
// that came with a wrong signature stays used for its sender.
func (a *Authenticator) PurgeCredentials() {
	c := newCredentialCache(a.credentials, a.keys, a.now)
	c.failedNonces = a.cache.Load().failedNonces
	a.cache.Store(c)
}

// Anonymous reports whether an Authorization header carries no credentials, so that its
// sender is a Guest (wire 4).
func (a *Authenticator) Anonymous(authorization string) bool {
	if Signed(authorization) {
		return false
	}
	_, bearer := cutBearer(authorization)
	return !bearer || a.keys == nil
}

// Authenticate returns the sender of r (wire 12). Without an OAuth Authorization header, or
// a Bearer one if Options.Keys is set, the sender is a Guest. The error is a [*Problem] if the
// credentials are rejected; [ErrUnverifiable]; or a wrapped error of Request.Form. Any other
// error means that a store failed, so that the credentials could not be checked.
func (a *Authenticator) Authenticate(ctx context.Context, r *Request) (Principal, error) {
	p, err := a.identify(ctx, r)
	return a.withRights(ctx, p, err)
}

// identify returns the sender of r without rights.
func (a *Authenticator) identify(ctx context.Context, r *Request) (Principal, error) {
	if a.Anonymous(r.Authorization) {
		return Principal{Role: contract.Guest}, nil
	}
	credentials, ok := cutScheme(r.Authorization)
	if !ok {
		key, _ := cutBearer(r.Authorization)
		return a.bearer(ctx, key)
	}
	c, err := newCall(r, credentials)
	if err != nil {
		a.logRefusal(ctx, r, nil, err)
		return Principal{}, err
	}
	consumer, token, err := a.runChecks(ctx, c)
	if err := a.settleNonce(ctx, c, err); err != nil {
		a.logRefusal(ctx, r, c, err)
		return Principal{}, err
	}
	switch { // check 15
	case token.AdminID != 0:
		return Principal{Role: contract.Admin, AdminID: token.AdminID, ConsumerID: consumer.ID}, nil
	case token.CustomerID != 0:
		return Principal{Role: contract.Customer, CustomerID: token.CustomerID, ConsumerID: consumer.ID}, nil
	default:
		return Principal{}, internalProblem("User type is unknown")
	}
}

// runChecks runs checks 1 to 14, except the check of the nonce.
func (a *Authenticator) runChecks(ctx context.Context, c *call) (consumer adapter.Consumer, token adapter.Token, err error) {
	if consumer, err = a.consumer(ctx, c); err != nil {
		return consumer, token, err
	}
	if token, err = a.token(ctx, c, consumer); err != nil {
		return consumer, token, err
	}
	return consumer, token, a.verify(c, consumer.Secret, &token)
}

// A call is a request with its OAuth parameters.
type call struct {
	request     *Request
	path, query string
	oauth       parameters
	form        string // the form-encoded body, after readForm
	formRead    bool

	// nonce is the nonce in the form in which it is stored, and timestamp its timestamp.
	// They are set once the checks have reached them, and only if the nonce counts.
	nonce     string
	timestamp int64
	// Result of check 14, if it has run.
	signatureValid, signatureInvalid bool
}

// newCall runs check 0 and collects the OAuth parameters from the header, or else from a
// form-encoded body, or else from the query.
func newCall(r *Request, credentials string) (*call, error) {
	c := &call{request: r}
	c.path, c.query = splitTarget(r.Target)
	if !validURI(c.path) || !validURI(c.query) {
		return nil, internalProblem("Invalid URI supplied")
	}
	var err error
	if c.oauth, err = parseHeader(credentials); err != nil || len(c.oauth) > 0 {
		return c, err
	}
	if err := c.readForm(); err != nil {
		return nil, err
	}
	if c.oauth, err = parseForm(c.form); err != nil || len(c.oauth) > 0 {
		return c, err
	}
	c.oauth, err = parseForm(c.query)
	return c, err
}

// readForm sets c.form if the body is form-encoded.
func (c *call) readForm() error {
	const mediaType = "application/x-www-form-urlencoded"
	if c.formRead || c.request.Form == nil || !strings.HasPrefix(c.request.ContentType, mediaType) {
		return nil
	}
	c.formRead = true
	body, err := c.request.Form()
	if err != nil {
		return fmt.Errorf("auth: read form: %w", err)
	}
	c.form = string(body)
	return nil
}

// verify runs check 14; token is nil for a call that has none yet. RSA signatures are rejected
// here because the original crashes at this point (wire 12 and 14). No signature is valid
// under an empty secret, because anyone who knows the key could compute it.
func (a *Authenticator) verify(c *call, consumerSecret string, token *adapter.Token) error {
	given := c.oauth.text("oauth_signature")
	tokenSecret, valid := "", false
	if token != nil {
		tokenSecret = token.Secret
	}
	switch c.oauth.text("oauth_signature_method") {
	case methodRSA:
		if a.rsaCrashes {
			return ErrUnverifiable
		}
		return problem("signature_method_rejected")
	case methodPlaintext:
		valid = equal([]byte(given), []byte(consumerSecret+"&"+tokenSecret))
	case methodHMAC:
		if err := c.readForm(); err != nil {
			return err
		}
		valid = a.verifyRules(c, given, consumerSecret, tokenSecret)
	}
	valid = valid && consumerSecret != "" && (token == nil || tokenSecret != "")
	c.signatureValid, c.signatureInvalid = valid, !valid
	if !valid {
		return problem("signature_invalid")
	}
	return nil
}

// candidateOrigins returns the distinct origins that a client may have signed.
func (a *Authenticator) candidateOrigins(r *Request) []string {
	all := origins(r.Scheme, r.Host)
	for _, origin := range a.publicOrigins {
		if !slices.Contains(all, origin) {
			all = append(all, origin)
		}
	}
	return all
}

// Keys looks up API keys. An error of any kind but NotFound means that the store failed.
type Keys interface {
	// Key returns the key with a hash computed by [adapter.HashAPIKey]. Kinds: NotFound.
	Key(ctx context.Context, hash string) (adapter.APIKey, error)
}

// maxKeyLength is the maximum length of an API key in bytes.
const maxKeyLength = 256

// cutBearer returns the part of an Authorization header after the Bearer scheme. It returns
// false for another scheme.
func cutBearer(authorization string) (key string, ok bool) {
	const scheme = "bearer"
	if len(authorization) < len(scheme) || !strings.EqualFold(authorization[:len(scheme)], scheme) {
		return "", false
	}
	key = authorization[len(scheme):]
	if key != "" && key[0] != ' ' {
		return "", false
	}
	return strings.Trim(key, " "), true
}

// bearer returns the principal of an API key. The store compares hashes, so that response
// times do not reveal how much of a key is correct.
func (a *Authenticator) bearer(ctx context.Context, text string) (Principal, error) {
	if text == "" || len(text) > maxKeyLength {
		return Principal{}, problem("token_rejected")
	}
	key, known, err := a.cache.Load().keys.get(ctx, adapter.HashAPIKey(text))
	switch {
	case err != nil:
		return Principal{}, err
	case !known:
		return Principal{}, problem("token_rejected")
	case key.Revoked:
		return Principal{}, problem("token_revoked")
	case key.Kind == adapter.CustomerKey && key.CustomerID != 0:
		return Principal{Role: contract.Customer, CustomerID: key.CustomerID, KeyID: key.ID}, nil
	case key.Kind == adapter.AdminKey && key.CustomerID == 0:
		return Principal{Role: contract.Admin, AdminID: key.AdminID, KeyID: key.ID}, nil
	default:
		return Principal{}, internalProblem("User type is unknown")
	}
}
