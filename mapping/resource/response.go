package resource

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
)

// IsAPIRequest reports whether the path of r belongs to the API (wire 2).
func IsAPIRequest(r *http.Request) bool {
	if r.URL.RawPath == "" { // EscapedPath would escape nothing in Base
		return strings.HasPrefix(r.URL.Path, contract.Base)
	}
	return strings.HasPrefix(r.URL.EscapedPath(), contract.Base)
}

// A Request is the input of the methods of the service. It must not be used by two
// goroutines at the same time.
type Request struct {
	HTTP   *http.Request
	Scheme string // http or https, as used by the client
	// Client is the network address of the client, or empty. Authentication uses it to
	// distinguish clients that send the same nonce.
	Client string

	address contract.Address // valid if matched
	matched bool
}

// AddressIn returns the address of r in the contract. It looks for the route in table only
// once. For a request outside the API only the fields that describe the method are set.
func (r *Request) AddressIn(table *contract.Table) *contract.Address {
	if !r.matched {
		r.address, _ = table.Address(r.HTTP.Method, r.HTTP.URL.EscapedPath())
		r.matched = true
	}
	return &r.address
}

// A Response is a response ready to be written.
type Response struct {
	Status      int
	ContentType string
	Location    string
	RetryAfter  int // seconds after which a retry may succeed; 0 if unknown
	Body        []byte
	// Stream, unless nil, writes a body of unknown length in place of Body, and returns
	// the number of records it wrote. It must be called exactly once. After an error the
	// body is incomplete, and the connection must be broken so that the client notices;
	// the LogInterruptedList of the service logs the error.
	Stream func(context.Context, io.Writer) (records int64, err error)

	// CacheOutcome is the cache's answer to the call: "hit", "miss", "stale", "coalesced" or
	// "bypass"; it is empty for replies that are not cached. Other responses may share the
	// Body of a cached reply, so it must not be modified. Age is the age of the reply,
	// EntityTag the value of its ETag header or empty.
	CacheOutcome string
	Age          time.Duration
	EntityTag    string

	// These fields describe the call for logs and metrics.
	Call    string
	Role    string
	Format  string
	Problem string // the OAuth problem that refused the call, if any
	// Refusal is the reason, in words, why the call was refused or has failed, without
	// values of the request; it is empty for cached replies.
	Refusal string
	KeyID   int64 // id of the API key with which the call was authenticated, 0 without one
	Legacy  bool  // whether the legacy store has answered
	// ClientError reports that the client caused a status of 500 or above: it sent a
	// request for which the contract demands that status, or it has gone.
	ClientError bool
}

// HTMLType is the Content-Type of bare replies.
const HTMLType = "text/html; charset=UTF-8"

// Describe sets the fields that describe c.
func (r *Response) Describe(c *Call) {
	r.Call = c.Name()
	r.Role = c.Principal.Role.String()
	r.Format = c.Format.String()
	r.KeyID = c.Principal.KeyID
}
