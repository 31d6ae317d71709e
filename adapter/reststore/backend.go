package reststore

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sidestore"
)

// Options say which backend is spoken to, and how.
type Options struct {
	// Mapping is the mapping file, and File its name, which stands before what is wrong
	// with it: "medusa.yaml:12: …".
	Mapping []byte
	File    string
	// URL is where the backend is, "https://shop.example/api".
	URL string
	// User and Secret are what the mapping calls $user and $secret.
	User, Secret string
	// Vars replace variables of the mapping, by name.
	Vars map[string]string
	// Schemas are those of the records; nil for the standard ones.
	Schemas *adapter.Schemas
	// IDs translates references between records.
	IDs IDs
	// Registerer, unless nil, gets the metrics.
	Registerer prometheus.Registerer
	// Logger, unless nil, gets what no caller is told.
	Logger *slog.Logger
	TLS    TLS
}

// TLS are settings of connections to an https URL.
type TLS struct {
	CA        string // a file of certificates, PEM, to be trusted instead of the system's
	Cert, Key string // files of a certificate of this client, PEM, and of its key
}

// IDs says which record of the backend a key belongs to, and the other way. What is
// not known is left out of an answer. It is declared here so that this package needs
// no database.
type IDs interface {
	IDs(ctx context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]string, error)
	Keys(ctx context.Context, r adapter.Resource, ids []string) (map[string]adapter.Key, error)
}

// A Backend is a backend that a mapping file describes. It is safe for concurrent use.
type Backend struct {
	mapping *mapping
	client  *client
	ids     IDs
	log     *slog.Logger
	metrics *metrics
	closed  atomic.Bool
}

var _ sidestore.Backend = (*Backend)(nil)

// errClosed is what calls fail with after Close.
var errClosed = errors.New("the backend is closed")

// Open returns the backend that a mapping file describes. Nothing is sent. Its error
// joins all that is wrong with the mapping file, each with file and line.
func Open(o Options) (*Backend, error) {
	o.File = cmp.Or(o.File, "mapping")
	if o.Schemas == nil {
		o.Schemas = adapter.NewSchemas()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m, err := load(&o)
	if err != nil {
		return nil, err
	}
	requestMetrics, err := newMetrics(o.Registerer, m)
	if err != nil {
		return nil, err
	}
	c, err := newClient(&o, m, requestMetrics)
	if err != nil {
		return nil, err
	}
	return &Backend{mapping: m, client: c, ids: o.IDs, log: o.Logger, metrics: requestMetrics}, nil
}

// Name returns the name in the mapping file.
func (b *Backend) Name() string { return b.mapping.name }

// Kept says what the mapping file maps.
func (b *Backend) Kept() []sidestore.Kept {
	var kept []sidestore.Kept
	for _, r := range b.mapping.resources {
		kept = append(kept, sidestore.Kept{
			Resource: r.name, Root: r.root.name, Owner: r.owner, Attributes: r.attributes,
			Identified: r.identified, Match: r.match, Adopts: r.adopts,
			Creates: r.create != nil, Updates: r.update != nil, Deletes: r.remove != nil,
		})
	}
	return kept
}

// Ping asks the path that the mapping names, and without one does nothing.
func (b *Backend) Ping(ctx context.Context) error {
	if b.closed.Load() {
		return &adapter.Error{Kind: adapter.Unavailable, Op: "ping", Err: errClosed}
	}
	if b.mapping.connection.ping == nil {
		return nil
	}
	_, err := b.client.send(ctx, call{"upstream", "ping"}, b.mapping.connection.ping, nil, nil)
	var known *adapter.Error
	if errors.As(err, &known) {
		known.Kind = adapter.Unavailable
	}
	return err
}

// Close ends idle connections. Calls fail afterwards.
func (b *Backend) Close() error {
	b.closed.Store(true)
	b.client.close()
	return nil
}

// root returns the mapping of a root resource.
func (b *Backend) root(name adapter.Resource, op string) (*resource, error) {
	r, err := b.resource(name, op)
	if err == nil && r.root != r {
		err = unsupported(op, string(name)+" are parts of "+string(r.root.name))
	}
	return r, err
}

func (b *Backend) resource(name adapter.Resource, op string) (*resource, error) {
	if b.closed.Load() {
		return nil, &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: errClosed}
	}
	if r := b.mapping.resource(name); r != nil {
		return r, nil
	}
	return nil, unsupported(op, "the mapping has no "+string(name))
}

func unsupported(op, why string) error {
	return &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errors.New(why)}
}

// errorOf returns err as one of package adapter, of this kind if it has none.
// The end of a context stays what it is.
func errorOf(ctx context.Context, kind adapter.ErrorKind, op string, err error) error {
	var known *adapter.Error
	if err == nil || errors.As(err, &known) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return &adapter.Error{Kind: kind, Op: op, Err: err}
}

// statusKind is what a status means where no rule says otherwise.
func kindOfStatus(status int) adapter.ErrorKind {
	switch {
	case status == http.StatusNotFound, status == http.StatusGone:
		return adapter.NotFound
	case status == http.StatusConflict:
		return adapter.Conflict
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return adapter.Internal
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return adapter.Unavailable
	case status >= 400 && status < 500:
		return adapter.Invalid
	}
	return adapter.Unavailable
}
