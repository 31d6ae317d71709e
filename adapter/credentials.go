package adapter

import "time"

// A Consumer is a registered OAuth 1.0a client program.
type Consumer struct {
	ID     int64
	Name   string
	Key    string
	Secret string
}

// A TokenType tells the stages of an OAuth token apart.
type TokenType string

const (
	// RequestToken waits for its user's consent.
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
}
