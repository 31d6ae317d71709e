package resource

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A Call is one request on its way through the pipeline. Each step adds its results; a
// handler can rely on all of them.
type Call struct {
	contract.Address
	Format    contract.Format // of the reply
	Principal auth.Principal
	Query     codec.Node // the decoded query string
	Body      codec.Node // the decoded body; for a single record, only the fields the caller may write
	List      bool       // whether the body of a POST is a list of records

	HTTP   *http.Request // the request, whose body only the pipeline reads
	Scheme string        // http or https, as used by the client

	// Limits are the limits of a list for which the caller sets no limit. RefuseAbove,
	// unless 0, is the length above which such a list of products is refused.
	Limits      Limits
	RefuseAbove int64

	// The reply cache needs these to encode the reply.
	Expiry  *Expiry // until when the prices in the reply hold; nil if it shows none
	FormKey string  // the random form key in the reply, if any
}

// An Expiry is the time at which a reply becomes outdated, although no record changes.
type Expiry struct {
	At   string         // in the format of stored times; "" for never
	Zone *time.Location // of At
}

// FormKeyLength is the length of the random key of a form.
const FormKeyLength = 16

// NewFormKey returns a random key for a form.
func NewFormKey() string { return rand.Text()[:FormKeyLength] }

// Param returns the decoded path parameter called name.
func (c *Call) Param(name string) string {
	if i, ok := c.Route.Param(name); ok {
		return c.Params[i]
	}
	return ""
}

// BodyField returns the value of a field of the body, or a null node.
func (c *Call) BodyField(field string) *codec.Node {
	if n, ok := c.Body.Get(field); ok {
		return n
	}
	return &codec.Node{}
}

// A Reply is the result of a handler. Without Body the reply is empty.
type Reply struct {
	Status   int    // 0 means 200
	Location string // of a newly created record: a path that begins with /api/rest
	Body     *codec.Node
	// NextBatch, unless nil, continues the non-empty list in Body. Each call passes the
	// entries of the next batch to add, which returns without blocking, and reports
	// whether there may be more.
	NextBatch func(ctx context.Context, add func(*codec.Member)) (more bool, err error)
	// Numbered names the entries of an XML list data_item_1, data_item_2, …
	Numbered bool
	// Release, unless nil, is called once Body has been rendered.
	Release func()
}

// IsGuest reports whether the caller has no credentials.
func (c *Call) IsGuest() bool { return c.Principal.Role == contract.Guest }

// noOwner matches no customer.
const noOwner = -1

// OwnerID returns the id of the customer whose records the caller may see: 0, which means
// all, for an Admin, and one that no customer has for a Guest.
func (c *Call) OwnerID() int64 {
	switch c.Principal.Role {
	case contract.Admin:
		return 0
	case contract.Customer:
		return c.Principal.CustomerID
	default:
		return noOwner
	}
}

// PathOrQuery returns the value of a path parameter, or of the query parameter of that
// name if the route has no such path parameter. It returns "" if there is neither. ok is
// false if the query parameter is not a text.
func (c *Call) PathOrQuery(name string) (value string, ok bool) {
	if at, bound := c.Route.Param(name); bound {
		return c.Params[at], true
	}
	node, sent := c.Query.Get(name)
	if !sent {
		return "", true
	}
	return node.Text, node.Kind == codec.Text
}

// WritableMembers returns the members that are fields the caller may write in dialect d, in
// their order.
func (c *Call) WritableMembers(d *contract.Dialect, members []codec.Member) []codec.Member {
	var writable []codec.Member
	for _, m := range members {
		if i, ok := c.Route.Fields.Index(m.Key); ok && c.Route.Fields.Fields[i].Writable(d, c.Principal.Role) {
			writable = append(writable, m)
		}
	}
	return writable
}

// BaseURL returns the base URL of the shop, without a trailing slash, for the links in
// the reply: public if it is set, otherwise the scheme and host that the client used.
func (c *Call) BaseURL(public string) string {
	if public != "" {
		return strings.TrimRight(public, "/")
	}
	return c.Scheme + "://" + c.HTTP.Host
}

// IsSecure reports whether the request came over https, or names the port of https (configurations 2).
func (c *Call) IsSecure() bool {
	return c.Scheme == "https" || strings.HasSuffix(c.HTTP.Host, ":443")
}

// Created replies with the location of a new record, below a path of the route table
// such as "/customers/".
func Created(path string, key adapter.Key) *Reply {
	return &Reply{Location: contract.Base + path + strconv.FormatInt(int64(key), 10)}
}
