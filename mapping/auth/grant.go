package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Grants stores the tokens that users grant to programs (wire 13). An error of any kind but
// NotFound means that the store failed.
type Grants interface {
	// Begin stores a new request token of a consumer, with the callback to which its user
	// returns, and returns the token. Kinds: NotFound for an unknown consumer.
	Begin(ctx context.Context, consumerID int64, callback string) (adapter.Token, error)
	// Pending returns the current state of a token of any type, ignoring letter case, and its
	// consumer, whose secret may be missing. It does not find expired request tokens.
	// Kinds: NotFound.
	Pending(ctx context.Context, token string) (adapter.Token, adapter.Consumer, error)
	// Authorize assigns a request token to an administrator or a customer (the other id is
	// 0), gives it a new verifier, and returns it. In the same transaction it deletes the
	// user's other tokens of the consumer. Kinds: NotFound if no such request token is
	// waiting, if the customer does not exist, or if the administrator is disabled.
	Authorize(ctx context.Context, token string, adminID, customerID int64) (adapter.Token, error)
	// Reject deletes a request token that is waiting for its user. Kinds: NotFound if no such
	// request token is waiting.
	Reject(ctx context.Context, token string) error
	// Exchange replaces an authorized request token with a new access token, if the verifier
	// matches, and returns the access token. Kinds: NotFound if there is no such request
	// token (any more).
	Exchange(ctx context.Context, token, verifier string) (adapter.Token, error)
}

// ErrNotConsented is the error for the exchange of a request token whose user has not consented
// yet, where the original crashes (wire 14). The reply to it is that to [ErrUnverifiable].
var ErrNotConsented = errors.New("auth: the request token has no verifier")

// A Granting issues tokens with the consent of users. It is safe for concurrent use.
type Granting struct {
	auth                 *Authenticator
	grants               Grants
	unapprovedTokenCrash bool
}

// NewGranting returns a Granting that authenticates programs with a. With unapprovedTokenCrash, the
// exchange of a request token before its user's consent fails with [ErrNotConsented], otherwise
// with a [Problem].
func NewGranting(a *Authenticator, grants Grants, unapprovedTokenCrash bool) *Granting {
	return &Granting{auth: a, grants: grants, unapprovedTokenCrash: unapprovedTokenCrash}
}

// Initiate returns a new request token for the program that sends r (wire 13). It accepts OAuth
// parameters with any scheme of the Authorization header. It returns the same errors as
// [Authenticator.Authenticate].
func (g *Granting) Initiate(ctx context.Context, r *Request) (adapter.Token, error) {
	c, err := g.newCall(r)
	if err != nil {
		g.auth.logRefusal(ctx, r, nil, err)
		return adapter.Token{}, err
	}
	consumer, callback, err := g.checkInitiate(ctx, c)
	if err := g.auth.settleNonce(ctx, c, err); err != nil {
		g.auth.logRefusal(ctx, r, c, err)
		return adapter.Token{}, err
	}
	token, err := g.grants.Begin(ctx, consumer.ID, callback)
	if adapter.KindOf(err) == adapter.NotFound && err != nil { // removed since it was cached
		return adapter.Token{}, problem("consumer_key_rejected")
	}
	return token, err
}

// Token exchanges a request token and the verifier of its user's consent, both sent in r, for an
// access token, which it returns (wire 13). It returns the same errors as Initiate, and
// [ErrNotConsented].
func (g *Granting) Token(ctx context.Context, r *Request) (adapter.Token, error) {
	c, err := g.newCall(r)
	if err != nil {
		g.auth.logRefusal(ctx, r, nil, err)
		return adapter.Token{}, err
	}
	token, err := g.checkExchange(ctx, c)
	if err := g.auth.settleNonce(ctx, c, err); err != nil {
		g.auth.logRefusal(ctx, r, c, err)
		return adapter.Token{}, err
	}
	access, err := g.grants.Exchange(ctx, token.Token, token.Verifier)
	if err != nil {
		return adapter.Token{}, rejectUnknown(err)
	}
	return access, nil
}

// newCall is [newCall] for any scheme of the Authorization header.
func (g *Granting) newCall(r *Request) (*call, error) {
	credentials, _ := cutScheme(r.Authorization)
	return newCall(r, credentials)
}

// checkInitiate runs the checks of a request for a request token, except the nonce check. It
// returns the consumer and the callback.
func (g *Granting) checkInitiate(ctx context.Context, c *call) (consumer adapter.Consumer, callback string, err error) {
	if consumer, err = g.auth.consumer(ctx, c); err != nil {
		return consumer, "", err
	}
	asked, sent := c.oauth.get("oauth_callback")
	if !sent {
		return consumer, "", parameterAbsent("oauth_callback")
	}
	if asked.value != OutOfBand && !ValidCallback(asked.value) {
		return consumer, "", parameterRejected("oauth_callback")
	}
	if asked.value == OutOfBand && ValidCallback(consumer.Callback) {
		asked.value = consumer.Callback
	}
	return consumer, asked.value, g.auth.verify(c, consumer.Secret, nil)
}

// checkExchange runs the checks of a request for an access token, except the nonce check. It
// returns the request token.
func (g *Granting) checkExchange(ctx context.Context, c *call) (adapter.Token, error) {
	consumer, err := g.auth.consumer(ctx, c)
	if err != nil {
		return adapter.Token{}, err
	}
	text, err := tokenText(c)
	if err != nil {
		return adapter.Token{}, err
	}
	// Not from the cache: the verifier may have been added a moment ago.
	token, _, err := g.pending(ctx, text)
	if err != nil {
		return adapter.Token{}, err
	}
	if err := g.checkGrant(c, token, consumer); err != nil {
		return adapter.Token{}, err
	}
	return token, g.auth.verify(c, consumer.Secret, &token)
}

// checkGrant runs the checks that come after the token was found and before its signature.
func (g *Granting) checkGrant(c *call, token adapter.Token, consumer adapter.Consumer) error {
	verifier, _ := c.oauth.get("oauth_verifier")
	switch {
	case !c.oauth.isPresent("oauth_verifier"):
		return parameterAbsent("oauth_verifier")
	case len(verifier.value) != credentialLength:
		return problem("verifier_invalid")
	case token.Verifier == "" && token.Type == adapter.RequestToken && g.unapprovedTokenCrash:
		return ErrNotConsented
	case token.Verifier == "" || !equal([]byte(verifier.value), []byte(token.Verifier)):
		return problem("verifier_invalid")
	case token.ConsumerID != consumer.ID:
		return problem("token_rejected")
	case token.Type != adapter.RequestToken:
		return problem("token_used")
	case token.Revoked:
		return problem("token_revoked")
	}
	return nil
}

func (g *Granting) pending(ctx context.Context, text string) (adapter.Token, adapter.Consumer, error) {
	if !isStorable(text) {
		return adapter.Token{}, adapter.Consumer{}, problem("token_rejected")
	}
	token, consumer, err := g.grants.Pending(ctx, text)
	return token, consumer, rejectUnknown(err)
}

// rejectUnknown turns a NotFound error of the store into the corresponding problem.
func rejectUnknown(err error) error {
	switch {
	case err == nil:
		return nil
	case adapter.KindOf(err) == adapter.NotFound:
		return problem("token_rejected")
	default:
		return fmt.Errorf("auth: find token: %w", err)
	}
}

// Waiting returns a request token that is waiting for its user, and its consumer. The error
// is a [*Problem] if the token is unknown or its user has already decided.
func (g *Granting) Waiting(ctx context.Context, text string) (adapter.Token, adapter.Consumer, error) {
	if len(text) != credentialLength {
		return adapter.Token{}, adapter.Consumer{}, problem("token_rejected")
	}
	token, consumer, err := g.pending(ctx, text)
	if err == nil && (token.Type != adapter.RequestToken || token.Verifier != "" || token.Revoked) {
		err = problem("token_used")
	}
	return token, consumer, err
}

// Permitted returns the permissions that the role of an administrator or a customer (the other id is 0)
// leaves of all, which are those of the kind of user. The error is that of [Roles].
func (g *Granting) Permitted(ctx context.Context, adminID, customerID int64, all []contract.Permission) ([]contract.Permission, error) {
	p := Principal{Role: contract.Customer, CustomerID: customerID, AdminID: adminID}
	if adminID != 0 {
		p.Role = contract.Admin
	}
	p, err := g.auth.withRights(ctx, p, nil)
	if err != nil || p.NoRole {
		return nil, err
	}
	return p.Grants.Within(all), nil
}

// Authorize grants a request token to an administrator or a customer (the other id is 0) and
// returns it with its verifier. The user's other tokens of the program become invalid: here
// immediately, in other processes when their cached credentials expire. The error is a
// [*Problem] if no such token is waiting.
func (g *Granting) Authorize(ctx context.Context, text string, adminID, customerID int64) (adapter.Token, error) {
	token, err := g.grants.Authorize(ctx, text, adminID, customerID)
	if err != nil {
		return adapter.Token{}, rejectUnknown(err)
	}
	g.auth.PurgeCredentials()
	return token, nil
}

// Reject deletes a request token, because its user has rejected it. The error is a [*Problem]
// if no such token is waiting.
func (g *Granting) Reject(ctx context.Context, text string) error {
	return rejectUnknown(g.grants.Reject(ctx, text))
}

const (
	// OutOfBand is the callback of programs without a URL: their users copy the verifier by
	// hand.
	OutOfBand = "oob"
	// maxCallbackLength is the maximum length of a callback in bytes.
	maxCallbackLength = 2048
)

// ValidCallback reports whether text can be a callback (wire 13): an absolute HTTP URL with
// any path and query.
func ValidCallback(text string) bool {
	if len(text) > maxCallbackLength {
		return false
	}
	before, fragment, _ := strings.Cut(text, "#")
	if !validURI(before) || !validURI(fragment) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	if port := u.Port(); port != "" {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// Callback adds parameters to the query of a valid callback. Each parameter is a name and a
// value joined by "=", neither of which needs escapes.
func Callback(callback string, parameters ...string) string {
	before, fragment, fragmented := strings.Cut(callback, "#")
	separator := "?"
	if strings.Contains(before, "?") {
		separator = "&"
	}
	before += separator + strings.Join(parameters, "&")
	if fragmented {
		before += "#" + fragment
	}
	return before
}
