package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// Grants keeps the tokens that programs get by the consent of users (wire 13). Errors
// other than those of kind NotFound mean that the store cannot tell.
type Grants interface {
	// Begin stores a new request token of a consumer and returns it; its user is to go
	// to callback. Kinds: NotFound for an unknown consumer.
	Begin(ctx context.Context, consumerID int64, callback string) (adapter.Token, error)
	// Pending returns a token of any type, letter case ignored, as it is at this
	// moment, and its consumer, whose secret may be left out. Request tokens that are
	// too old to count are not found. Kinds: NotFound.
	Pending(ctx context.Context, token string) (adapter.Token, adapter.Consumer, error)
	// Authorise gives a request token to an administrator or a customer, the other id
	// being 0, with a new verifier, and returns it. At the same moment the user's
	// other tokens of the consumer are gone. Kinds: NotFound when no such request token
	// waits, when there is no such customer, or when the administrator is disabled.
	Authorise(ctx context.Context, token string, adminID, customerID int64) (adapter.Token, error)
	// Reject deletes a request token that waits for its user. Kinds: NotFound when no
	// such request token waits.
	Reject(ctx context.Context, token string) error
	// Exchange puts a new access token in the place of a request token that was
	// authorised with the verifier, and returns it. Kinds: NotFound when there is none,
	// or no more.
	Exchange(ctx context.Context, token, verifier string) (adapter.Token, error)
}

// ErrUngranted is returned for a request token that is exchanged before its user has
// consented, where the original fails on it (wire 14). It is answered as
// [ErrUnverifiable] is.
var ErrUngranted = errors.New("auth: the request token has no verifier")

// A Granting hands out tokens by the consent of users. It is safe for concurrent use.
type Granting struct {
	auth           *Authenticator
	grants         Grants
	ungrantedCrash bool
}

// NewGranting returns a Granting whose programs a verifies. With ungrantedCrash a
// request token that nobody has authorised fails with [ErrUngranted], otherwise with a
// [Problem].
func NewGranting(a *Authenticator, grants Grants, ungrantedCrash bool) *Granting {
	return &Granting{auth: a, grants: grants, ungrantedCrash: ungrantedCrash}
}

// Initiate returns a new request token for the program that sends r (wire 13). OAuth
// parameters are found whatever scheme the Authorization value has. Errors are those
// of [Authenticator.Authenticate].
func (g *Granting) Initiate(ctx context.Context, r *Request) (adapter.Token, error) {
	c, err := g.newCall(r)
	if err != nil {
		return adapter.Token{}, err
	}
	consumer, callback, err := g.initiator(ctx, c)
	if err := g.auth.settleNonce(ctx, c, err); err != nil {
		return adapter.Token{}, err
	}
	token, err := g.grants.Begin(ctx, consumer.ID, callback)
	if adapter.KindOf(err) == adapter.NotFound && err != nil { // removed since it was remembered
		return adapter.Token{}, problem("consumer_key_rejected")
	}
	return token, err
}

// Token returns the access token for which the program that sends r gives a request
// token, and the verifier of its user's consent (wire 13). Errors are those of
// Initiate, and [ErrUngranted].
func (g *Granting) Token(ctx context.Context, r *Request) (adapter.Token, error) {
	c, err := g.newCall(r)
	if err != nil {
		return adapter.Token{}, err
	}
	token, err := g.granted(ctx, c)
	if err := g.auth.settleNonce(ctx, c, err); err != nil {
		return adapter.Token{}, err
	}
	access, err := g.grants.Exchange(ctx, token.Token, token.Verifier)
	if err != nil {
		return adapter.Token{}, rejectUnknown(err)
	}
	return access, nil
}

// newCall is [newCall] for a request whose Authorization value may have any scheme.
func (g *Granting) newCall(r *Request) (*call, error) {
	credentials, _ := cutScheme(r.Authorization)
	return newCall(r, credentials)
}

// initiator runs the checks of a request for a request token, without the nonce's, and
// returns who sends it and where its user is to go.
func (g *Granting) initiator(ctx context.Context, c *call) (consumer adapter.Consumer, callback string, err error) {
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

// granted runs the checks of a request for an access token, without the nonce's, and
// returns the request token.
func (g *Granting) granted(ctx context.Context, c *call) (adapter.Token, error) {
	consumer, err := g.auth.consumer(ctx, c)
	if err != nil {
		return adapter.Token{}, err
	}
	text, err := tokenText(c)
	if err != nil {
		return adapter.Token{}, err
	}
	// Not from memory: a moment ago the token may have had no verifier.
	token, _, err := g.pending(ctx, text)
	if err != nil {
		return adapter.Token{}, err
	}
	if err := g.checkGrant(c, token, consumer); err != nil {
		return adapter.Token{}, err
	}
	return token, g.auth.verify(c, consumer.Secret, &token)
}

// checkGrant runs the checks between a token that is known and its signature.
func (g *Granting) checkGrant(c *call, token adapter.Token, consumer adapter.Consumer) error {
	verifier, _ := c.oauth.get("oauth_verifier")
	switch {
	case !c.oauth.filled("oauth_verifier"):
		return parameterAbsent("oauth_verifier")
	case len(verifier.value) != credentialLength:
		return problem("verifier_invalid")
	case token.Verifier == "" && token.Type == adapter.RequestToken && g.ungrantedCrash:
		return ErrUngranted
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
	if !storable(text) {
		return adapter.Token{}, adapter.Consumer{}, problem("token_rejected")
	}
	token, consumer, err := g.grants.Pending(ctx, text)
	return token, consumer, rejectUnknown(err)
}

// rejectUnknown turns the error for what a store does not have into the problem that
// it is.
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

// Waiting returns the request token of a text that waits for its user, and its
// consumer. A [*Problem] says that none does: it is unknown, or somebody has decided.
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

// Authorise gives the request token of a text to an administrator or a customer, the
// other id being 0, and returns it with its verifier. The user's other tokens of the
// program are refused from now on: here at once, by other processes within the time
// that they remember credentials. A [*Problem] says that no such token waits.
func (g *Granting) Authorise(ctx context.Context, text string, adminID, customerID int64) (adapter.Token, error) {
	token, err := g.grants.Authorise(ctx, text, adminID, customerID)
	if err != nil {
		return adapter.Token{}, rejectUnknown(err)
	}
	g.auth.PurgeCredentials()
	return token, nil
}

// Reject ends the request token of a text: its user has said no. A [*Problem] says that
// no such token waits.
func (g *Granting) Reject(ctx context.Context, text string) error {
	return rejectUnknown(g.grants.Reject(ctx, text))
}
