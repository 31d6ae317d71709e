package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Credentials finds registered consumers and tokens. Errors other than those of
// kind NotFound mean that the store cannot tell.
type Credentials interface {
	// Consumer returns the consumer with the key, letter case ignored.
	// Kinds: NotFound.
	Consumer(ctx context.Context, key string) (adapter.Consumer, error)
	// Token returns the token with the text, letter case ignored.
	// Kinds: NotFound.
	Token(ctx context.Context, token string) (adapter.Token, error)
}

// Nonces remembers which nonces were used. A nonce is at most 32 characters of
// valid UTF-8 without U+0000.
type Nonces interface {
	// Use stores the nonce with its timestamp in Unix seconds and reports
	// whether it was new. Of several calls at once with one nonce, one finds it
	// new.
	Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error)
	// Used reports whether the nonce is stored, and stores nothing.
	Used(ctx context.Context, nonce string) (bool, error)
}

// A Principal is who sends a call (Authentication, 1 to 3). Only the id that
// belongs to its role is set; a Guest has none at all.
type Principal struct {
	Role       contract.Role
	CustomerID int64
	AdminID    int64 // 0 for an Admin who calls with an API key that belongs to nobody
	// The client program of a Customer or an Admin: a consumer, or an API key.
	ConsumerID, KeyID int64
}

// Client returns a number that no other client program has, 0 for a Guest.
func (p Principal) Client() int64 {
	if p.KeyID != 0 {
		return -p.KeyID
	}
	return p.ConsumerID
}

// A Request is what authentication needs of an HTTP request.
type Request struct {
	Method string
	// Scheme is "http" or "https", as the client used it.
	Scheme string
	// Host is the Host header, or the host of an absolute request target, with
	// its port if it was sent.
	Host string
	// Target is the request target exactly as sent, in origin or absolute form.
	Target        string
	Authorization string
	ContentType   string
	// Form returns the whole urlencoded body, of at most [MaxForm] bytes. It is
	// called at most once, and only for a body of that type that credentials or a
	// signature may depend on; nil is no body.
	Form func() ([]byte, error)
	// Client is the network address of the sender, or "". It tells those apart who fail
	// with the same nonce.
	Client string
	// Again: the call has been sent once, and is looked at again. Its nonce, which
	// it has used itself, is not asked for.
	Again bool
}

// MaxForm is the largest urlencoded body that is read for its credentials, or for
// what its signature covers, in bytes. The interface takes no data in such bodies.
const MaxForm = 64 << 10

// Options are the settings of an [Authenticator]; the zero value is valid.
type Options struct {
	// PublicURL is the base URL clients are told, or nil. Its scheme and host
	// may have been signed instead of the request's own.
	PublicURL *url.URL
	// CredentialTTL is how long an answer of Credentials is remembered, "not
	// found" included; 0 is 3 s.
	CredentialTTL time.Duration
	// RSACrashes makes an RSA-SHA1 signature fail with [ErrUnverifiable], as
	// the original fails on it (wire 14), instead of with a [Problem].
	RSACrashes bool
	// TimestampMaxAge, unless 0, is how old the timestamp of a signature may be. It must be
	// shorter by ten minutes than the time for which Nonces remembers: until then a
	// call that was overheard could be sent again. 0 takes any age (wire 12).
	TimestampMaxAge time.Duration
	// RefusePlaintext refuses the signature method PLAINTEXT as one that is not known.
	RefusePlaintext bool
	// Keys finds API keys; nil: an Authorization value of the Bearer scheme means
	// nothing, like those of all others but OAuth (wire 4).
	Keys Keys
	// Now tells the time; nil is time.Now.
	Now func() time.Time
}

// ErrUnverifiable is returned for an RSA-SHA1 signature with
// [Options.RSACrashes]; it is answered with 500 and an empty body (wire 14).
var ErrUnverifiable = errors.New("auth: RSA-SHA1 signatures cannot be verified")

// An Authenticator verifies the credentials of calls. It is safe for concurrent
// use.
type Authenticator struct {
	credentials     Credentials
	nonces          Nonces
	keys            Keys // nil: no caller has any
	publicOrigins   []string
	ttl             time.Duration
	rsaCrashes      bool
	refusePlaintext bool
	timestampMaxAge time.Duration
	now             func() time.Time
	cache           atomic.Pointer[credentialCache]
}

// New returns an Authenticator that looks into the two stores.
func New(credentials Credentials, nonces Nonces, o Options) *Authenticator {
	a := &Authenticator{
		credentials: credentials, nonces: nonces, keys: o.Keys, ttl: o.CredentialTTL,
		rsaCrashes: o.RSACrashes, refusePlaintext: o.RefusePlaintext, timestampMaxAge: o.TimestampMaxAge, now: o.Now,
	}
	if a.ttl == 0 {
		a.ttl = 3 * time.Second
	}
	if a.now == nil {
		a.now = time.Now
	}
	if o.PublicURL != nil {
		a.publicOrigins = origins(o.PublicURL.Scheme, o.PublicURL.Host)
	}
	a.Purge()
	return a
}

// Purge forgets everything, for when the store was replaced.
func (a *Authenticator) Purge() {
	a.cache.Store(newCredentialCache(a.credentials, a.keys, a.ttl, a.now))
}

// PurgeCredentials forgets every remembered credential, for when a token was removed. A
// nonce that came with a wrong signature stays used up for its sender.
func (a *Authenticator) PurgeCredentials() {
	c := newCredentialCache(a.credentials, a.keys, a.ttl, a.now)
	c.failedNonces = a.cache.Load().failedNonces
	a.cache.Store(c)
}

// Anonymous reports whether an Authorization value holds no credentials, so that its
// sender is a Guest (wire 4).
func (a *Authenticator) Anonymous(authorization string) bool {
	if Signed(authorization) {
		return false
	}
	_, bearer := cutBearer(authorization)
	return !bearer || a.keys == nil
}

// Authenticate returns who sends r (wire 12). Without an Authorization value of
// the OAuth scheme, or with Options.Keys of the Bearer scheme, that is a Guest. Errors: a [*Problem] when the credentials
// are refused; [ErrUnverifiable]; an error of Request.Form, wrapped; anything
// else means that a store failed and the caller's credentials are not known to
// be wrong.
func (a *Authenticator) Authenticate(ctx context.Context, r *Request) (Principal, error) {
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
		return Principal{}, err
	}
	consumer, token, err := a.credentialsOf(ctx, c)
	if err := a.settleNonce(ctx, c, err); err != nil {
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

// credentialsOf runs checks 1 to 14, without the nonce's.
func (a *Authenticator) credentialsOf(ctx context.Context, c *call) (consumer adapter.Consumer, token adapter.Token, err error) {
	if consumer, err = a.consumer(ctx, c); err != nil {
		return consumer, token, err
	}
	if token, err = a.token(ctx, c, consumer); err != nil {
		return consumer, token, err
	}
	return consumer, token, a.verify(c, consumer.Secret, &token)
}

// A call is a request whose OAuth parameters are found.
type call struct {
	request     *Request
	path, query string
	oauth       parameters
	form        string // an urlencoded body, once read
	formRead    bool

	// nonce is that of the call, as it is stored, once the checks have reached it, and
	// timestamp what it comes with. A call has none whose nonce does not count.
	nonce     string
	timestamp int64
	// What check 14 has found, if it has been reached.
	signatureValid, signatureInvalid bool
}

// newCall runs check 0 and collects the parameters: from the header, or else
// from an urlencoded body, or else from the query.
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

// readForm fills c.form if the body is urlencoded.
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

// verify runs check 14; token is nil for a call that has none yet. An RSA signature
// gets this far, because that is where the original ends (wire 12 and 14). With an
// empty secret no signature is valid: anyone who knows the key could make one.
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
		valid = verifyPlaintext(given, consumerSecret, tokenSecret)
	case methodHMAC:
		if err := c.readForm(); err != nil {
			return err
		}
		method, origins := strings.ToUpper(c.request.Method), a.signable(c.request)
		valid = verifyHMAC(given, consumerSecret, tokenSecret, method, origins, c.path, normalize(c.signed(onlyLast), onlyLast)) ||
			verifyHMAC(given, consumerSecret, tokenSecret, method, origins, c.path, normalize(c.signed(everyPair), everyPair))
	}
	valid = valid && consumerSecret != "" && (token == nil || tokenSecret != "")
	c.signatureValid, c.signatureInvalid = valid, !valid
	if !valid {
		return problem("signature_invalid")
	}
	return nil
}

// signable returns the origins a client may have signed, each once.
func (a *Authenticator) signable(r *Request) []string {
	all := origins(r.Scheme, r.Host)
	for _, origin := range a.publicOrigins {
		if !slices.Contains(all, origin) {
			all = append(all, origin)
		}
	}
	return all
}

// A coverage is which parameters a signature covers.
type coverage uint8

const (
	// onlyLast: as the original has it (wire 12). Of a name the last value counts, of
	// the query's pairs those with exactly one "=".
	onlyLast coverage = iota
	// everyPair: each pair counts, one without "=" as an empty value, as RFC 5849 has
	// it (3.4.1.3), and the libraries that follow it. Who signs all of a request is no
	// less sure of it. A plus stays a plus: the original refuses another reading.
	everyPair
)

// signed returns the parameters a signature covers. With onlyLast, of one name the
// query's counts before the body's, and an OAuth parameter before both.
func (c *call) signed(covered coverage) parameters {
	all := make(parameters, 0, strings.Count(c.form, "&")+strings.Count(c.query, "&")+2+len(c.oauth))
	all = appendSignedForm(all, c.form)
	all = appendSignedQuery(all, c.query, covered)
	for _, p := range c.oauth {
		if p.name != "oauth_signature" {
			all = append(all, p)
		}
	}
	return all
}
