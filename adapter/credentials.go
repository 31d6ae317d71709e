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
	// Callback is where users go who have consented, when the program asks for no
	// other place, and RejectedCallback where those go who have not. Both may be "".
	Callback, RejectedCallback string
}

// A TokenType tells the stages of an OAuth token apart.
type TokenType string

const (
	// RequestToken waits for its user's consent, or to be exchanged.
	RequestToken TokenType = "request"
	// AccessToken may sign API calls.
	AccessToken TokenType = "access"
)

// A Token is an OAuth 1.0a token. At most one of AdminID and CustomerID is not
// zero; both are zero for a request token that nobody has authorised.
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
	// Callback is where the user goes whose consent a request token was made for, or
	// "oob". Verifier tells the program of the consent: "" before it.
	Callback, Verifier string
}

// A KeyKind says whom an API key acts for.
type KeyKind string

const (
	AdminKey    KeyKind = "admin"
	CustomerKey KeyKind = "customer"
)

// An APIKey lets a client call with nothing but a text that it sends. What the text
// is nobody knows but the client.
type APIKey struct {
	ID   int64
	Name string // of the client, for people
	Kind KeyKind
	// CustomerID is the customer whom a CustomerKey acts for; 0 for an AdminKey.
	CustomerID int64
	// AdminID is the administrator who an AdminKey belongs to, and who must not be
	// disabled; 0 for a key that belongs to nobody in particular.
	AdminID   int64
	Revoked   bool
	CreatedAt time.Time
}

// An Admin is an administrator as another system knows him.
type Admin struct {
	ID           int64
	Username     string
	PasswordHash string // of any form that VerifyPassword knows; "" for none
	Disabled     bool   // he may not log in, nor may others with his tokens
}

// A ForeignToken is a token as another system knows it, under its ids.
type LegacyToken struct {
	Token
	// CustomerEmail is the e-mail address that the customer CustomerID has there, "" for
	// none: the same id may be another person's elsewhere.
	CustomerEmail string
}

// HashAPIKey returns what is stored of the text of a key: its SHA-256 in hexadecimal.
// A text is made as long and random as the hash is, so that it needs no salt.
func HashAPIKey(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
