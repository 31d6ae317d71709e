package mapping

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
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

	request       *http.Request
	scheme        string
	clientAddress string // the client's network address, if known
	body          []byte
	form          []byte // a form-encoded body that authentication has read
	formRead      bool
	reserved      int64 // bytes reserved from the request budget until the call has been answered
	shadowRead    bool  // a repetition, for comparison only, of a read that the other system has answered
	// The reply cache needs these to encode the reply.
	buyer   *buyer // the buyer whose prices the reply shows, if any
	formKey string // the random form key in the reply, if any
}

// Param returns the decoded path parameter called name.
func (c *Call) Param(name string) string {
	if i, ok := c.Route.Param(name); ok {
		return c.Params[i]
	}
	return ""
}

// bodyField returns the value of a field of the body, or a null node.
func (c *Call) bodyField(field string) *codec.Node {
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
	// release, unless nil, is called once Body has been rendered.
	release func()
}

// createdReply replies with the location of a new record, below a path of the route table
// such as "/customers/".
func createdReply(path string, key adapter.Key) *Reply {
	return &Reply{Location: contract.Base + path + strconv.FormatInt(int64(key), 10)}
}

// A step is one check of the pipeline.
type step func(*Service, context.Context, *Call) error

// steps returns the checks in the original's order (wire 1). The first failure ends the
// call.
func steps() []step {
	return []step{
		(*Service).negotiate,
		(*Service).limitQuery,
		(*Service).authenticate,
		(*Service).limitConsumer,
		(*Service).checkAPIType,
		(*Service).checkRoute,
		(*Service).checkMethod,
		(*Service).authorize,
		(*Service).checkVersion,
		(*Service).checkImplemented,
		(*Service).decodeQuery,
		(*Service).decodeBody,
		(*Service).checkBodyShape,
		(*Service).reserveEntries,
		(*Service).dropUnwritable,
		(*Service).checkLateRefusal,
	}
}

func (s *Service) runSteps(ctx context.Context, c *Call) error {
	for _, check := range s.steps {
		if err := check(s, ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// handle runs the handler of c, which has passed the steps.
func (s *Service) handle(ctx context.Context, c *Call) (*Reply, error) {
	if s.settings.AwaitChanges != nil {
		s.awaitChanges(ctx)
	}
	return s.handlers[c.Name()](s, s.withFilterLimits(ctx, c), c)
}

// awaitChanges waits until reads show what imports have changed.
func (s *Service) awaitChanges(ctx context.Context) {
	ctx, span := tracing.Start(ctx, tracing.Internal, "await changes", "")
	defer span.End()
	s.settings.AwaitChanges(ctx) // without the backend it fails anyway
}

// negotiate chooses the format of the reply from the Accept header (wire 5). It runs
// before all other checks, because their error replies use that format.
func (s *Service) negotiate(_ context.Context, c *Call) error {
	c.Format = contract.XML
	if c.Route != nil {
		c.Format = c.Route.DefaultFormat(c.Method)
	}
	accept := joinedHeader(c.request.Header, "Accept")
	if accept == "" {
		switch {
		case s.dialect.DefaultFormats:
			return nil
		case s.settings.JSONWithoutAccept:
			c.Format = contract.JSON
			return nil
		}
		return s.dialect.Fault(contract.NotAcceptable)
	}
	format, anything, ok := codec.Negotiate(accept)
	if !ok {
		return s.dialect.Fault(contract.NotAcceptable)
	}
	if !anything || !s.dialect.DefaultFormats {
		c.Format = format
	}
	return nil
}

// limitQuery refuses a query string that is too long. It runs before authentication,
// which may look for credentials there.
func (s *Service) limitQuery(_ context.Context, c *Call) error {
	if len(c.request.URL.RawQuery) > s.settings.QueryBytes {
		return s.dialect.Fault(contract.RequestInvalid)
	}
	return nil
}

// authenticate identifies the caller (wire 12). Without OAuth credentials the caller is a
// Guest.
func (s *Service) authenticate(ctx context.Context, c *Call) error {
	ctx, span := tracing.Start(ctx, tracing.Internal, "authenticate", "")
	defer span.End()
	principal, err := s.auth.Authenticate(ctx, s.credentials(ctx, c))
	c.Principal = principal
	span.SetString("portico.role", principal.Role.String())
	return err
}

func (s *Service) credentials(ctx context.Context, c *Call) *auth.Request {
	r := c.request
	return &auth.Request{
		Method:        r.Method,
		Scheme:        c.scheme,
		Host:          r.Host,
		Target:        r.RequestURI,
		Authorization: r.Header.Get("Authorization"),
		ContentType:   r.Header.Get("Content-Type"),
		Form:          func() ([]byte, error) { return s.readForm(ctx, c) },
		Client:        c.clientAddress,
		Again:         c.shadowRead,
	}
}

// A RateLimitError reports that a caller has exceeded its rate.
type RateLimitError struct {
	RetryAfter int // in seconds
}

// Error says after how many seconds the caller may call again.
func (e *RateLimitError) Error() string {
	return "mapping: too many calls; the next may be sent in " + strconv.Itoa(e.RetryAfter) + " s"
}

// limitConsumer refuses calls beyond the rate of a consumer. It runs after
// authentication, so that nobody can use up the rate of another consumer.
func (s *Service) limitConsumer(_ context.Context, c *Call) error {
	if c.shadowRead {
		return nil
	}
	wait, ok := s.rates.Take(c.Principal.Client())
	if ok {
		return nil
	}
	return &RateLimitError{RetryAfter: wait}
}

// checkAPIType refuses paths that only resemble those of this API.
func (s *Service) checkAPIType(_ context.Context, c *Call) error {
	if !c.IsREST() {
		return s.dialect.Fault(contract.APITypeNotSupported, c.APIType)
	}
	return nil
}

func (s *Service) checkRoute(_ context.Context, c *Call) error {
	if c.Route == nil {
		return s.dialect.Fault(contract.NoRoute)
	}
	return nil
}

func (s *Service) checkMethod(_ context.Context, c *Call) error {
	if !c.Known {
		return s.dialect.Fault(contract.InvalidMethod)
	}
	return nil
}

// authorize refuses roles that lack the privilege for the call (wire 4).
func (s *Service) authorize(_ context.Context, c *Call) error {
	if s.access(c) == contract.Deny {
		return s.dialect.Fault(contract.AccessDenied)
	}
	return nil
}

// access returns the decision on a call, which must have a route.
func (s *Service) access(c *Call) contract.Access {
	access := c.Route.Access(s.dialect, c.Principal.Role, c.Method)
	if access == contract.Serve && s.notOffered[c.Route] {
		return contract.NotImplemented
	}
	return access
}

// checkVersion accepts any positive integer without a leading zero (wire 9).
func (s *Service) checkVersion(_ context.Context, c *Call) error {
	values, sent := c.request.Header["Version"]
	if !sent {
		return nil
	}
	version := strings.Join(values, ", ")
	if strings.Trim(version, "0123456789") == "" && version != "" && version[0] != '0' {
		return nil
	}
	return s.dialect.Fault(contract.InvalidVersion, escapeHTML.Replace(version))
}

var escapeHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;")

// checkImplemented answers 405 to the calls that are refused before their body is read.
func (s *Service) checkImplemented(_ context.Context, c *Call) error {
	switch s.access(c) {
	case contract.NotImplemented:
		return s.dialect.Fault(c.Route.Unimplemented)
	case contract.NotSupported:
		return s.dialect.Fault(contract.MethodNotSupported)
	}
	return nil
}

// decodeQuery decodes the query string for all later steps and the handler.
func (s *Service) decodeQuery(ctx context.Context, c *Call) error {
	if err := s.reserve(ctx, c, codec.Cost(contract.Text, c.request.URL.RawQuery)); err != nil {
		return err
	}
	c.Query = codec.ParseForm(c.request.URL.RawQuery)
	return nil
}

// decodeBody reads and decodes the body of a POST or PUT (wire 6). It ignores the body of
// other methods.
func (s *Service) decodeBody(ctx context.Context, c *Call) error {
	if c.Method != contract.POST && c.Method != contract.PUT {
		return nil
	}
	ctx, span := tracing.Start(ctx, tracing.Internal, "decode body", "")
	defer span.End()
	format, err := s.bodyFormat(ctx, c)
	if err != nil {
		return err
	}
	body, err := s.readBody(ctx, c)
	if err != nil {
		return err
	}
	if err := s.reserve(ctx, c, codec.Cost(format, body)); err != nil {
		return err
	}
	c.Body, err = codec.Decode(format, body)
	switch {
	case errors.Is(err, codec.ErrAlphabet):
		return s.dialect.Fault(contract.InvalidDataType)
	case err != nil:
		return s.dialect.Fault(contract.DecodingError)
	case isEmptyBody(&c.Body):
		return s.dialect.Fault(contract.RequestInvalid)
	case c.Body.Kind != codec.Struct:
		return s.dialect.Fault(contract.ScalarBody)
	}
	return nil
}

// bodyFormat determines the format of the body from its Content-Type (wire 6.1).
func (s *Service) bodyFormat(ctx context.Context, c *Call) (contract.Format, error) {
	format, mediaType, err := codec.ContentType(joinedHeader(c.request.Header, "Content-Type"))
	switch {
	case errors.Is(err, codec.ErrNoContentType):
		if s.dialect.DefaultFormats && !c.Route.ContentTypeRequired {
			return c.Route.DefaultFormat(c.Method), nil
		}
		return 0, s.dialect.Fault(contract.ContentTypeEmpty)
	case errors.Is(err, codec.ErrContentTypeSyntax):
		return 0, s.dialect.Fault(contract.ContentTypeInvalid)
	case errors.Is(err, codec.ErrCharset):
		return 0, s.dialect.Fault(contract.CharsetNotSupported)
	case err != nil:
		return 0, s.dialect.Fault(contract.MediaTypeNotSupported, mediaType)
	}
	if s.dialect.JSONInTextXML && c.Route.ContentTypeRequired && mediaType == "text/xml" {
		body, err := s.readBody(ctx, c)
		if err != nil {
			return 0, err
		}
		if text := bytes.TrimLeft(body, " \t\r\n"); bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")) {
			return contract.JSON, nil
		}
	}
	return format, nil
}

// isEmptyBody reports whether the original takes a decoded body for empty (wire 6.5).
func isEmptyBody(n *codec.Node) bool { return !truthy(n) }

// checkBodyShape decides by its first key whether the body of a POST is a record or a
// list of records (wire 6.5). It refuses a list if the route cannot create several
// records at once.
func (s *Service) checkBodyShape(_ context.Context, c *Call) error {
	if c.Method != contract.POST || c.Route.Shape != contract.Collection {
		return nil
	}
	_, c.List = numeric.Parse(c.Body.Members[0].Key)
	if c.List && !c.Route.CreatesLists {
		return s.dialect.Fault(c.Route.Unimplemented)
	}
	return nil
}

// reserveEntries reserves the memory for the reply to a list of records, which holds an
// entry for each.
func (s *Service) reserveEntries(ctx context.Context, c *Call) error {
	if c.Route.Shape != contract.Collection {
		return nil
	}
	return s.reserve(ctx, c, int64(len(c.Body.Members))*replyEntryBytes)
}

// dropUnwritable drops the fields of a single record that the caller may not write.
// Handlers of lists do the same for each entry.
func (s *Service) dropUnwritable(_ context.Context, c *Call) error {
	created := c.Method == contract.POST && c.Route.Shape == contract.Collection && !c.List
	changed := c.Method == contract.PUT && c.Route.Shape == contract.Entity
	if !created && !changed {
		return nil
	}
	c.Body.Members = s.writableMembers(c, c.Body.Members)
	if len(c.Body.Members) == 0 {
		return s.dialect.Fault(contract.RequestInvalid)
	}
	return nil
}

// writableMembers returns the members that are fields the caller may write, in their
// order.
func (s *Service) writableMembers(c *Call, members []codec.Member) []codec.Member {
	var writable []codec.Member
	for _, m := range members {
		if i, ok := c.Route.Fields.Index(m.Key); ok && c.Route.Fields.Fields[i].Writable(s.dialect, c.Principal.Role) {
			writable = append(writable, m)
		}
	}
	return writable
}

// checkLateRefusal answers the calls that are refused only after the checks of the body.
func (s *Service) checkLateRefusal(_ context.Context, c *Call) error {
	switch s.access(c) {
	case contract.NotSupportedLate:
		return s.dialect.Fault(contract.MethodNotSupported)
	case contract.DenyLate:
		return s.dialect.Fault(contract.UpdateNotSupportedForRole)
	}
	return nil
}

// joinedHeader returns the values of a repeatable header, joined by commas.
func joinedHeader(h http.Header, name string) string {
	switch values := h[name]; len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	default:
		return strings.Join(values, ", ")
	}
}
