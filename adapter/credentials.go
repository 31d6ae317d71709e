package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// A Consumer is a registered OAuth 1.0a client program.
type Consumer struct {
	ID     int64
	Name   string
	Key    string
	Secret string
	// Callback is the address to which users are sent after granting access, unless the
	// program asks for another one; RejectedCallback, after denying it. Both may be "".
	Callback, RejectedCallback string
}

// A TokenType is the stage of an OAuth token.
type TokenType string

const (
	// RequestToken waits for its user's consent, or to be exchanged for an access token.
	RequestToken TokenType = "request"
	// AccessToken may sign API calls.
	AccessToken TokenType = "access"
)

// A Token is an OAuth 1.0a token. At most one of AdminID and CustomerID is set; neither is
// set for a request token that is not authorized yet.
type Token struct {
	ID         int64
	ConsumerID int64
	Type       TokenType
	Token      string
	Secret     string
	AdminID    int64
	CustomerID int64
	Revoked    bool
	CreatedAt  time.Time
	// Callback is the address to which the user of a request token is sent after consent,
	// or "oob". Verifier proves the consent to the program; it is "" before that.
	Callback, Verifier string
}

// A Grant is a consumer with its tokens.
type Grant struct {
	Consumer Consumer
	Tokens   []Token
}

// A KeyKind is the kind of account on whose behalf an API key acts.
type KeyKind string

const (
	// AdminKey acts as an administrator.
	AdminKey KeyKind = "admin"
	// CustomerKey acts as one customer.
	CustomerKey KeyKind = "customer"
)

// An APIKey authenticates a client by a text that it sends. Only the client knows the text:
// Portico stores its hash.
type APIKey struct {
	ID   int64
	Name string // of the client, for humans
	Kind KeyKind
	// CustomerID is the customer on whose behalf a CustomerKey acts; 0 for an AdminKey.
	CustomerID int64
	// AdminID is the administrator who owns an AdminKey, which stops working when the
	// administrator is disabled; 0 for a key that no administrator owns.
	AdminID   int64
	Revoked   bool
	CreatedAt time.Time
}

// An Admin is an administrator.
type Admin struct {
	ID           int64
	Username     string
	PasswordHash string // in any form that VerifyPassword knows; "" for none
	Disabled     bool   // neither the administrator nor a holder of the administrator's tokens may log in
}

// A LegacyToken is a token of the legacy store, with the ids it has there.
type LegacyToken struct {
	Token
	// CustomerEmail is the e-mail address of the customer CustomerID in the legacy store,
	// "" for none. It guards against ids that belong to different people in the two
	// systems.
	CustomerEmail string
	// Unauthorized reports that the legacy store does not accept the access token, because
	// no user has authorized it.
	Unauthorized bool
}

// HashAPIKey returns the hash under which an API key is stored: the SHA-256 of its text in
// hexadecimal. The hash needs no salt, as keys are random and as long as the hash.
func HashAPIKey(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
