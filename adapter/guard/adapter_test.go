package guard_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/guard"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestConformance checks that a guarded store behaves like an unguarded one.
func TestConformance(t *testing.T) {
	sample := testenv.NewSample(t)
	adaptertest.Run(t, adaptertest.Harness{
		Open: func(t *testing.T) adapter.Adapter { return newGuarded(t, guard.Options{}).adapter },
		// Queries pass a guard unchanged.
		Sampled:    func() bool { return sample.Takes(40) },
		Attributes: func(a adapter.Attribute) bool { return a.Kind == adapter.KindTime },
	})
}

// TestEveryCall makes each guarded call with a healthy and with a failing upstream, and
// checks that it is sent, counted under its labels, and rejected once the breaker is open.
func TestEveryCall(t *testing.T) {
	record := func(r adapter.Resource) adapter.Record { return adapter.NewRecord(adapter.NewSchemas().Of(r)) }
	errRefused := errors.New("refused by Check")
	calls := []struct {
		resource, operation string
		run                 func(context.Context, *guarded) error
	}{
		{"upstream", "ping", func(ctx context.Context, g *guarded) error { return g.adapter.Ping(ctx) }},
		{"stock_items", "get", func(ctx context.Context, g *guarded) error { return g.get(ctx) }},
		{"stock_items", "list", func(ctx context.Context, g *guarded) error {
			_, err := g.stock.List(ctx, &adapter.ListParams{})
			return err
		}},
		{"stock_items", "count", func(ctx context.Context, g *guarded) error {
			_, err := g.stock.List(ctx, &adapter.ListParams{Count: true})
			return err
		}},
		{"stock_items", "update", func(ctx context.Context, g *guarded) error {
			return g.stock.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(adapter.Record) (adapter.Record, error) { return record(adapter.StockItems), nil }})
		}},
		{"products", "create", func(ctx context.Context, g *guarded) error {
			_, err := g.products.Create(ctx, &adapter.CreateParams{Record: record(adapter.Products), Check: func() error { return errRefused }})
			return err
		}},
		{"products", "delete", func(ctx context.Context, g *guarded) error {
			return g.products.Delete(ctx, &adapter.DeleteParams{Key: 1})
		}},
		{"consumers", "get", func(ctx context.Context, g *guarded) error {
			_, err := g.Credentials(credentials{g}).Consumer(ctx, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
			return err
		}},
		{"tokens", "get", func(ctx context.Context, g *guarded) error {
			_, err := g.Credentials(credentials{g}).Token(ctx, "cccccccccccccccccccccccccccccccc")
			return err
		}},
		{"nonces", "use", func(ctx context.Context, g *guarded) error {
			fresh, err := g.Credentials(credentials{g}).Use(ctx, "once", 1)
			if err == nil && !fresh {
				return errors.New("the nonce is not new")
			}
			return err
		}},
		{"nonces", "used", func(ctx context.Context, g *guarded) error {
			_, err := g.Credentials(credentials{g}).Used(ctx, "once")
			return err
		}},
		{"roles", "get", func(ctx context.Context, g *guarded) error {
			_, err := g.Credentials(credentials{g}).AccessRoles(ctx)
			return err
		}},
		{"keys", "get", func(ctx context.Context, g *guarded) error {
			_, err := g.Credentials(credentials{g}).Key(ctx, "hash")
			return err
		}},
		{"grants", "begin", func(ctx context.Context, g *guarded) error {
			_, err := g.Credentials(credentials{g}).Begin(ctx, 1, "oob")
			return err
		}},
		{"grants", "get", func(ctx context.Context, g *guarded) error {
			_, _, err := g.Credentials(credentials{g}).Pending(ctx, "cccccccccccccccccccccccccccccccc")
			return err
		}},
		{"grants", "authorise", func(ctx context.Context, g *guarded) error {
			_, err := g.Credentials(credentials{g}).Authorize(ctx, "cccccccccccccccccccccccccccccccc", 1, 0)
			return err
		}},
		{"grants", "reject", func(ctx context.Context, g *guarded) error {
			return g.Credentials(credentials{g}).Reject(ctx, "cccccccccccccccccccccccccccccccc")
		}},
		{"grants", "exchange", func(ctx context.Context, g *guarded) error {
			_, err := g.Credentials(credentials{g}).Exchange(ctx, "cccccccccccccccccccccccccccccccc", "9")
			return err
		}},
		{"thing", "use", func(ctx context.Context, g *guarded) error {
			return g.Do(ctx, "thing", "use", func(ctx context.Context) error { return g.upstream.reach(ctx, func() error { return nil }) })
		}},
	}
	for _, c := range calls {
		t.Run(c.operation+" "+c.resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(t, guard.Options{Failures: 1})
				if err := c.run(t.Context(), g); err != nil && !errors.Is(err, errRefused) {
					t.Errorf("healthy upstream: %v", err)
				}
				g.upstream.set(unavailableFault)
				if err := c.run(t.Context(), g); adapter.KindOf(err) != adapter.Unavailable || errors.Is(err, guard.ErrOpen) {
					t.Errorf("failing upstream: %v", err)
				}
				if err := c.run(t.Context(), g); !errors.Is(err, guard.ErrOpen) {
					t.Errorf("open breaker: %v", err)
				}
				if got := g.upstream.calls.Load(); got != 2 {
					t.Errorf("%d calls reached the upstream, want 2", got)
				}
				for _, label := range []string{c.resource, c.operation} {
					if got := g.sum(t, "portico_upstream_calls_total", label); got != 3 {
						t.Errorf("%v calls are counted for %s, want 3", got, label)
					}
					if got := g.sum(t, "portico_upstream_call_duration_seconds", label); got != 2 {
						t.Errorf("%v calls are timed for %s, want 2", got, label)
					}
				}
			})
		})
	}
}

// credentials are the credential stores of the faulty upstream.
type credentials struct{ *guarded }

func (c credentials) Consumer(ctx context.Context, key string) (consumer adapter.Consumer, err error) {
	err = c.upstream.reach(ctx, func() (err error) { consumer, err = c.db.Credentials().Consumer(ctx, key); return err })
	return consumer, err
}

func (c credentials) Token(ctx context.Context, text string) (token adapter.Token, err error) {
	err = c.upstream.reach(ctx, func() (err error) { token, err = c.db.Credentials().Token(ctx, text); return err })
	return token, err
}

func (c credentials) Key(ctx context.Context, _ string) (key adapter.APIKey, err error) {
	err = c.upstream.reach(ctx, func() error { return nil })
	return key, err
}

func (c credentials) AccessRoles(ctx context.Context) (roles adapter.AccessRoles, err error) {
	err = c.upstream.reach(ctx, func() error { return nil })
	return roles, err
}

func (c credentials) Begin(ctx context.Context, _ int64, _ string) (token adapter.Token, err error) {
	err = c.upstream.reach(ctx, func() error { return nil })
	return token, err
}

func (c credentials) Pending(ctx context.Context, _ string) (token adapter.Token, consumer adapter.Consumer, err error) {
	err = c.upstream.reach(ctx, func() error { return nil })
	return token, consumer, err
}

func (c credentials) Authorize(ctx context.Context, _ string, _, _ int64) (token adapter.Token, err error) {
	err = c.upstream.reach(ctx, func() error { return nil })
	return token, err
}

func (c credentials) Reject(ctx context.Context, _ string) error {
	return c.upstream.reach(ctx, func() error { return nil })
}

func (c credentials) Exchange(ctx context.Context, _, _ string) (token adapter.Token, err error) {
	err = c.upstream.reach(ctx, func() error { return nil })
	return token, err
}

func (c credentials) Use(ctx context.Context, nonce string, timestamp int64) (fresh bool, err error) {
	err = c.upstream.reach(ctx, func() (err error) { fresh, err = c.db.Credentials().Use(ctx, nonce, timestamp); return err })
	return fresh, err
}

func (c credentials) Used(ctx context.Context, nonce string) (used bool, err error) {
	err = c.upstream.reach(ctx, func() (err error) { used, err = c.db.Credentials().Used(ctx, nonce); return err })
	return used, err
}
