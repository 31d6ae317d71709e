package reststore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configure a [Backend].
type Options struct {
	// Mapping is the content of the mapping file. File is its name, used as the prefix of
	// error messages: "medusa.yaml:12: …".
	Mapping []byte
	File    string
	// URL is the base URL of the backend, "https://shop.example/api".
	URL string
	// User and Secret are the values of $user and $secret in the mapping.
	User, Secret string
	// Vars override variables of the mapping, by name.
	Vars map[string]string
	// Schemas describe the records; nil means the standard schemas.
	Schemas *adapter.Schemas
	// IDs translates references between records. A mapping without references needs none.
	IDs IDs
	// Registerer receives the metrics; nil means they are not registered.
	Registerer prometheus.Registerer
	// Logger receives debug messages, and warnings of watches that fail; nil discards them.
	Logger *slog.Logger
	TLS    *tls.Config // for an https URL; nil means the default

	sent func(trialRequest) // called for every request; nil except in Try
}

// IDs translates between legacy ids and the backend's ids. Results omit unknown ids. The
// interface is declared here so that this package does not depend on a database.
type IDs interface {
	BackendIDs(ctx context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]string, error)
	Keys(ctx context.Context, r adapter.Resource, ids []string) (map[string]adapter.Key, error)
}

func (o *Options) setDefaults() {
	o.File = cmp.Or(o.File, "mapping")
	o.Schemas = cmp.Or(o.Schemas, adapter.NewSchemas())
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.IDs == nil {
		o.IDs = noIDs{}
	}
}

// A Backend is the backend that a mapping file describes. It is safe for concurrent use.
type Backend struct {
	mapping *mapping
	client  *client
	log     *slog.Logger
	metrics *metrics
	ids     IDs
	files   *source
	views   storeViews
}

var _ replica.Backend = (*Backend)(nil)

// Open returns the backend that a mapping file describes. It sends no request. Its error
// joins all problems of the mapping file, each with file and line.
func Open(o Options) (*Backend, error) {
	o.setDefaults()
	m, err := load(&o)
	if err != nil {
		return nil, err
	}
	c, err := newClient(&o, m, newMetrics(o.Registerer, m))
	if err != nil {
		return nil, err
	}
	return &Backend{mapping: m, client: c, log: o.Logger, metrics: c.metrics, ids: o.IDs, files: newSource(c.baseURL, c.transport, m.Connection.FileHosts, int64(m.Connection.Limits.ResponseBytes), m.Connection.Limits.Timeout)}, nil
}

// Name returns the backend's name from the mapping file.
func (b *Backend) Name() string { return b.mapping.Name }

// Resources returns the resources and attributes that the mapping file maps.
func (b *Backend) Resources() []replica.BackendResource {
	var kept []replica.BackendResource
	for _, r := range b.mapping.resources {
		declared := replica.BackendResource{
			Resource: r.name, Root: r.root.name, Attributes: r.Attributes,
			HasIDs: r.Identified, MatchBy: r.Match, ImportsParts: r.Adopts, OrderedBy: r.Order,
			ReadsLocally: r.LocalReads,
			Creates:      r.Create != nil, Updates: r.Update != nil, Deletes: r.Delete != nil,
		}
		if r.Views != nil {
			declared.ViewAttributes = r.Views.Attributes
		}
		kept = append(kept, declared)
	}
	return kept
}

// Ping sends the mapping's ping request. It does nothing if the mapping has none.
func (b *Backend) Ping(ctx context.Context) error {
	if b.mapping.Connection.Ping == nil {
		return nil
	}
	_, err := b.client.send(ctx, call{"upstream", "ping"}, b.mapping.Connection.Ping, nil)
	if known, ok := errors.AsType[*adapter.Error](err); ok {
		known.Kind = adapter.Unavailable
	}
	return err
}

// Close closes idle connections.
func (b *Backend) Close() error {
	b.client.transport.CloseIdleConnections()
	return nil
}

// resource returns the mapping of a resource.
func (b *Backend) resource(name adapter.Resource, op string) (*resource, error) {
	if r := b.mapping.Resources[name]; r != nil {
		return r, nil
	}
	return nil, unsupported(op, "the mapping has no "+string(name))
}

func unsupported(op, why string) error {
	return &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errors.New(why)}
}

// notMapped returns the error of an operation that the mapping does not have, for the given
// reason.
func notMapped(k call, reason string) error {
	why := "the mapping has no " + k.operation
	if reason != "" {
		why += ": " + reason
	}
	return unsupported(k.op(), why)
}

// errorOf converts err to an adapter.Error of the given kind. An adapter.Error and a context
// error of ctx are returned unchanged.
func errorOf(ctx context.Context, kind adapter.ErrorKind, op string, err error) error {
	if _, known := errors.AsType[*adapter.Error](err); err == nil || known || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return &adapter.Error{Kind: kind, Op: op, Err: err}
}

// kindOfStatus returns the error kind of an HTTP status that no rule of the mapping
// matches.
func kindOfStatus(status int) adapter.ErrorKind {
	if refuses(status) {
		return adapter.Internal
	}
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return adapter.NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return adapter.Conflict
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return adapter.Unavailable
	}
	if status >= 400 && status < 500 {
		return adapter.Invalid
	}
	return adapter.Unavailable
}

// refuses reports whether an HTTP status refuses the credentials.
func refuses(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired
}
