package pipeline

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// steps returns the checks in the original's order (wire 1). The first failure ends the
// call.
func steps() []step {
	return []step{
		checkWebService,
		negotiate,
		limitQuery,
		authenticate,
		limitConsumer,
		checkAPIType,
		checkRoute,
		checkMethod,
		authorize,
		checkVersion,
		checkImplemented,
		decodeQuery,
		decodeBody,
		checkBodyShape,
		reserveEntries,
		dropUnchanged,
		dropUnwritable,
		checkLateRefusal,
	}
}

func (s *Pipeline) runSteps(ctx context.Context, c *Run) error {
	for _, check := range s.steps {
		if err := check(ctx, s, c); err != nil {
			return err
		}
	}
	return nil
}

// handle runs the handler of c, which has passed the steps.
func (s *Pipeline) handle(ctx context.Context, c *Run) (*resource.Reply, error) {
	if c.unchanged {
		return &resource.Reply{}, nil
	}
	if s.settings.AwaitChanges != nil {
		s.awaitChanges(ctx)
	}
	return s.handlers[c.Name()](adapter.WithSharedReads(resource.WithFilterLimits(ctx, s.filtersOf(c))), &c.Call)
}

// filtersOf returns the limits of lists with expensive conditions of c.
func (s *Pipeline) filtersOf(c *Run) *resource.FilterLimits {
	if c.IsGuest() {
		return s.guestFilters
	}
	return s.callerFilters
}

// awaitChanges waits until reads show the changes by imports.
func (s *Pipeline) awaitChanges(ctx context.Context) {
	ctx, span := tracing.Start(ctx, tracing.Internal, "await changes", "")
	defer span.End()
	s.settings.AwaitChanges(ctx) // without the backend it fails anyway
}

// checkWebService refuses requests whose query chooses another web service of the original
// (wire 2). It runs first, as the original then asks neither for formats nor for credentials.
func checkWebService(_ context.Context, s *Pipeline, c *Run) error {
	if s.dialect.TypeParameter && !contract.ChoosesREST(c.HTTP.URL.RawQuery, true) {
		return s.dialect.Fault(contract.WebServiceUnknown)
	}
	return nil
}

// negotiate chooses the format of the reply from the Accept header (wire 5). It runs
// before all other checks, because their error replies use that format.
func negotiate(_ context.Context, s *Pipeline, c *Run) error {
	c.Format = contract.XML
	if c.Route != nil {
		c.Format = c.Route.DefaultFormat(c.Method)
	}
	accept := joinedHeader(c.HTTP.Header, "Accept")
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
func limitQuery(_ context.Context, s *Pipeline, c *Run) error {
	if len(c.HTTP.URL.RawQuery) > s.settings.QueryBytes {
		return s.dialect.Fault(contract.RequestInvalid)
	}
	return nil
}

// authenticate identifies the caller (wire 12). Without OAuth credentials the caller is a
// Guest.
func authenticate(ctx context.Context, s *Pipeline, c *Run) error {
	ctx, span := tracing.Start(ctx, tracing.Internal, "authenticate", "")
	defer span.End()
	principal, err := s.auth.Authenticate(ctx, s.Credentials(ctx, c))
	c.Principal = principal
	if c.IsGuest() {
		c.RefuseAbove = s.settings.GuestMaxRows
	}
	span.SetString("portico.role", principal.Role.String())
	return err
}

// Credentials returns the parts of the request from which authentication identifies the
// caller of c.
func (s *Pipeline) Credentials(ctx context.Context, c *Run) *auth.Request {
	r := c.HTTP
	return &auth.Request{
		Method:        r.Method,
		Scheme:        c.Scheme,
		Host:          r.Host,
		Target:        r.RequestURI,
		Authorization: r.Header.Get("Authorization"),
		ContentType:   r.Header.Get("Content-Type"),
		Form:          func() ([]byte, error) { return s.readForm(ctx, c) },
		Client:        c.clientAddress,
		Again:         c.shadowRead,
	}
}

// limitConsumer refuses calls beyond the rate of a consumer. It runs after
// authentication, so that no client can use up the rate of another consumer.
func limitConsumer(_ context.Context, s *Pipeline, c *Run) error {
	if c.shadowRead {
		return nil
	}
	wait, ok := s.rates.Take(c.Principal.Client())
	if ok {
		return nil
	}
	return &RateLimitError{RetryAfter: wait}
}

// checkAPIType refuses paths that only resemble the paths of this API.
func checkAPIType(_ context.Context, s *Pipeline, c *Run) error {
	if !c.IsREST() {
		return s.dialect.Fault(contract.APITypeNotSupported, c.APIType)
	}
	return nil
}

func checkRoute(_ context.Context, s *Pipeline, c *Run) error {
	if c.Route == nil {
		return s.dialect.Fault(contract.NoRoute)
	}
	return nil
}

func checkMethod(_ context.Context, s *Pipeline, c *Run) error {
	if !c.Known {
		return s.dialect.Fault(contract.InvalidMethod)
	}
	return nil
}

// authorize refuses kinds of users who may not make the call (wire 4), and callers whose role does
// not allow it (configurations 8).
func authorize(_ context.Context, s *Pipeline, c *Run) error {
	switch {
	case c.Principal.NoRole:
		return s.dialect.Fault(contract.AdminWithoutRole)
	case s.access(c) == contract.Deny, !c.Principal.Grants.Allow(c.Route.Resource, c.Method):
		return s.dialect.Fault(contract.AccessDenied)
	}
	return nil
}

// access returns the decision on a call, which must have a route.
func (s *Pipeline) access(c *Run) contract.Access {
	access := c.Route.Access(s.dialect, c.Principal.Role, c.Method)
	if access == contract.Serve && s.notOffered[c.Route] {
		return contract.NotImplemented
	}
	return access
}

// checkVersion accepts any positive integer without a leading zero (wire 9).
func checkVersion(_ context.Context, s *Pipeline, c *Run) error {
	values, sent := c.HTTP.Header["Version"]
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
func checkImplemented(_ context.Context, s *Pipeline, c *Run) error {
	switch s.access(c) {
	case contract.NotImplemented:
		return s.dialect.Fault(c.Route.Unimplemented)
	case contract.NotSupported:
		return s.dialect.Fault(contract.MethodNotSupported)
	}
	return nil
}

// decodeQuery decodes the query string for all later steps and the handler.
func decodeQuery(ctx context.Context, s *Pipeline, c *Run) error {
	if err := s.requests.reserve(ctx, c, codec.Cost(contract.Text, c.HTTP.URL.RawQuery)); err != nil {
		return err
	}
	c.Query = codec.ParseForm(c.HTTP.URL.RawQuery)
	return nil
}

// decodeBody reads and decodes the body of a POST or PUT (wire 6). It ignores the body of
// other methods.
func decodeBody(ctx context.Context, s *Pipeline, c *Run) error {
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
	if err := s.requests.reserve(ctx, c, codec.Cost(format, body)); err != nil {
		return err
	}
	c.bodyFormat = format
	c.Body, err = codec.Decode(format, body)
	switch {
	case errors.Is(err, codec.ErrAlphabet):
		return s.dialect.Fault(contract.InvalidDataType)
	case err != nil:
		return s.dialect.Fault(contract.DecodingError)
	case !input.Truthy(&c.Body): // the original takes it for empty (wire 6.5)
		return s.dialect.Fault(contract.RequestInvalid)
	case c.Body.Kind != codec.Struct:
		return s.dialect.Fault(contract.ScalarBody)
	}
	return nil
}

// bodyFormat determines the format of the body from its Content-Type (wire 6.1).
func (s *Pipeline) bodyFormat(ctx context.Context, c *Run) (contract.Format, error) {
	format, mediaType, err := codec.ContentType(joinedHeader(c.HTTP.Header, "Content-Type"))
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
	if c.Route.JSONInTextXML(s.dialect) && mediaType == "text/xml" {
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

// checkBodyShape decides by its first key whether the body of a POST is a record or a
// list of records (wire 6.5). It refuses a list if the route cannot create several
// records at once.
func checkBodyShape(_ context.Context, s *Pipeline, c *Run) error {
	if c.Method != contract.POST || c.Route.Shape != contract.Collection {
		return nil
	}
	_, c.List = codec.ParseNumber(c.Body.Members[0].Key)
	if c.List && !c.Route.CreatesLists {
		return s.dialect.Fault(c.Route.Unimplemented)
	}
	return nil
}

// reserveEntries reserves the memory for the reply to a list of records, which holds an
// entry for each.
func reserveEntries(ctx context.Context, s *Pipeline, c *Run) error {
	if c.Route.Shape != contract.Collection {
		return nil
	}
	return s.requests.reserve(ctx, c, int64(len(c.Body.Members))*replyEntryBytes)
}

// dropUnwritable drops the fields of a single record that the caller may not write.
// Handlers of lists do the same for each entry.
func dropUnwritable(_ context.Context, s *Pipeline, c *Run) error {
	created := c.Method == contract.POST && c.Route.Shape == contract.Collection && !c.List
	changed := c.Method == contract.PUT && c.Route.Shape == contract.Entity
	if !created && !changed || c.unchanged {
		return nil
	}
	c.Body.Members = c.WritableMembers(s.dialect, c.Body.Members)
	if len(c.Body.Members) == 0 {
		return s.dialect.Fault(contract.RequestInvalid)
	}
	return nil
}

// checkLateRefusal answers the calls that are refused only after the checks of the body.
func checkLateRefusal(_ context.Context, s *Pipeline, c *Run) error {
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
